// The sentence about a graph that its file may carry.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft::io {

inline constexpr std::size_t longest_note = 1000;  // bytes

/// The note as it may stand on a terminal and in a file: one line of UTF-8 of at most `most` bytes, the cut marked.
/// Bytes that are no UTF-8, control characters and those that turn the direction of writing become '?'.
/// Looks at no more of the text than it keeps.
std::string clean_note(std::string_view text, std::size_t most = longest_note);

/// The shortest form of every character, and no surrogates.
bool is_utf8(std::string_view text);

void append_utf8(std::string& text, char32_t character);

}  // namespace weft::io
