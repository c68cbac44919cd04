#include "dataset_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "class_titles.hpp"
#include "core/names.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

std::int64_t count_of(const Tensor& tensor) { return tensor ? tensor.shape().rows : -1; }

double density_of(const Dataset& data) {
  const double cells = static_cast<double>(data.num_nodes()) * static_cast<double>(data.num_features());
  if (cells == 0) return 0;
  if (data.sparse_features) return static_cast<double>(data.sparse_features.entries()) / cells;
  const auto values = data.features.span<float>();
  return static_cast<double>(std::ranges::count_if(values, [](float v) { return v != 0; })) / cells;
}

}  // namespace

DatasetFacts facts_of(const Dataset& data) {
  DatasetFacts facts;
  facts.nodes = data.num_nodes();
  if (data.has_features()) {
    facts.features = data.num_features();
    facts.sparse = static_cast<bool>(data.sparse_features);
    facts.feature_density = density_of(data);
  }
  if (data.labels) {
    facts.classes = data.classes;
    facts.multi_label = data.multi_label();
    facts.class_list = class_list(data.class_names);
    facts.class_names = class_names_of(data.class_names);
    if (!facts.multi_label) {
      facts.unlabelled = std::ranges::count_if(data.labels.span<std::int32_t>(), [](auto label) { return label < 0; });
      facts.homophily = homophily(data);
    }
  }
  facts.train = count_of(data.train);
  facts.val = count_of(data.val);
  facts.test = count_of(data.test);
  facts.renumbered = static_cast<bool>(data.node_ids);
  facts.named = static_cast<bool>(data.node_names);
  facts.graphs = count_of(data.graph_labels);
  facts.graph_classes = data.graph_classes;
  return facts;
}

std::size_t more_bytes(const Dataset& data) {
  std::size_t bytes = data.node_names.text.size() + data.class_names.text.size();
  for (const Tensor* tensor : data.parts())
    if (*tensor) bytes += tensor->bytes();
  return bytes;
}

std::vector<std::pair<std::string, std::string>> lines_of(const DatasetFacts& facts) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (facts.features >= 0)
    lines.emplace_back("features", fmt::format("{}, {}, {:.3g} % not 0", grouped(facts.features),
                                               facts.sparse ? "sparse" : "dense", 100 * facts.feature_density));
  if (facts.classes >= 0) {
    std::string text = fmt::format("{}{}", grouped(facts.classes), facts.multi_label ? ", several per node" : "");
    if (!facts.class_list.empty()) text += fmt::format(" ({})", facts.class_list);
    if (facts.unlabelled > 0) text += fmt::format(", {} nodes without one", grouped(facts.unlabelled));
    lines.emplace_back("classes", text);
  }
  if (facts.train >= 0 || facts.val >= 0 || facts.test >= 0) {
    const auto size = [](std::int64_t count) { return count < 0 ? std::string("none") : grouped(count); };
    lines.emplace_back("splits",
                       fmt::format("train {}, val {}, test {}", size(facts.train), size(facts.val), size(facts.test)));
  }
  if (facts.homophily >= 0)
    lines.emplace_back("homophily", fmt::format("{:.3f} of the edges are within a class", facts.homophily));
  if (facts.graphs >= 0)
    lines.emplace_back("graphs", fmt::format("{} in {} classes", grouped(facts.graphs), grouped(facts.graph_classes)));
  if (facts.renumbered) lines.emplace_back("node ids", "numbered anew; the file's own are kept");
  if (facts.named) lines.emplace_back("node names", "kept; nodes are numbered as the file mentions them first");
  return lines;
}

nlohmann::json to_json(const DatasetFacts& facts) {
  const auto known = [](auto value) { return value < 0 ? nlohmann::json() : nlohmann::json(value); };
  return {{"features", known(facts.features)},
          {"sparse", facts.sparse},
          {"feature_density", facts.features >= 0 ? nlohmann::json(facts.feature_density) : nlohmann::json()},
          {"classes", known(facts.classes)},
          {"class_names", facts.class_names},
          {"multi_label", facts.multi_label},
          {"unlabelled", facts.unlabelled},
          {"train", known(facts.train)},
          {"val", known(facts.val)},
          {"test", known(facts.test)},
          {"homophily", known(facts.homophily)},
          {"graphs", known(facts.graphs)},
          {"graph_classes", facts.graph_classes},
          {"renumbered", facts.renumbered},
          {"named", facts.named}};
}

std::string parts_left_out(const Dataset& data, const std::string& path) {
  if (lower_case(path).ends_with(".weft")) return {};
  std::string list;
  const auto add = [&](bool there, const char* what) {
    if (there) list += (list.empty() ? "" : ", ") + std::string(what);
  };
  add(data.has_features(), "features");
  add(static_cast<bool>(data.labels), "labels");
  add(data.train || data.val || data.test, "splits");
  add(static_cast<bool>(data.node_ids), "node ids");
  add(static_cast<bool>(data.node_names), "node names");
  add(static_cast<bool>(data.original), "original numbers");
  add(data.graph_ids || data.graph_labels, "graphs of a collection");
  return list;
}

}  // namespace weft::tool
