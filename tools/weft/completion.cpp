#include "completion.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string_view>

#include "core/names.hpp"
#include "generators.hpp"
#include "option_text.hpp"
#include "text.hpp"
#include "usage.hpp"
#include "weft/dataset.hpp"
#include "weft/generate.hpp"

namespace weft::tool {
namespace {

/// Collects what starts with what was typed.
class Offers {
 public:
  explicit Offers(std::string typed) : typed_(std::move(typed)) {}
  void offer(const std::string& word, std::string_view meaning) {
    if (word.starts_with(typed_)) result_.candidates.push_back({word, std::string(meaning)});
  }
  void offer_files() { result_.files = true; }
  const std::string& typed() const { return typed_; }
  Completion result() const { return result_; }

 private:
  std::string typed_;
  Completion result_;
};

void offer_specs(Offers& offers, const std::string& before) {
  if (offers.typed().starts_with(before + "like:"))
    for (const KnownDataset& each : known_datasets())
      offers.offer(before + "like:" + std::string(each.name),
                   fmt::format("{} nodes, {} edges", grouped(each.nodes), grouped(each.edges)));
  else
    for (const Generator& each : generators()) offers.offer(before + std::string(each.kind) + ":", each.meaning);
}

/// `before`: what stands in the word in front of the value, such as "--model=".
void offer_values(Offers& offers, const CLI::Option& option, std::string before) {
  const std::string type = option.get_type_name();
  const std::string value = offers.typed().substr(before.size());
  if (type == "FILE" || type == "DATA" || type == "GRAPH") offers.offer_files();
  if (type == "DATA" || type == "GRAPH")
    for (const BuiltinDataset& each : builtin_datasets())
      offers.offer(before + std::string(each.name), each.description);
  if (type == "GRAPH" || type == "SPEC") offer_specs(offers, before);
  // Of a list, T,T,.., the last entry is completed.
  if (const std::size_t comma = value.rfind(','); comma != value.npos) before += value.substr(0, comma + 1);
  for (const std::string& each : values_of(option)) {
    const bool stands_for_others = std::ranges::any_of(each, [](unsigned char c) { return std::isupper(c) != 0; });
    if (!stands_for_others) offers.offer(before + each, "");
  }
}

void offer_options(Offers& offers, const CLI::App& command, const std::vector<std::string>& before) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty() || !option->nonpositional()) continue;
    const std::vector<std::string> names = shown_names(*option);
    const bool given = std::ranges::any_of(
        before, [&](const std::string& word) { return std::ranges::count(names, word.substr(0, word.find('='))) > 0; });
    if (given && !may_repeat(*option)) continue;
    for (const std::string& each : names)
      if (each.size() > 2) offers.offer(each, option->get_description());  // long ones
  }
}

void offer_commands(Offers& offers, const CLI::App& root) {
  for (const CLI::App* command : shown_commands(root)) offers.offer(command->get_name(), command->get_description());
}

/// The option whose value follows, where `word` is one that has none yet.
const CLI::Option* awaits_value(const CLI::App& command, const std::string& word) {
  if (!word.starts_with('-') || word.find('=') != word.npos) return nullptr;
  const CLI::Option* option = command.get_option_no_throw(word);
  return option != nullptr && takes_value(*option) ? option : nullptr;
}

/// The argument that comes behind the words, or null.
const CLI::Option* next_positional(const CLI::App& command, const std::vector<std::string>& before) {
  std::size_t given = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool is_value = i > 0 && awaits_value(command, before[i - 1]) != nullptr;
    if (!is_value && !before[i].starts_with('-')) ++given;
  }
  const CLI::Option* last = nullptr;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    last = option;
    if (given-- == 0) return option;
  }
  return last != nullptr && may_repeat(*last) ? last : nullptr;
}

}  // namespace

Completion complete(const CLI::App& root, const std::vector<std::string>& words) {
  Offers offers(words.empty() ? "" : words.back());
  std::vector<std::string> before(words.begin(), words.end() - (words.empty() ? 0 : 1));
  const CLI::App* command = nullptr;
  while (!before.empty() && command == nullptr) {
    command = find_command(root, before.front());
    before.erase(before.begin());
  }
  const std::string& typed = offers.typed();
  if (command == nullptr) {
    if (typed.starts_with('-'))
      offer_options(offers, root, before);
    else
      offer_commands(offers, root);
    return offers.result();
  }
  const std::size_t equals = typed.find('=');
  if (const CLI::Option* option = before.empty() ? nullptr : awaits_value(*command, before.back())) {
    offer_values(offers, *option, "");
  } else if (typed.starts_with("--") && equals != typed.npos) {
    if (const CLI::Option* named = awaits_value(*command, typed.substr(0, equals)))
      offer_values(offers, *named, typed.substr(0, equals + 1));
  } else if (const CLI::Option* positional = next_positional(*command, before);
             positional != nullptr && !typed.starts_with('-')) {
    offer_values(offers, *positional, "");
  } else {
    offer_options(offers, *command, before);
  }
  return offers.result();
}

std::string completion_lines(const Completion& completion) {
  std::string text;
  for (const auto& [word, meaning] : completion.candidates) text += fmt::format("{}\t{}\n", word, meaning);
  return text + (completion.files ? ":files\n" : "");
}

}  // namespace weft::tool
