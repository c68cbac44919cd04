#include "usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

#include "core/nearest.hpp"

namespace weft::tool {
namespace {

template <class Kind>
bool is_a(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

// Descriptions start a line of --help; here they continue one.
std::string description_of(const CLI::Option& option) {
  std::string text = option.get_description();
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

const CLI::Option* find_option(const CLI::App& command, std::string_view name) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_name() == name) return option;
  return nullptr;
}

std::string unknown_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  const std::string_view meant = nearest(word.substr(0, word.find('=')), names);
  return fmt::format("unknown option '{}'{}", word, meant.empty() ? "" : fmt::format(": did you mean {}?", meant));
}

// A word in front of the command, where only weft's own options stand.
std::string option_too_early(const CLI::App& command, const std::string& word) {
  const CLI::Option* option = command.get_option_no_throw(word.substr(0, word.find('=')));
  if (option == nullptr) return unknown_option(command, word);
  return fmt::format("option '{}' stands in front of the command it belongs to: put it behind, as in weft {} ... {}",
                     word, command.get_name(), word);
}

std::string unknown_command(const CLI::App& root, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::App* command : root.get_subcommands(nullptr)) names.push_back(command->get_name());
  const std::string known = fmt::format("commands are {}", fmt::join(names, ", "));
  if (words.empty()) return "no command was given: " + known;
  if (words.front().starts_with('-')) return unknown_option(root, words.front());
  const std::string_view meant = nearest(words.front(), names);
  return fmt::format("unknown command '{}': {}{}", words.front(),
                     meant.empty() ? "" : fmt::format("did you mean {}? ", meant), known);
}

}  // namespace

const CLI::App* asked_for(const CLI::App& root) {
  const auto chosen = root.get_subcommands();
  return chosen.empty() ? nullptr : chosen.front();
}

std::string usage_text(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* command = asked_for(root);
  const std::vector<std::string> unexpected = root.remaining(true);
  if (command == nullptr) return unknown_command(root, unexpected);
  const std::string text = error.what();
  if (is_a<CLI::RequiredError>(error))
    if (const CLI::Option* option = find_option(*command, text.substr(0, text.find(' '))))
      return fmt::format("{} is missing: {}", option->get_name(), description_of(*option));
  if (is_a<CLI::ArgumentMismatch>(error))
    if (const CLI::Option* option = find_option(*command, text.substr(0, text.find(':'))))
      if (option->results().empty())
        return fmt::format("{} has no value: {}", option->get_name(), description_of(*option));
  if (is_a<CLI::ExtrasError>(error) && !unexpected.empty()) {
    const std::string& word = unexpected.front();
    if (!word.starts_with('-')) return fmt::format("argument '{}' is one too many", word);
    return root.remaining(false).empty() ? unknown_option(*command, word) : option_too_early(*command, word);
  }
  return text;
}

std::vector<std::string> without_help_word(const CLI::App& root, std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  const auto commands = root.get_subcommands(nullptr);
  const bool known = !words.empty() && std::ranges::any_of(commands, [&](const CLI::App* command) {
    return command->get_name() == words.front();
  });
  if (words.empty() || known) words.insert(words.begin() + (known ? 1 : 0), "--help");
  return words;
}

}  // namespace weft::tool
