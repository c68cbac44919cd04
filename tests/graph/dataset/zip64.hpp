// A zip archive with 64-bit sizes, whose short fields say no more than that: what numpy writes for large arrays.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <string>

#include "graph/io/archives.hpp"

namespace weft::test {

class Zip64 {
 public:
  explicit Zip64(const Members& members) {
    for (const auto& [key, bytes] : members) add(key + ".npy", bytes);
    finish();
  }
  const std::string& bytes() const { return bytes_; }

 private:
  static constexpr std::uint32_t elsewhere = 0xffffffff;

  template <class... Fields>
  static std::string fields(Fields... values) {
    std::string text;
    (text.append(reinterpret_cast<const char*>(&values), sizeof values), ...);
    return text;
  }
  static std::uint16_t u16(std::size_t value) { return static_cast<std::uint16_t>(value); }

  void add(const std::string& name, const std::string& content) {
    const std::uint64_t at = bytes_.size(), size = content.size();
    const auto checksum = static_cast<std::uint32_t>(
        ::crc32(0, reinterpret_cast<const Bytef*>(content.data()), static_cast<uInt>(content.size())));
    // version, flags, method, time, date, checksum, both sizes, length of the name
    const std::string common =
        fields(u16(45), u16(0), u16(0), u16(0), u16(0x21), checksum, elsewhere, elsewhere, u16(name.size()));
    bytes_ += "PK\x03\x04" + common + fields(u16(20)) + name + fields(u16(1), u16(16), size, size) + content;
    directory_ += "PK\x01\x02" + fields(u16(45)) + common +
                  fields(u16(28), u16(0), u16(0), u16(0), std::uint32_t{0}, elsewhere) + name +
                  fields(u16(1), u16(24), size, size, at);
    ++entries_;
  }
  void finish() {
    const std::uint64_t directory = bytes_.size(), end = directory + directory_.size();
    bytes_ += directory_ + "PK\x06\x06" +
              fields(std::uint64_t{44}, u16(45), u16(45), std::uint32_t{0}, std::uint32_t{0}, entries_, entries_,
                     std::uint64_t{directory_.size()}, directory);
    bytes_ += "PK\x06\x07" + fields(std::uint32_t{0}, end, std::uint32_t{1});
    bytes_ += "PK\x05\x06" + fields(u16(0), u16(0), u16(0xffff), u16(0xffff), elsewhere, elsewhere, u16(0));
  }

  std::string bytes_, directory_;
  std::uint64_t entries_ = 0;
};

}  // namespace weft::test
