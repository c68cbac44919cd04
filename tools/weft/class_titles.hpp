// What classes are called, as lines, tables and pages show them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/dataset.hpp"

namespace weft::tool {

/// "theory": the name as it may stand on a terminal, cut after a few words; the number where there are no names.
std::string class_title(const NodeNames& names, std::int64_t number);
/// "0 = databases, 1 = theory, ...": the first few; empty without names.
std::string class_list(const NodeNames& names);
/// Every name whole, as text that may not be UTF-8.
std::vector<std::string> class_names_of(const NodeNames& names);

}  // namespace weft::tool
