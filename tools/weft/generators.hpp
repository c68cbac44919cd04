// The generators as the command shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::tool {

struct Generator {
  std::string_view kind;
  std::string form;  // the whole specification with its defaults, from the library's own table
  std::string_view meaning;
};
std::vector<Generator> generators();

/// For a text that is no SPEC but was perhaps meant to be one: what to write instead. Else empty.
std::string spec_suggestion(std::string_view text);

}  // namespace weft::tool
