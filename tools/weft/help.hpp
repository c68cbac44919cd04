// --help, at most 80 columns wide.
#pragma once

#include <CLI/CLI.hpp>

namespace weft::tool {

class HelpFormatter : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// The words of the text in lines of at most `width` columns, all but the first behind `indent` spaces.
std::string wrapped(std::string_view text, std::size_t first_column, std::size_t indent, std::size_t width = 80);

}  // namespace weft::tool
