// The kinds of generator there are, for those who list them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::generator {

struct KindForm {
  std::string_view kind;
  std::string form;  // with every key at its default: "grid:side=256"; "like:NAME" for the one that takes a name
};
std::vector<KindForm> kind_forms();

}  // namespace weft::generator
