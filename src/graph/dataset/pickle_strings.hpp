// The notations in which pickles write strings. All give bytes; of text, Latin-1.
#pragma once

#include <string>
#include <string_view>

namespace weft::io {

struct DecodedString {
  bool as_it_is = false;  // `view`, a part of what was decoded; else `bytes`
  std::string_view view;
  std::string bytes;
  std::string fault;  // what is wrong with it; empty for nothing
};

/// Python 2's repr: 'it\'s\x00'.
DecodedString decode_quoted(std::string_view line);
/// Latin-1 with \uXXXX for some characters.
DecodedString decode_escaped(std::string_view line);
DecodedString decode_utf8(std::string_view text);

}  // namespace weft::io
