#include "confusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "class_titles.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

constexpr std::int64_t most_classes = 30;  // that a matrix on a page can show
constexpr std::size_t most_pairs = 30;

double share_of(std::int64_t part, std::int64_t all) {
  return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0;
}

/// Nodes a label.
std::vector<std::int64_t> sums_of(const Confusion& confusion) {
  std::vector<std::int64_t> sums(static_cast<std::size_t>(confusion.classes));
  for (const auto& [pair, count] : confusion.counts) sums[static_cast<std::size_t>(pair.first)] += count;
  return sums;
}

std::string title_of(const Confusion& confusion, std::int32_t label) {
  return escaped(confusion.titles[static_cast<std::size_t>(label)]);
}

std::string matrix_html(const Confusion& confusion, const std::vector<std::int64_t>& sums) {
  const auto classes = static_cast<std::int32_t>(confusion.classes);
  std::string html = "<table class=\"confusion\">\n<tr><th>label</th>";
  for (std::int32_t c = 0; c < classes; ++c) html += fmt::format("<th>{}</th>", title_of(confusion, c));
  html += "<th>nodes</th><th>right</th></tr>\n";
  for (std::int32_t label = 0; label < classes; ++label) {
    const std::int64_t all = sums[static_cast<std::size_t>(label)];
    html += fmt::format("<tr><th>{}</th>", title_of(confusion, label));
    for (std::int32_t c = 0; c < classes; ++c) {
      const std::int64_t count = confusion.count(label, c);
      html +=
          fmt::format("<td style=\"background: rgba({}, {:.2f})\">{}</td>", c == label ? "47, 133, 90" : "192, 86, 33",
                      0.75 * share_of(count, all), count > 0 ? grouped(count) : "");
    }
    html += fmt::format("<td>{}</td><td>{}</td></tr>\n", grouped(all),
                        all > 0 ? fmt::format("{:.3f}", share_of(confusion.count(label, label), all)) : "-");
  }
  return html + "</table>\n";
}

std::string worst_html(const Confusion& confusion, const std::vector<std::int64_t>& sums) {
  std::vector<std::tuple<std::int64_t, std::int32_t, std::int32_t>> wrong;
  for (const auto& [pair, count] : confusion.counts)
    if (pair.first != pair.second) wrong.emplace_back(count, pair.first, pair.second);
  // The most frequent first; of equals the smaller label.
  std::ranges::sort(wrong, {},
                    [](const auto& w) { return std::tuple(-std::get<0>(w), std::get<1>(w), std::get<2>(w)); });
  if (wrong.size() > most_pairs) wrong.resize(most_pairs);
  std::string html = fmt::format(
      "<p>{} classes: the {} pairs that are confused most often.</p>\n<table>\n<tr><th>label</th><th>predicted</th>"
      "<th>nodes</th><th>share of the label</th></tr>\n",
      grouped(confusion.classes), wrong.size());
  for (const auto& [count, label, predicted] : wrong)
    html += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.3f}</td></tr>\n", title_of(confusion, label),
                        title_of(confusion, predicted), grouped(count),
                        share_of(count, sums[static_cast<std::size_t>(label)]));
  return html + "</table>\n";
}

}  // namespace

std::int64_t Confusion::count(std::int32_t label, std::int32_t predicted) const {
  const auto at = counts.find({label, predicted});
  return at == counts.end() ? 0 : at->second;
}

Confusion confusion_of(const Dataset& dataset, const Predictions& predictions) {
  Confusion confusion;
  confusion.classes = dataset.classes;
  for (std::int64_t i = 0; i < dataset.classes; ++i) confusion.titles.push_back(class_title(dataset.class_names, i));
  if (!dataset.test || dataset.multi_label() || predictions.classes.shape().rank != 1) return confusion;
  const auto labels = dataset.labels.span<std::int32_t>(), predicted = predictions.classes.span<std::int32_t>();
  for (const NodeId node : dataset.test.span<NodeId>()) {
    const auto at = static_cast<std::size_t>(node);
    if (labels[at] >= 0) ++confusion.counts[{labels[at], predicted[at]}];
  }
  return confusion;
}

std::string confusion_html(const Confusion& confusion) {
  if (confusion.counts.empty()) return "";
  const std::vector<std::int64_t> sums = sums_of(confusion);
  return confusion.classes <= most_classes ? matrix_html(confusion, sums) : worst_html(confusion, sums);
}

}  // namespace weft::tool
