#include "graph/io/packing.hpp"

#include "graph/io/gzip.hpp"

namespace weft::io {
namespace {

bool is_bzip2(std::string_view text) {
  constexpr std::string_view block = "1AY&SY", end = "\x17\x72\x45\x38\x50\x90";  // a first block, or none at all
  if (text.size() < 4 || !text.starts_with("BZh") || text[3] < '1' || text[3] > '9') return false;
  const std::string_view next = text.substr(4, block.size());
  return block.starts_with(next) || end.starts_with(next);
}

/// A frame, or one of those that hold none of the content, which pzstd puts in front.
bool is_zstd(std::string_view text) {
  return text.starts_with("\x28\xb5\x2f\xfd") ||
         (text.size() >= 4 && (static_cast<unsigned char>(text[0]) & 0xf0) == 0x50 &&
          text.substr(1).starts_with("\x2a\x4d\x18"));
}

}  // namespace

Packing packing_of(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (is_gzip(bytes)) return Packing::gzip;
  if (is_bzip2(text)) return Packing::bzip2;
  if (text.starts_with(std::string_view("\xfd\x37zXZ\0", 6))) return Packing::xz;
  return is_zstd(text) ? Packing::zstd : Packing::none;
}

std::string_view name(Packing packing) {
  for (const PackingName& each : packings)
    if (each.packing == packing) return each.name;
  return "none";
}

std::string_view without_packing(std::string_view file_name) {
  for (const PackingName& each : packings)
    if (file_name.size() > each.ending.size() && file_name.ends_with(each.ending))
      return file_name.substr(0, file_name.size() - each.ending.size());
  return file_name;
}

}  // namespace weft::io
