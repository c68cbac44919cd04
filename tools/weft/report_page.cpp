#include "report_page.hpp"

#include <fmt/format.h>

#include "machine.hpp"
#include "text.hpp"
#include "weft/context.hpp"
#include "weft/version.hpp"

namespace weft::tool {
namespace {

constexpr const char* style =
    ":root { color-scheme: light dark; --text: #1a202c; --page: #ffffff; --soft: #5a6577; --grid: #e2e8f0;\n"
    "  --s0: #2b6cb0; --s1: #c05621; --s2: #2f855a; }\n"
    "@media (prefers-color-scheme: dark) {\n"
    "  :root { --text: #e2e8f0; --page: #171923; --soft: #a0aec0; --grid: #2d3748;\n"
    "    --s0: #63b3ed; --s1: #f6ad55; --s2: #68d391; } }\n"
    "body { font: 14px system-ui, sans-serif; margin: 2em; color: var(--text); background: var(--page); }\n"
    "h1 { font-size: 20px; }\n"
    "h2 { font-size: 15px; margin: 1.5em 0 0.3em; }\n"
    "code { overflow-wrap: anywhere; }\n"
    "table { border-collapse: collapse; }\n"
    "td, th { padding: 3px 20px 3px 0; text-align: left; vertical-align: top; border-bottom: 1px solid var(--grid); }\n"
    "th { font-weight: normal; color: var(--soft); }\n"
    ".confusion td, .confusion th { padding: 3px 8px; text-align: right; }\n"
    ".charts { display: flex; flex-wrap: wrap; gap: 0 2em; }\n"
    ".charts section { flex: 1 1 480px; max-width: 760px; }\n"
    "svg { width: 100%; height: auto; }\n"
    "svg text { font: 12px system-ui, sans-serif; fill: var(--text); }\n"
    "svg .tick { fill: var(--soft); }\n"
    ".grid { stroke: var(--grid); }\n"
    ".axis { stroke: var(--soft); }\n"
    ".mark { stroke: var(--soft); stroke-dasharray: 4 4; }\n"
    ".line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }\n"
    ".dot { stroke-width: 5; }\n"
    ".ring { fill: var(--page); stroke-width: 2; }\n"
    ".s0 { stroke: var(--s0); }\n"
    ".s1 { stroke: var(--s1); }\n"
    ".s2 { stroke: var(--s2); }\n";

/// What the command ran on: "AMD EPYC 7763, 8 threads", or the GPU's name.
std::string machine_line(const Context& context) {
  if (context.device().kind == DeviceKind::cpu)
    return fmt::format("{}, {} thread{}", this_machine().cpu_model, context.threads(),
                       context.threads() == 1 ? "" : "s");
  for (const CudaDevice& gpu : cuda_devices())
    if (gpu.index == context.device().index) return fmt::format("{} ({})", gpu.name, to_string(context.device()));
  return to_string(context.device());
}

}  // namespace

void add_origin(ReportLines& lines, const Context& context) {
  lines.emplace_back("machine", machine_line(context));
  lines.emplace_back("weft", fmt::format("{} ({})", version(), build_commit()));
  lines.emplace_back("date", utc_now());
}

std::string table_html(std::string_view title, const std::vector<std::vector<std::string>>& rows) {
  if (rows.empty()) return "";
  std::string html = fmt::format("<h2>{}</h2>\n<table>\n", escaped(title));
  for (const std::vector<std::string>& row : rows) {
    const char* tag = &row == &rows.front() ? "th" : "td";
    html += "<tr>";
    for (const std::string& text : row) html += fmt::format("<{0}>{1}</{0}>", tag, escaped(text));
    html += "</tr>\n";
  }
  return html + "</table>\n";
}

std::string charts_html(const std::vector<LineChart>& charts) {
  std::string html = "<div class=\"charts\">\n";
  for (const LineChart& chart : charts)
    html += fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", escaped(chart.title), to_svg(chart));
  return html + "</div>\n";
}

std::string page_html(const ReportHead& head, std::string_view body) {
  const std::string title = escaped(head.title);
  std::string page = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}: {}</title>\n"
      "<style>\n{}</style>\n</head>\n<body>\n<h1>{}</h1>\n<p><code>{}</code></p>\n<table>\n",
      head.program, title, style, title, escaped(head.command));
  for (const auto& [label, text] : head.lines)
    page += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escaped(label), escaped(text));
  return page.append("</table>\n").append(body).append("</body>\n</html>\n");
}

}  // namespace weft::tool
