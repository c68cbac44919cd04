#include "graph/dataset/pickle_strings.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "core/check.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

DecodedString as_it_is(std::string_view view) { return {true, view, {}, {}}; }
DecodedString fault_of(std::string fault) { return {false, {}, {}, std::move(fault)}; }

/// The byte whose code stands in `digits` hexadecimal digits at `at`; -1 where there is none.
int byte_in_hex(std::string_view text, std::size_t at, std::size_t digits) {
  std::uint32_t code = 0;
  if (at + digits > text.size()) return -1;
  const char* const begin = text.data() + at;
  const auto [end, error] = std::from_chars(begin, begin + digits, code, 16);
  return error == std::errc() && end == begin + digits && code < 256 ? static_cast<int>(code) : -1;
}

}  // namespace

DecodedString decode_quoted(std::string_view line) {
  const bool whole = line.size() >= 2 && line.front() == line.back() && (line.front() == '\'' || line.front() == '"');
  if (!whole) return fault_of(fmt::format("found {}: expected a string in quotes", in_quotes(line)));
  line = line.substr(1, line.size() - 2);
  if (line.find('\\') == std::string_view::npos) return as_it_is(line);
  DecodedString decoded;
  decoded.bytes.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    int byte = static_cast<unsigned char>(line[i]);
    if (byte == '\\') {
      const std::size_t start = i++;
      switch (i < line.size() ? line[i] : '\0') {
        case 'n': byte = '\n'; break;
        case 'r': byte = '\r'; break;
        case 't': byte = '\t'; break;
        case '\\':
        case '\'':
        case '"': byte = line[i]; break;
        case 'x':
          byte = byte_in_hex(line, i + 1, 2);
          i += 2;
          break;
        default: byte = -1;
      }
      if (byte < 0) return fault_of(fmt::format("the string has the escape {}", in_quotes(line.substr(start, 4))));
    }
    decoded.bytes += static_cast<char>(byte);
  }
  return decoded;
}

DecodedString decode_escaped(std::string_view line) {
  if (line.find('\\') == std::string_view::npos) return as_it_is(line);
  DecodedString decoded;
  decoded.bytes.reserve(line.size());
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (!line.substr(i).starts_with("\\u")) {
      decoded.bytes += line[i];
      continue;
    }
    const int byte = byte_in_hex(line, i + 2, 4);
    if (byte < 0) return fault_of(fmt::format("the text has {}: expected Latin-1", in_quotes(line.substr(i, 6))));
    decoded.bytes += static_cast<char>(byte);
    i += 5;
  }
  return decoded;
}

DecodedString decode_utf8(std::string_view text) {
  const auto is_ascii = [](char c) { return static_cast<unsigned char>(c) < 0x80; };
  if (std::ranges::all_of(text, is_ascii)) return as_it_is(text);
  DecodedString decoded;
  decoded.bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    if (lead < 0x80) {
      decoded.bytes += text[i];
      continue;
    }
    const unsigned next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    if ((lead != 0xc2 && lead != 0xc3) || (next & 0xc0u) != 0x80u)  // the two that lead to U+0080 to U+00FF
      return fault_of(fmt::format("the text has {}: expected Latin-1 in UTF-8", in_quotes(text.substr(i, 2))));
    decoded.bytes += static_cast<char>(((lead & 0x03u) << 6u) | (next & 0x3fu));
    ++i;
  }
  return decoded;
}

}  // namespace weft::io
