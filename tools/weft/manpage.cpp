#include "manpage.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "option_text.hpp"
#include "weft/version.hpp"

namespace weft::tool {
namespace {

/// Text that troff prints as it stands.
std::string roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n'))
      result += std::string("\\&") + c;
    else
      result += c;
  }
  return result;
}

void add_entries(std::string& page, const CLI::App& app) {
  for (const OptionGroup& group : option_groups(app))
    for (const CLI::Option* option : group.options)
      page += fmt::format(".TP\n.B {}\n{}\n", roff(label_of(*option)), roff(meaning_of(*option)));
}

/// Lines that stay as they are.
void add_verbatim(std::string& page, const std::string& text) {
  if (!text.empty()) page += fmt::format(".PP\n.nf\n{}\n.fi\n", roff(text));
}

}  // namespace

std::string manual_page(const CLI::App& root) {
  std::string page = fmt::format(".TH WEFT 1 \"\" \"weft {}\" \"User Commands\"\n", version());
  page += ".SH NAME\nweft \\- sparse kernels for graph neural networks\n";
  page += fmt::format(".SH SYNOPSIS\n.nf\n.B {}\n", roff(usage_of(root)));
  for (const CLI::App* command : shown_commands(root)) page += fmt::format(".B {}\n", roff(usage_of(*command)));
  page += ".fi\n.SH OPTIONS\n";
  add_entries(page, root);
  page += ".SH COMMANDS\n";
  for (const CLI::App* command : shown_commands(root)) {
    page += fmt::format(".SS weft {}\n{}.\n", roff(command->get_name()), roff(command->get_description()));
    add_entries(page, *command);
    if (const std::string also = other_spellings(*command); !also.empty())
      page += fmt::format(".PP\n{}.\n", roff(also));
    add_verbatim(page, command->get_footer());
  }
  page +=
      ".SH \"EXIT STATUS\"\n"
      "0: done. 1: failed. 2: wrong usage. A failure is one line on standard error.\n"
      "130 and 143: training ended early by SIGINT or SIGTERM, with what there was by then written.\n"
      ".SH NOTES\nNames of models, types and other values may be written in either case, and options with\n"
      "underscores. Storage types are also understood as float32, float16, half, bfloat16, float64 and double,\n"
      "devices as gpu and gpu:N, the model sage as graphsage, the sampler neighbour as neighbor.\n";
  return page;
}

}  // namespace weft::tool
