#include "graph/io/npz_arrays.hpp"

#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "graph/io/byte_order.hpp"
#include "graph/io/format.hpp"
#include "graph/io/note.hpp"
#include "graph/io/values.hpp"

namespace weft::io {
namespace {

constexpr std::int64_t block_items = 1 << 16;

template <class F>
void with_npy_type(const NpyHeader& header, F&& f) {
  switch (header.kind) {
    case NpyKind::boolean: return f(TypeTag<std::uint8_t>{});
    case NpyKind::signed_integer:
      switch (header.item_bytes) {
        case 1: return f(TypeTag<std::int8_t>{});
        case 2: return f(TypeTag<std::int16_t>{});
        case 4: return f(TypeTag<std::int32_t>{});
        default: return f(TypeTag<std::int64_t>{});
      }
    case NpyKind::unsigned_integer:
      switch (header.item_bytes) {
        case 1: return f(TypeTag<std::uint8_t>{});
        case 2: return f(TypeTag<std::uint16_t>{});
        case 4: return f(TypeTag<std::uint32_t>{});
        default: return f(TypeTag<std::uint64_t>{});
      }
    case NpyKind::floating:
      switch (header.item_bytes) {
        case 2: return f(TypeTag<Half>{});
        case 4: return f(TypeTag<float>{});
        default: return f(TypeTag<double>{});
      }
    default: fail(ErrorCode::invalid_file, "the array's type is '{}': expected numbers", header.descr);
  }
}

template <class To, class From>
bool fits(From value) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>)
    return std::in_range<To>(value);
  else
    return true;
}

// Messages of the layers below say what is wrong with an array; this says which one it is.
template <class F>
auto naming_key(const std::string& key, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    fail(error.code(), "array '{}': {}", key, error.what());
  }
}

}  // namespace

NpzArrays::NpzArrays(std::span<const std::byte> bytes, const Progress& progress) : zip_(bytes), progress_(progress) {}

std::string NpzArrays::keys() const {
  std::string list;
  for (const std::string& name : zip_.names()) {
    if (list.size() > 200) return list + ", ...";
    if (!list.empty()) list += ", ";
    list += quoted(name.ends_with(".npy") ? name.substr(0, name.size() - 4) : name);
  }
  return list.empty() ? "nothing" : list;
}

NpzArrays::Opened NpzArrays::open(const std::string& key) const {
  WEFT_CHECK(has(key), invalid_file, "it lacks the array '{}': found {}", key, keys());
  return naming_key(key, [&] {
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

NpzArrays::Opened NpzArrays::open_list(const std::string& key, bool integers) const {
  Opened opened = open(key);
  WEFT_CHECK(opened.header.shape.size() == 1, invalid_file, "array '{}' has {} dimensions: expected 1", key,
             opened.header.shape.size());
  WEFT_CHECK(!integers || opened.header.is_integer(), invalid_file, "array '{}' has the type '{}': expected integers",
             key, opened.header.descr);
  return opened;
}

template <class To>
void NpzArrays::read(Opened& opened, const std::string& key, To* out) const {
  const NpyHeader& header = opened.header;
  naming_key(key, [&] {
    with_npy_type(header, [&](auto tag) {
      using From = typename decltype(tag)::type;
      std::vector<std::byte> block(static_cast<std::size_t>(std::min(header.count, block_items)) * sizeof(From));
      for (std::int64_t done = 0; done < header.count;) {
        const std::int64_t items = std::min(block_items, header.count - done);
        opened.member.read(std::span(block).first(static_cast<std::size_t>(items) * sizeof(From)));
        for (std::int64_t i = 0; i < items; ++i) {
          const std::byte* at = block.data() + static_cast<std::size_t>(i) * sizeof(From);
          const From value = header.swapped ? load_swapped<From>(at) : load<From>(at);
          if constexpr (std::is_integral_v<From>)
            WEFT_CHECK(fits<To>(value), invalid_file, "element {} is {}: expected a number of at most {} bits",
                       done + i, value, std::numeric_limits<To>::digits);
          out[done + i] = convert<To>(value);
        }
        done += items;
        if (progress_) progress_("reading", done, header.count);
      }
      opened.member.finish();
    });
  });
}

Buffer<std::int32_t> NpzArrays::node_ids(const std::string& key) const {
  Opened opened = open_list(key, true);
  Buffer<std::int32_t> result(static_cast<std::size_t>(opened.header.count), key);
  read(opened, key, result.data());
  return result;
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
