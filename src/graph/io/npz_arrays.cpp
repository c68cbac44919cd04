#include "graph/io/npz_arrays.hpp"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "graph/io/byte_order.hpp"
#include "graph/io/foreign.hpp"
#include "graph/io/format.hpp"
#include "graph/io/growth.hpp"
#include "graph/io/naming.hpp"
#include "graph/io/note.hpp"
#include "graph/io/npy_items.hpp"
#include "graph/io/values.hpp"

namespace weft::io {
namespace {

/// The archives that are no .npz and that people give all the same.
void check_has_arrays(const std::vector<std::string>& names) {
  const auto ends_with = [&](std::string_view ending) {
    return std::ranges::any_of(names, [&](const std::string& name) { return name.ends_with(ending); });
  };
  if (names.empty() || ends_with(".npy")) return;
  WEFT_CHECK(!ends_with("data.pkl"), unsupported, "it is a file of torch.save: {}", export_from_torch);
  fail(ErrorCode::unsupported,
       "it is a zip archive of other files than arrays (the first is {}): unpack it, and give weft the file or folder "
       "inside",
       in_quotes(names.front()));
}

}  // namespace

NpzArrays::NpzArrays(const Source& source, const Progress& progress) : zip_(source), progress_(progress) {
  check_has_arrays(zip_.names());
}

void NpzArrays::claim(const std::string& key, std::int64_t count, std::size_t item_bytes) const {
  const std::size_t most = most_unpacked(static_cast<std::size_t>(zip_.bytes()));
  std::size_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(static_cast<std::size_t>(count), item_bytes, &bytes) ||
                        __builtin_add_overflow(bytes, claimed_, &claimed_);
  WEFT_CHECK(!overflow && claimed_ <= most, invalid_file,
             "array '{}' with its {} elements takes more memory than the {} bytes that weft allows for arrays packed "
             "into an archive of {}: if it is right, save it with numpy.savez, which does not pack",
             key, count, most, zip_.bytes());
}

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
    list += in_quotes(name);
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
  const std::vector<std::int64_t>& shape = opened.header.shape;
  const bool one_column = shape.size() == 2 && shape[1] == 1 && !integers;
  WEFT_CHECK(shape.size() == 1 || one_column, invalid_file, "array '{}' has {} dimensions: expected 1", key,
             shape.size());
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

template <class To>
Buffer<To> NpzArrays::list(const std::string& key) const {
  Opened opened = open_list(key, true);
  claim(key, opened.header.count, sizeof(To));
  Buffer<To> result(static_cast<std::size_t>(opened.header.count), key);
  read(opened, key, result.data());
  return result;
}

Buffer<std::int32_t> NpzArrays::node_ids(const std::string& key) const { return list<std::int32_t>(key); }

Buffer<std::int64_t> NpzArrays::integers(const std::string& key) const { return list<std::int64_t>(key); }

EdgeEnds NpzArrays::edge_ends(const std::string& key, EndsLayout layout) const {
  Opened opened = open(key);
  check_edge_ends(opened.header, key, layout);
  claim(key, opened.header.count, sizeof(NodeId));
  EdgeEnds ends = read_edge_ends(opened.header, key, opened.member, progress_);
  naming_array(key, [&] { opened.member.finish(); });
  return ends;
}

std::int64_t NpzArrays::integer(const std::string& key) const {
  Opened opened = open(key);
  WEFT_CHECK(opened.header.is_integer() && opened.header.count == 1, invalid_file,
             "array '{}' has the type '{}' and {} elements: expected one integer", key, opened.header.descr,
             opened.header.count);
  std::int64_t value = 0;
  read(opened, key, &value);
  return value;
}

NpzArrays::Mask NpzArrays::mask(const std::string& key) const {
  Opened opened = open(key);
  const NpyHeader& header = opened.header;
  check_numbers(key, header);
  WEFT_CHECK(
      header.shape.size() == 1 || (header.shape.size() == 2 && header.shape[1] > 0), invalid_file,
      "array '{}' has the shape ({}): expected one mark per node, or a column of marks for each of several splits", key,
      fmt::join(header.shape, ", "));
  Mask mask{header.shape[0], header.shape.size() == 2 ? header.shape[1] : 1, {}};
  WEFT_CHECK(mask.rows <= INT32_MAX, invalid_file, "array '{}' has {} rows: expected at most {}", key, mask.rows,
             INT32_MAX);
  claim(key, mask.rows, sizeof(std::int32_t));
  naming_array(key, [&] {
    each_npy_item(header, opened.member, progress_, [&](std::int64_t place, auto value) {
      const std::int64_t row = place / mask.columns;
      const auto mark = convert<double>(value);
      WEFT_CHECK(mark == 0 || mark == 1, invalid_file,
                 "the mark of node {} is {}: expected 0 or 1 (a list of nodes is called train_idx, for example)", row,
                 mark);
      if (mark == 1 && place % mask.columns == 0) mask.marked.push_back(static_cast<std::int32_t>(row));
    });
    opened.member.finish();
  });
  return mask;
}

Tensor NpzArrays::values(const std::string& key) const {
  Opened opened = open_list(key, false);
  const NpyHeader& header = opened.header;
  const auto count = static_cast<std::size_t>(header.count);
  const bool floating = header.kind == NpyKind::floating;
  claim(key, header.count, sizeof(double));
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
  claim(key, header.count, sizeof(float));
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
