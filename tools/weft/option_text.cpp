#include "option_text.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>

namespace weft::tool {
namespace {

/// "no-tf32" of "tf32".
const std::string* opposite_of(const CLI::Option& option) {
  const auto& negated = option.get_fnames();
  return negated.empty() ? nullptr : &negated.front();
}

bool is_shown(const CLI::Option& option) { return !option.get_group().empty(); }

}  // namespace

std::string one_of_floating_dtypes() {
  std::vector<std::string_view> names;
  for (const std::string_view each : all_names<Dtype>())
    if (is_floating(parse_dtype(each))) names.push_back(each);
  return fmt::format("{}", fmt::join(names, "|"));
}

std::vector<std::string> values_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  if (type.find('|') == type.npos) return {};
  return CLI::detail::split(type, '|');
}

std::string alternatives(const std::vector<std::string>& values) {
  if (values.size() < 2) return values.empty() ? "" : values.front();
  return fmt::format("{} or {}", fmt::join(values.begin(), values.end() - 1, ", "), values.back());
}

bool takes_value(const CLI::Option& option) { return option.get_type_size() != 0; }
bool may_repeat(const CLI::Option& option) { return option.get_items_expected_max() > 1; }

std::string shown_name(const CLI::Option& option) {
  return option.get_positional() ? option.get_name(true) : shown_names(option).back();
}

std::vector<std::string> shown_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& each : option.get_snames()) names.push_back("-" + each);
  if (!option.get_lnames().empty()) names.push_back("--" + option.get_lnames().front());
  if (const std::string* opposite = opposite_of(option)) names.push_back("--" + *opposite);
  return names;
}

std::vector<std::string> hidden_names(const CLI::Option& option) {
  const std::vector<std::string> shown = shown_names(option);
  std::vector<std::string> names;
  for (const std::string& each : option.get_lnames())
    if (std::ranges::count(shown, "--" + each) == 0) names.push_back("--" + each);
  return names;
}

std::string label_of(const CLI::Option& option) {
  const std::string dots = may_repeat(option) && option.get_positional() ? "..." : "";
  if (option.get_positional()) return option.get_name(true) + dots;
  if (opposite_of(option) != nullptr) return "--[no-]" + option.get_lnames().front();
  std::string label = fmt::format("{}", fmt::join(shown_names(option), ", "));
  if (takes_value(option) && values_of(option).empty()) label += " " + option.get_type_name();
  return label;
}

std::string meaning_of(const CLI::Option& option) {
  std::string text = option.get_description();
  const std::vector<std::string> values = values_of(option);
  if (!values.empty()) text += ": " + alternatives(values);
  if (const std::string standard = option.get_default_str(); !standard.empty())
    text += fmt::format(" (default {})", standard);
  return text;
}

std::vector<OptionGroup> option_groups(const CLI::App& command) {
  std::vector<OptionGroup> groups{{"Arguments", {}}};
  for (const CLI::Option* option : command.get_options()) {
    if (!is_shown(*option)) continue;
    const std::string title = option->get_positional() ? "Arguments" : option->get_group();
    auto at = std::ranges::find(groups, title, &OptionGroup::title);
    if (at == groups.end()) at = groups.insert(at, {title, {}});
    // What every command has comes last in its group.
    if (option == command.get_help_ptr()) continue;
    at->options.push_back(option);
  }
  if (const CLI::Option* help = command.get_help_ptr()) {
    auto at = std::ranges::find(groups, help->get_group(), &OptionGroup::title);
    at->options.push_back(help);
    if (at->options.size() == 1) std::rotate(at, at + 1, groups.end());  // alone: at the end of all
  }
  std::erase_if(groups, [](const OptionGroup& group) { return group.options.empty(); });
  return groups;
}

std::vector<const CLI::App*> shown_commands(const CLI::App& root) {
  return root.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::string other_spellings(const CLI::App& command) {
  std::vector<std::string> pairs;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& each : hidden_names(*option))
      if (!each.starts_with("--no-")) pairs.push_back(fmt::format("{} for {}", each, shown_names(*option).front()));
  return pairs.empty() ? "" : fmt::format("Also understood: {}", fmt::join(pairs, ", "));
}

std::string usage_of(const CLI::App& command) {
  const bool is_root = command.get_parent() == nullptr;
  std::string text = is_root ? command.get_name() : command.get_parent()->get_name() + " " + command.get_name();
  if (is_root) return text + " COMMAND ...";
  std::string positionals;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_positional())
      positionals += option->get_required() ? " " + label_of(*option) : " [" + label_of(*option) + "]";
    else if (option->get_required())
      text += fmt::format(" {} {}", shown_name(*option), option->get_type_name());
  }
  return text + positionals + " [OPTIONS]";
}

}  // namespace weft::tool
