// The benchmark as one HTML page without anything from elsewhere: a table, and bars in SVG.
#include <fmt/format.h>

#include <algorithm>

#include "bench/record.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

struct Bar {
  std::string label;
  double us = 0;
  std::string_view color;
};

constexpr std::string_view weft_color = "#2b6cb0", floor_color = "#a0aec0", peer_color = "#c05621";

std::string bars_svg(const Record& record) {
  std::vector<Bar> bars{{"weft", record.median_us, weft_color}};
  if (record.floor_us > 0) bars.push_back({"gather floor", record.floor_us, floor_color});
  for (const PeerRecord& peer : record.peers)
    if (peer.status == "ok") bars.push_back({peer.name, peer.median_us, peer_color});
  double longest = 0;
  for (const Bar& bar : bars) longest = std::max(longest, bar.us);
  if (longest <= 0) return "";
  constexpr int label_width = 120, bar_width = 480, line = 22;
  std::string svg = fmt::format("<svg width=\"{}\" height=\"{}\" role=\"img\">", label_width + bar_width + 130,
                                line * static_cast<int>(bars.size()) + 4);
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const int y = static_cast<int>(i) * line + 2;
    const double width = std::max(1.0, bars[i].us / longest * bar_width);
    svg += fmt::format(
        "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>"
        "<rect x=\"{}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\"/>"
        "<text x=\"{:.1f}\" y=\"{}\">{}</text>",
        label_width - 6, y + 15, escaped(bars[i].label), label_width, y + 2, width, line - 5, bars[i].color,
        label_width + width + 6, y + 15, seconds_text(bars[i].us * 1e-6));
  }
  return svg + "</svg>\n";
}

std::string title_of(const Record& r) {
  return fmt::format("{} {} ({}), {}width {}, {}", r.graph, r.op, r.variant,
                     r.heads > 1 ? fmt::format("{} heads of ", r.heads) : "", r.width, name(r.dtype));
}

std::string peers_text(const Record& r) {
  std::string text;
  for (const PeerRecord& peer : r.peers) {
    if (!text.empty()) text += "<br/>";
    text += peer.status == "ok"
                ? fmt::format("{}: {:.1f} us, {:.2f}x", escaped(peer.name), peer.median_us, peer.speedup)
                : fmt::format("{}: {}", escaped(peer.name), escaped(peer.status));
  }
  return text.empty() ? "-" : text;
}

std::string policy_text(const Record& r) { return r.policy.empty() ? "auto" : r.policy; }

std::string row_html(const Record& r, bool policies) {
  std::string cells = fmt::format("<td class=\"l\">{}</td><td class=\"l\">{} {}</td><td>{}</td><td>{}</td><td>{}</td>",
                                  escaped(r.graph), r.op, r.variant, grouped(r.edges), r.width, name(r.dtype));
  if (policies) cells += fmt::format("<td class=\"l\">{}</td>", escaped(policy_text(r)));
  if (!r.right())
    return fmt::format("<tr>{}<td class=\"wrong l\" colspan=\"7\">{}</td></tr>\n", cells,
                       r.failure ? escaped(fmt::format("failed: {}", r.failure->what())) : "WRONG");
  cells += fmt::format(
      "<td>{:.1f}</td><td>{:.1f}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:.2f}</td><td>{:.1f}</td><td "
      "class=\"l\">{}</td>",
      r.median_us, r.min_us, r.gflops, r.gathered_gb_s, r.floor_ratio, r.plan_us, peers_text(r));
  return "<tr>" + cells + "</tr>\n";
}

}  // namespace

std::string to_html(const RunInfo& run, const std::vector<Record>& records, const std::vector<std::string>& notes) {
  std::string page =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>weft bench</title>\n<style>\n"
      "body { font: 14px system-ui, sans-serif; margin: 2em; color: #1a202c; }\n"
      "table { border-collapse: collapse; }\n"
      "td, th { padding: 3px 10px; text-align: right; border-bottom: 1px solid #e2e8f0; }\n"
      "td.l, th.l { text-align: left; }\n"
      "td.wrong, p.warning { color: #c53030; font-weight: bold; }\n"
      "h2 { font-size: 15px; margin: 1.5em 0 0.3em; }\n"
      "svg text { font: 12px system-ui, sans-serif; }\n"
      "</style>\n</head>\n<body>\n<h1>weft bench</h1>\n";
  const std::string device = run.gpu ? fmt::format("{}, driver {}, CUDA {}, a copy reaches {:.0f} GB/s", run.gpu->name,
                                                   run.gpu_driver, run.gpu->runtime, run.copy_gb_s)
                                     : fmt::format("{}, {} threads, {}", run.cpu_model, run.threads, run.target);
  page +=
      fmt::format("<p>weft {} ({}), {}, {}<br/>{}<br/><code>{}</code></p>\n", escaped(run.version), escaped(run.commit),
                  escaped(device), escaped(run.compiler), escaped(run.date), escaped(run.command));
  if (const std::string busy = busy_note(run); !busy.empty())
    page += fmt::format("<p class=\"warning\">note: {}</p>\n", escaped(busy));
  const bool policies = std::ranges::any_of(records, [](const Record& r) { return !r.policy.empty(); });
  page +=
      "<p>Median of single runs, every result checked against a float64 reference in the same run. The gather floor is "
      "the time just to load the indexed rows; a peer's factor is its time over weft's.</p>\n"
      "<table>\n<tr><th class=\"l\">graph</th><th class=\"l\">operator</th><th>edges</th><th>width</th><th>dtype</th>";
  if (policies) page += "<th class=\"l\">policy</th>";
  page +=
      "<th>median us</th><th>min us</th><th>GFLOP/s</th><th>gathered GB/s</th><th>over floor</th><th>plan us</th>"
      "<th class=\"l\">peers</th></tr>\n";
  for (const Record& record : records) page += row_html(record, policies);
  page += "</table>\n";
  for (const std::string& note : notes) page += fmt::format("<p class=\"note\">note: {}</p>\n", escaped(note));
  for (const Record& record : records) {
    if (!record.right()) continue;
    page += fmt::format("<h2>{}{}</h2>\n", escaped(title_of(record)),
                        policies ? escaped(", policy " + policy_text(record)) : "");
    if (!record.note.empty()) page += fmt::format("<p>{}</p>\n", escaped(record.note));
    page += bars_svg(record);
  }
  return page + "</body>\n</html>\n";
}

}  // namespace weft::tool
