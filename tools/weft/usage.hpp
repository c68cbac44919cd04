// What is wrong with a command line, in words that say what to write instead.
#pragma once

#include <string>

#include "command.hpp"

namespace weft::tool {

/// The subcommand the user was asking for, or null.
const CLI::App* asked_for(const CLI::App& root);
/// One line for what the parser refused.
std::string usage_text(const CLI::App& root, const CLI::ParseError& error);

}  // namespace weft::tool
