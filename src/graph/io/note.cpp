#include "graph/io/note.hpp"

#include <algorithm>

namespace weft::io {
namespace {

constexpr char32_t none = 0xffffffff;

struct Character {
  char32_t code;  // `none` where the first byte starts no character
  std::size_t bytes;
};

// The first character; the shortest form only, no surrogates.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {none, 1};
  char32_t code = lead & (0x7f >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {none, 1};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr char32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {none, 1};
  return {code, bytes};
}

bool harmless(char32_t code) {
  const auto within = [code](char32_t first, char32_t last) { return code >= first && code <= last; };
  return code != none && !within(0, 0x1f) && !within(0x7f, 0x9f) && !within(0x2028, 0x202e) && !within(0x2066, 0x2069);
}

}  // namespace

std::string clean_note(std::string_view text, std::size_t most) {
  constexpr std::string_view more = "...";
  const bool cut = text.size() > most;
  const std::size_t room = cut ? most - std::min(most, more.size()) : most;
  std::string result;
  while (!text.empty()) {
    const auto [code, bytes] = first_of(text);
    if (result.size() + bytes > room) break;
    if (code == '\n' || code == '\r' || code == '\t')
      result += ' ';
    else if (harmless(code))
      result += text.substr(0, bytes);
    else
      result += '?';
    text.remove_prefix(bytes);
  }
  if (cut) result += more;
  return result;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto [code, bytes] = first_of(text);
    if (code == none) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

void append_utf8(std::string& text, char32_t code) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return put('?');
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

}  // namespace weft::io
