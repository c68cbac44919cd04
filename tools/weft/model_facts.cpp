#include "model_facts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "nn/spec_json.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

std::int64_t count_of(const Tensor& split) { return split ? split.shape().rows : 0; }

}  // namespace

std::string data_line(const Dataset& dataset) {
  const auto size = [](const Tensor& split) { return split ? grouped(split.shape().rows) : std::string("none"); };
  return fmt::format("{}: {} nodes, {} edges, {} features, {} classes{}; train {}, val {}, test {}", dataset.name,
                     grouped(dataset.num_nodes()), grouped(dataset.graph.num_edges()), grouped(dataset.num_features()),
                     grouped(dataset.classes), dataset.multi_label() ? " (several per node)" : "", size(dataset.train),
                     size(dataset.val), size(dataset.test));
}

nlohmann::json data_json(const Dataset& dataset, const std::string& source) {
  return {{"source", source},
          {"name", dataset.name},
          {"note", dataset.note},
          {"nodes", dataset.num_nodes()},
          {"edges", dataset.graph.num_edges()},
          {"features", dataset.num_features()},
          {"classes", dataset.classes},
          {"multi_label", dataset.multi_label()},
          {"train", count_of(dataset.train)},
          {"val", count_of(dataset.val)},
          {"test", count_of(dataset.test)}};
}

nlohmann::json spec_json(const ModelSpec& spec) { return nlohmann::json::parse(nn::spec_to_json(spec)); }

std::string measure_of(const Dataset& dataset) { return dataset.multi_label() ? "micro-F1" : "accuracy"; }

std::string accuracy_text(double accuracy) { return std::isfinite(accuracy) ? fmt::format("{:.4f}", accuracy) : "-"; }

std::string wrote_line(const std::string& path) {
  std::error_code ignored;
  const auto size = std::filesystem::file_size(path, ignored);
  return fmt::format("wrote    {}{}", path, ignored ? "" : ": " + bytes_text(static_cast<double>(size)));
}

}  // namespace weft::tool
