// What is wrong with a command line, in words that say what to write instead.
#pragma once

#include <string>
#include <vector>

#include "command.hpp"

namespace weft::tool {

/// The subcommand the user was asking for, or null.
const CLI::App* asked_for(const CLI::App& root);
/// One line for what the parser refused.
std::string usage_text(const CLI::App& root, const CLI::ParseError& error);
/// The command line with `help` and `help COMMAND` turned into `--help` and `COMMAND --help`.
std::vector<std::string> without_help_word(const CLI::App& root, std::vector<std::string> words);

}  // namespace weft::tool
