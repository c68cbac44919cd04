// "key=value,key=value" into the members of a struct, and back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace weft::generator {

struct Field {
  std::string_view key;
  std::variant<int*, std::int64_t*, std::uint64_t*, double*, bool*> target;
};
using Fields = std::vector<Field>;

/// Text into the fields; nothing at all leaves the defaults. An Error that starts with `kind` says which key or value
/// is wrong and what exists.
void parse_options(std::string_view kind, std::string_view text, const Fields& known);
/// "kind:key=value,..." with every key.
std::string canonical(std::string_view kind, const Fields& known);

}  // namespace weft::generator
