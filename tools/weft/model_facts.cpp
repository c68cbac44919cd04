#include "model_facts.hpp"

#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "text.hpp"

namespace weft::tool {
namespace {

/// 0.6f as 0.6, not as 0.6000000238.
double plain(float value) { return std::stod(fmt::format("{}", value)); }

std::int64_t count_of(const Tensor& split) { return split ? split.shape().rows : 0; }

}  // namespace

std::string data_line(const Dataset& dataset) {
  const auto size = [](const Tensor& split) { return split ? grouped(split.shape().rows) : std::string("none"); };
  return fmt::format("{}: {} nodes, {} edges, {} features, {} classes{}; train {}, val {}, test {}", dataset.name,
                     grouped(dataset.num_nodes()), grouped(dataset.graph.num_edges()), grouped(dataset.num_features()),
                     grouped(dataset.classes), dataset.multi_label() ? " (several a node)" : "", size(dataset.train),
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

nlohmann::json spec_json(const ModelSpec& spec) {
  return {{"architecture", name(spec.architecture)},
          {"inputs", spec.inputs},
          {"classes", spec.classes},
          {"layers", spec.layers},
          {"hidden", spec.hidden},
          {"heads", spec.heads},
          {"output_heads", spec.output_heads},
          {"activation", name(spec.activation)},
          {"norm", name(spec.norm)},
          {"residual", spec.residual},
          {"self_loops", spec.self_loops},
          {"degree_norm", name(spec.degree_norm)},
          {"aggregate", name(spec.aggregate)},
          {"learn_eps", spec.learn_eps},
          {"lambda", plain(spec.lambda)},
          {"slope", plain(spec.slope)},
          {"normalise_inputs", spec.normalise_inputs},
          {"dropout", plain(spec.dropout)},
          {"attention_dropout", plain(spec.attention_dropout)}};
}

std::string measure_of(const Dataset& dataset) { return dataset.multi_label() ? "micro-F1" : "accuracy"; }

std::string accuracy_text(double accuracy) { return std::isfinite(accuracy) ? fmt::format("{:.4f}", accuracy) : "-"; }

std::string wrote_line(const std::string& path) {
  std::error_code ignored;
  const auto size = std::filesystem::file_size(path, ignored);
  return fmt::format("wrote    {}{}", path, ignored ? "" : ": " + bytes_text(static_cast<double>(size)));
}

}  // namespace weft::tool
