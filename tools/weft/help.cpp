#include "help.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <sstream>

#include "option_text.hpp"

namespace weft::tool {
namespace {

constexpr std::size_t column = 25;  // where meanings start

std::string entry(const std::string& label, const std::string& meaning) {
  const std::string text = wrapped(meaning, column, column);
  if (label.size() + 4 > column) return fmt::format("  {}\n{}{}\n", label, std::string(column, ' '), text);
  return fmt::format("  {:<{}}{}\n", label, column - 2, text);
}

}  // namespace

std::string wrapped(std::string_view text, std::size_t first_column, std::size_t indent, std::size_t width) {
  std::istringstream words{std::string(text)};
  std::string result;
  std::size_t at = first_column;
  for (std::string word; words >> word;) {
    if (!result.empty()) {
      const bool fits = at + 1 + word.size() <= width;
      result += fits ? " " : "\n" + std::string(indent, ' ');
      at = fits ? at + 1 : indent;
    }
    result += word;
    at += word.size();
  }
  return result;
}

std::string HelpFormatter::make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const {
  std::string text = wrapped(app->get_description(), 0, 0) + "\n\n";
  const std::string usage = "Usage: ";
  text += usage + wrapped(usage_of(*app), usage.size(), usage.size() + 2) + "\n";
  if (const auto commands = shown_commands(*app); !commands.empty()) {
    text += "\nCommands:\n";
    for (const CLI::App* command : commands) text += entry(command->get_name(), command->get_description());
  }
  for (const OptionGroup& group : option_groups(*app)) {
    text += fmt::format("\n{}:\n", group.title);
    for (const CLI::Option* option : group.options) text += entry(label_of(*option), meaning_of(*option));
  }
  if (const std::string also = other_spellings(*app); !also.empty()) text += "\n" + wrapped(also, 0, 2) + "\n";
  const std::string footer = app->get_footer();
  if (!footer.empty()) text += "\n" + footer + "\n";
  return text;
}

}  // namespace weft::tool
