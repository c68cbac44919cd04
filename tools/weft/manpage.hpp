// The manual page weft(1), from what --help is made of.
#pragma once

#include <string>

#include "command.hpp"

namespace weft::tool {

std::string manual_page(const CLI::App& root);

}  // namespace weft::tool
