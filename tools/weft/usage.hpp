// What is wrong with a command line, in words that say what to write instead.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace weft::tool {

/// The command of that name, or null.
const CLI::App* find_command(const CLI::App& root, std::string_view name);
/// The subcommand the user was asking for, or null.
const CLI::App* asked_for(const CLI::App& root);
/// One line for what the parser refused.
std::string usage_text(const CLI::App& root, const CLI::ParseError& error);
/// One line where a flag and its opposite were both given, or an option is the value of another; or nothing.
std::string contradiction(const CLI::App& root);
/// The command line with --weight_decay written as --weight-decay.
std::vector<std::string> with_dashes(std::vector<std::string> words);
/// The command line with `help` and `help COMMAND` turned into `--help` and `COMMAND --help`.
std::vector<std::string> without_help_word(const CLI::App& root, std::vector<std::string> words);

}  // namespace weft::tool
