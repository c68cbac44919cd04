#include "graph/io/npz_arrays.hpp"

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "graph/io/byte_order.hpp"
#include "graph/io/format.hpp"
#include "graph/io/naming.hpp"
#include "graph/io/note.hpp"
#include "graph/io/npy_items.hpp"
#include "graph/io/values.hpp"

namespace weft::io {
NpzArrays::NpzArrays(std::span<const std::byte> bytes, const Progress& progress) : zip_(bytes), progress_(progress) {}

std::vector<std::string> NpzArrays::names() const {
  std::vector<std::string> names = zip_.names();
  for (std::string& name : names)
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
  return names;
}

std::string NpzArrays::keys() const {
  std::string list;
  for (const std::string& name : names()) {
    if (list.size() > 200) return list + ", ...";
    if (!list.empty()) list += ", ";
    list += quoted(name);
  }
  return list.empty() ? "nothing" : list;
}

NpzArrays::Opened NpzArrays::open(const std::string& key) const {
  WEFT_CHECK(has(key), invalid_file, "it lacks the array '{}': found {}", key, keys());
  return naming_array(key, [&] {
    ZipMember member = zip_.open(key + ".npy");
    std::string header(npy_prefix_bytes, '\0');
    member.read(std::as_writable_bytes(std::span(header)));
    header.resize(npy_header_bytes(header));
    member.read(std::as_writable_bytes(std::span(header)).subspan(npy_prefix_bytes));
    Opened opened{std::move(member), parse_npy_header(header)};
    const auto wanted =
        static_cast<std::uint64_t>(header.size()) + static_cast<std::uint64_t>(opened.header.data_bytes);
    WEFT_CHECK(static_cast<std::uint64_t>(opened.member.size()) == wanted, invalid_file,
               "its header declares {} elements of {} bytes, but the archive holds {} bytes for it instead of {}",
               opened.header.count, opened.header.item_bytes, opened.member.size(), wanted);
    return opened;
  });
}

namespace {

/// Before memory is asked for: strings of no bytes may be any number.
void check_numbers(const std::string& key, const NpyHeader& header) {
  WEFT_CHECK(header.is_number(), invalid_file, "array '{}' has the type '{}': expected numbers", key, header.descr);
}

}  // namespace

NpzArrays::Opened NpzArrays::open_list(const std::string& key, bool integers) const {
  Opened opened = open(key);
  WEFT_CHECK(opened.header.shape.size() == 1, invalid_file, "array '{}' has {} dimensions: expected 1", key,
             opened.header.shape.size());
  check_numbers(key, opened.header);
  WEFT_CHECK(!integers || opened.header.is_integer(), invalid_file, "array '{}' has the type '{}': expected integers",
             key, opened.header.descr);
  return opened;
}

template <class To>
void NpzArrays::read(Opened& opened, const std::string& key, To* out) const {
  const NpyHeader& header = opened.header;
  naming_array(key, [&] {
    read_npy_items(header, opened.member, out, progress_);
    opened.member.finish();
  });
}

Buffer<std::int32_t> NpzArrays::node_ids(const std::string& key) const {
  Opened opened = open_list(key, true);
  Buffer<std::int32_t> result(static_cast<std::size_t>(opened.header.count), key);
  read(opened, key, result.data());
  return result;
}

std::array<Buffer<std::int32_t>, 2> NpzArrays::node_id_rows(const std::string& key) const {
  Opened opened = open(key);
  NpyHeader row = opened.header;
  WEFT_CHECK(row.shape.size() == 2 && row.shape[0] == 2, invalid_file, "array '{}' has the shape ({}): expected (2, n)",
             key, fmt::join(row.shape, ", "));
  WEFT_CHECK(row.is_integer(), invalid_file, "array '{}' has the type '{}': expected integers", key, row.descr);
  row.count = row.shape[1];
  std::array<Buffer<std::int32_t>, 2> rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = Buffer<std::int32_t>(static_cast<std::size_t>(row.count), key);
    naming_array(fmt::format("{}[{}]", key, i), [&] { read_npy_items(row, opened.member, rows[i].data(), progress_); });
  }
  naming_array(key, [&] { opened.member.finish(); });
  return rows;
}

Buffer<std::int64_t> NpzArrays::integers(const std::string& key) const {
  Opened opened = open_list(key, true);
  Buffer<std::int64_t> result(static_cast<std::size_t>(opened.header.count), key);
  read(opened, key, result.data());
  return result;
}

Tensor NpzArrays::values(const std::string& key) const {
  Opened opened = open_list(key, false);
  const NpyHeader& header = opened.header;
  const auto count = static_cast<std::size_t>(header.count);
  const bool floating = header.kind == NpyKind::floating;
  if (floating ? header.item_bytes <= 4 : header.item_bytes <= 2) {  // every such number is a float
    Tensor result = Tensor::empty(Shape(header.count), Dtype::f32, "the edge values");
    read(opened, key, result.span<float>().data());
    return result;
  }
  if (floating) {
    Buffer<double> wide(count, "the edge values");
    read(opened, key, wide.data());
    return smallest_exact(std::span<const double>(wide.data(), count));
  }
  Buffer<std::int64_t> wide(count, "the edge values");
  read(opened, key, wide.data());
  return smallest_exact(std::span<const std::int64_t>(wide.data(), count));
}

Tensor NpzArrays::matrix(const std::string& key) const {
  Opened opened = open(key);
  const NpyHeader& header = opened.header;
  WEFT_CHECK(header.shape.size() == 1 || header.shape.size() == 2, invalid_file,
             "array '{}' has {} dimensions: expected 2", key, header.shape.size());
  check_numbers(key, header);
  Tensor result =
      Tensor::empty(Shape(header.shape[0], header.shape.size() == 2 ? header.shape[1] : 1), Dtype::f32, key);
  read(opened, key, result.span<float>().data());
  return result;
}

std::string NpzArrays::string(const std::string& key) const {
  Opened opened = open(key);
  const NpyHeader& header = opened.header;
  const bool text = header.kind == NpyKind::text;
  WEFT_CHECK((header.kind == NpyKind::bytes || text) && header.count == 1, invalid_file,
             "array '{}' has the type '{}' and {} elements: expected one string", key, header.descr, header.count);
  std::vector<std::byte> raw(static_cast<std::size_t>(header.data_bytes));
  opened.member.read(raw);
  opened.member.finish();
  std::string result;
  for (std::size_t i = 0; i < raw.size(); i += text ? 4 : 1) {
    // numpy's text is four bytes a character
    const std::uint32_t character = !text            ? static_cast<std::uint32_t>(raw[i])
                                    : header.swapped ? load_swapped<std::uint32_t>(&raw[i])
                                                     : load<std::uint32_t>(&raw[i]);
    if (character == 0) break;
    if (text)
      append_utf8(result, character);
    else
      result += static_cast<char>(character);
  }
  return result;
}

}  // namespace weft::io
