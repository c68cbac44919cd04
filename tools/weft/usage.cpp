#include "usage.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>
#include <vector>

#include "core/names.hpp"
#include "core/nearest.hpp"
#include "option_text.hpp"

namespace weft::tool {
namespace {

template <class Kind>
bool is_a(const CLI::ParseError& error) {
  return dynamic_cast<const Kind*>(&error) != nullptr;
}

// Descriptions start a line of --help; here they continue one.
std::string description_of(const CLI::Option& option) {
  std::string text = meaning_of(option);
  if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
  return text;
}

/// The option that an error of the parser begins with.
const CLI::Option* named_by(const CLI::App& command, const CLI::ParseError& error) {
  const std::string text = error.what();
  const std::string name = text.substr(0, text.find_first_of(": "));
  for (const CLI::Option* option : command.get_options())
    if (option->get_name() == name) return option;
  return nullptr;
}

std::string without_value(const std::string& word) { return word.substr(0, word.find('=')); }

std::string unknown_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names, meanings;  // a hidden spelling leads to the one that is shown
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : shown_names(*option)) {
      names.push_back(name);
      meanings.push_back(name);
    }
    for (const std::string& name : hidden_names(*option)) {
      names.push_back(name);
      meanings.push_back(shown_names(*option).front());
    }
  }
  const std::string_view near = nearest(lower_case(without_value(word)), names);
  const auto at = std::ranges::find(names, near);
  std::string suggestion =
      at == names.end() ? "" : did_you_mean(meanings[static_cast<std::size_t>(at - names.begin())]);
  if (suggestion.empty()) return fmt::format("unknown option '{}'", word);
  suggestion.pop_back();
  return fmt::format("unknown option '{}': {}", word, suggestion);
}

// A word in front of the command, where only weft's own options stand.
std::string option_too_early(const CLI::App& command, const std::string& word) {
  const CLI::Option* option = command.get_option_no_throw(without_value(word));
  if (option == nullptr) return unknown_option(command, word);
  return fmt::format("option '{}' stands in front of the command it belongs to: put it behind, as in weft {} ... {}",
                     word, command.get_name(), word);
}

std::string unknown_command(const CLI::App& root, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CLI::App* command : shown_commands(root)) names.push_back(command->get_name());
  const std::string known = fmt::format("commands are {}", fmt::join(names, ", "));
  if (words.empty()) return "no command was given: " + known;
  if (words.front().starts_with('-')) return unknown_option(root, words.front());
  return fmt::format("unknown command '{}': {}{}", words.front(),
                     did_you_mean(nearest(lower_case(words.front()), names)), known);
}

std::string missing(const CLI::App& command, const CLI::Option& option, const std::vector<std::string>& unexpected) {
  const bool has_positionals = std::ranges::any_of(command.get_options(), &CLI::Option::get_positional);
  if (!unexpected.empty() && !has_positionals)
    return fmt::format("argument '{0}' belongs to no option: did you mean {1} {0}?", unexpected.front(),
                       shown_name(option));
  return fmt::format("{} is missing: {}", shown_name(option), description_of(option));
}

std::string wrong_number(const CLI::Option& option) {
  const std::vector<std::string> given = option.results();
  if (given.size() == 1 && !may_repeat(option))  // the second time nothing follows it
    return fmt::format("{} is given twice, as '{}' and without a value: expected it once", shown_name(option),
                       given.front());
  if (given.empty() || may_repeat(option))
    return fmt::format("{} has no value: {}", shown_name(option), description_of(option));
  return fmt::format("{} is given {}, as '{}': expected it once", shown_name(option),
                     given.size() == 2 ? "twice" : fmt::format("{} times", given.size()), fmt::join(given, "' and '"));
}

/// The parser takes any word for the value of an option, also the name of the next option.
std::string taken_for_value(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (!takes_value(*option)) continue;
    for (const std::string& value : option->results())
      if (value.size() > 1 && value.starts_with('-') && command.get_option_no_throw(without_value(value)) != nullptr)
        return fmt::format("{} has no value: the option {} follows it", shown_name(*option), value);
  }
  return "";
}

}  // namespace

const CLI::App* find_command(const CLI::App& root, std::string_view name) {
  for (const CLI::App* command : root.get_subcommands(nullptr))
    if (command->get_name() == name) return command;
  return nullptr;
}

const CLI::App* asked_for(const CLI::App& root) {
  const auto chosen = root.get_subcommands();
  return chosen.empty() ? nullptr : chosen.front();
}

std::string usage_text(const CLI::App& root, const CLI::ParseError& error) {
  const CLI::App* command = asked_for(root);
  const std::vector<std::string> unexpected = root.remaining(true);
  if (command == nullptr) return unknown_command(root, unexpected);
  // A mistyped option explains whatever else is wrong: the one that was meant is missing, its value stands alone.
  const auto option = std::ranges::find_if(unexpected, [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-') && std::isdigit(static_cast<unsigned char>(word[1])) == 0;
  });
  if (option != unexpected.end())
    return root.remaining(false).empty() ? unknown_option(*command, *option) : option_too_early(*command, *option);
  if (std::string taken = taken_for_value(*command); !taken.empty()) return taken;
  if (const CLI::Option* named = named_by(*command, error)) {
    if (is_a<CLI::RequiredError>(error)) return missing(*command, *named, unexpected);
    if (is_a<CLI::ArgumentMismatch>(error)) return wrong_number(*named);
  }
  if (is_a<CLI::ExtrasError>(error) && !unexpected.empty())
    return fmt::format("argument '{}' is one too many", unexpected.front());
  return error.what();
}

std::string contradiction(const CLI::App& root) {
  const CLI::App* command = asked_for(root);
  if (command == nullptr) return "";
  if (std::string taken = taken_for_value(*command); !taken.empty()) return taken;
  for (const CLI::Option* option : command->get_options()) {
    const std::vector<std::string>& given = option->results();
    if (option->get_fnames().empty() || std::ranges::adjacent_find(given, std::not_equal_to<>()) == given.end())
      continue;
    return fmt::format("{} are both given: leave one of the two out", fmt::join(shown_names(*option), " and "));
  }
  return "";
}

std::vector<std::string> with_dashes(std::vector<std::string> words) {
  for (std::string& word : words)
    if (word.starts_with("--"))
      std::replace(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(without_value(word).size()), '_', '-');
  return words;
}

std::vector<std::string> without_help_word(const CLI::App& root, std::vector<std::string> words) {
  if (words.empty() || words.front() != "help") return words;
  words.erase(words.begin());
  const bool known = !words.empty() && find_command(root, words.front()) != nullptr;
  if (words.empty() || known) words.insert(words.begin() + (known ? 1 : 0), "--help");
  return words;
}

}  // namespace weft::tool
