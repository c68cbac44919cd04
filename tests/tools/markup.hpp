// Whether the tags of a page close in the order they open, and how many there are of a kind.
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace weft::test {

/// Empty where all is well, else what is wrong first. Attributes are quoted, as in XML.
inline std::string unbalanced(std::string_view page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != page.npos; at = page.find('<', at)) {
    std::size_t end = at + 1;
    for (bool quoted = false; end < page.size() && (quoted || page[end] != '>'); ++end) {
      if (page[end] == '"') quoted = !quoted;
      if (page[end] == '<' && !quoted) return "'<' inside of a tag at " + std::string(page.substr(at, 40));
    }
    if (end == page.size()) return "no end of " + std::string(page.substr(at, 40));
    const std::string_view tag = page.substr(at + 1, end - at - 1);
    at = end;
    if (tag.starts_with('!') || tag.ends_with('/')) continue;
    const bool closes = tag.starts_with('/');
    std::string name;
    for (const char c : tag.substr(closes ? 1 : 0)) {
      if (std::isalnum(static_cast<unsigned char>(c)) == 0) break;
      name += c;
    }
    if (!closes) {
      open.push_back(name);
      continue;
    }
    if (open.empty() || open.back() != name)
      return "</" + name + "> closes " + (open.empty() ? "nothing" : "<" + open.back() + ">");
    open.pop_back();
  }
  return open.empty() ? "" : "<" + open.back() + "> stays open";
}

inline std::size_t count_of(std::string_view text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

}  // namespace weft::test
