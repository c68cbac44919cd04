#include "graph/io/npy.hpp"

#include <charconv>

#include "core/check.hpp"
#include "graph/io/byte_order.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t longest_header = 1 << 16;  // real ones stay under 10 KB

// Just enough of Python's notation: one dict of strings, booleans and tuples of integers.
class Literal {
 public:
  explicit Literal(std::string_view text) : rest_(text) {}

  void expect(char wanted) {
    skip_blanks();
    WEFT_CHECK(!rest_.empty() && rest_.front() == wanted, invalid_file,
               "the .npy header is malformed at {}: expected '{}'", in_quotes(rest_), wanted);
    rest_.remove_prefix(1);
  }
  bool accept(char wanted) {
    skip_blanks();
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  char next() {
    skip_blanks();
    return rest_.empty() ? '\0' : rest_.front();
  }
  std::string_view string() {
    const char quote = next() == '"' ? '"' : '\'';
    expect(quote);
    const std::size_t end = rest_.find(quote);
    WEFT_CHECK(end != std::string_view::npos, invalid_file, "the .npy header has a string without an end: {}",
               in_quotes(rest_));
    const std::string_view value = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return value;
  }
  bool boolean() {
    skip_blanks();
    for (const auto& [text, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}})
      if (rest_.starts_with(text)) {
        rest_.remove_prefix(text.size());
        return value;
      }
    fail(ErrorCode::invalid_file, "the .npy header is malformed at {}: expected True or False", in_quotes(rest_));
  }
  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> values;
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::int64_t value = -1;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
      WEFT_CHECK(error == std::errc() && value >= 0 && values.size() < 32, invalid_file,
                 "the .npy header has the size {}: expected a number from 0 to 2^63 - 1", in_quotes(rest_));
      values.push_back(value);
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      accept('L');  // Python 2's long integers
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return values;
  }

 private:
  void skip_blanks() {
    const std::size_t start = rest_.find_first_not_of(" \t\r\n");
    rest_.remove_prefix(start == std::string_view::npos ? rest_.size() : start);
  }
  std::string_view rest_;
};

void parse_descr(NpyHeader& header) {
  std::string_view descr = header.descr;
  WEFT_CHECK(descr.find('O') == std::string_view::npos, invalid_file,
             "the array holds Python objects ('{}'): weft reads numbers only", descr);
  WEFT_CHECK(descr.size() >= 2, invalid_file, "the .npy header has the type {}: expected one like '<f4'",
             in_quotes(descr));
  bool big = false;
  if (const char order = descr.front(); order == '<' || order == '>' || order == '|' || order == '=') {
    big = order == '>';
    descr.remove_prefix(1);
  }
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(descr.data() + 1, descr.data() + descr.size(), size);
  const bool number = error == std::errc() && end == descr.data() + descr.size() && size >= 0;
  const auto one_of = [&](std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t s : sizes)
      if (s == size) return true;
    return false;
  };
  bool known = false;
  switch (descr.front()) {
    case 'b': known = one_of({1}); break;
    case 'i':
    case 'u': known = one_of({1, 2, 4, 8}); break;
    case 'f': known = one_of({2, 4, 8}); break;
    case 'S': known = size <= 4096; break;
    case 'U': known = size <= 4096; break;
    default: break;
  }
  WEFT_CHECK(number && known, invalid_file,
             "the array's type is {}: weft reads f2, f4, f8, i1 to i8, u1 to u8 and booleans", in_quotes(header.descr));
  header.kind = static_cast<NpyKind>(descr.front());
  header.item_bytes = header.kind == NpyKind::text ? size * 4 : size;
  header.swapped = big;
}

}  // namespace

std::size_t npy_header_bytes(std::string_view prefix) {
  WEFT_CHECK(prefix.size() >= npy_prefix_bytes && prefix.starts_with(magic), invalid_file,
             "it starts with {}: expected an array in .npy format", in_quotes(prefix.substr(0, 8)));
  const int version = static_cast<unsigned char>(prefix[6]);
  WEFT_CHECK(version >= 1 && version <= 3, invalid_file, "it is .npy version {}: weft knows versions 1 to 3", version);
  const std::size_t length = version == 1 ? 10 + load<std::uint16_t>(prefix.data() + 8)
                                          : std::size_t{12} + load<std::uint32_t>(prefix.data() + 8);
  WEFT_CHECK(length >= npy_prefix_bytes && length <= longest_header, invalid_file,
             "its .npy header says it has {} bytes: expected {} to {}", length, npy_prefix_bytes, longest_header);
  return length;
}

NpyHeader parse_npy_header(std::string_view bytes) {
  WEFT_CHECK(npy_header_bytes(bytes) == bytes.size(), internal, ".npy header of {} bytes", bytes.size());
  Literal literal(bytes.substr(bytes[6] == 1 ? 10 : 12));
  NpyHeader header;
  bool fortran = false;
  int seen = 0;
  literal.expect('{');
  while (!literal.accept('}')) {
    const std::string_view key = literal.string();
    literal.expect(':');
    if (key == "descr") {
      WEFT_CHECK(literal.next() != '[', invalid_file,
                 "the array holds records of several fields: expected plain numbers");
      header.descr = literal.string();
      seen |= 1;
    } else if (key == "fortran_order") {
      fortran = literal.boolean();
      seen |= 2;
    } else if (key == "shape") {
      header.shape = literal.tuple();
      seen |= 4;
    } else {
      fail(ErrorCode::invalid_file, "the .npy header has the key {}: expected descr, fortran_order and shape",
           in_quotes(key));
    }
    if (!literal.accept(',')) {
      literal.expect('}');
      break;
    }
  }
  WEFT_CHECK(seen == 7, invalid_file, "the .npy header lacks {}",
             (seen & 1) == 0   ? "descr"
             : (seen & 2) == 0 ? "fortran_order"
                               : "shape");
  parse_descr(header);
  WEFT_CHECK(!fortran || header.shape.size() <= 2, invalid_file,
             "the array has {} dimensions in Fortran order, and weft reads at most 2 in that order: save it with "
             "numpy.ascontiguousarray first",
             header.shape.size());
  header.by_columns = fortran && header.shape.size() == 2;
  bool overflow = false;
  for (const std::int64_t size : header.shape) overflow |= __builtin_mul_overflow(header.count, size, &header.count);
  overflow |= __builtin_mul_overflow(header.count, header.item_bytes, &header.data_bytes);
  WEFT_CHECK(!overflow, invalid_file, "the .npy header declares more than 2^63 bytes");
  return header;
}

std::string make_npy_header(std::string_view descr, const std::vector<std::int64_t>& shape) {
  std::string sizes;
  for (const std::int64_t size : shape) sizes += fmt::format("{}, ", size);
  if (shape.size() > 1) sizes.resize(sizes.size() - 2);  // Python's tuple of one keeps its comma
  if (shape.size() == 1) sizes.pop_back();
  std::string text = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, sizes);
  const std::size_t before = 10 + text.size() + 1;
  text.append((64 - before % 64) % 64, ' ');
  text += '\n';
  std::string header(magic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace weft::io
