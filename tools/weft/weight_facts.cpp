#include "weight_facts.hpp"

#include <fmt/format.h>

#include "nn/edge_weights.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

std::string edge_values(const Dataset& dataset, std::string_view what) {
  return fmt::format("edge values are {} ({})", what, values_text(dataset.values.dtype(), range_of(dataset.values)));
}

}  // namespace

std::string values_text(Dtype dtype, const ValueRange& range) {
  std::string text{name(dtype)};
  if (range.any) text += fmt::format(", {} to {}", short_number(range.min), short_number(range.max));
  if (range.not_finite > 0) text += fmt::format(", {} not finite", grouped(range.not_finite));
  return text;
}

std::string training_weights(const Dataset& dataset, bool ignored) {
  if (!dataset.values) return ignored ? "the data has no edge values that --ignore-weights could leave out" : "";
  if (ignored) return edge_values(dataset, "ignored");
  if (!nn::has_edge_weights(dataset)) return "edge values are all 1, which is the same as none";
  return edge_values(dataset, "used");
}

std::string inference_weights(const Dataset& dataset, const ModelSpec& trained, bool ignored) {
  if (ignored) return training_weights(dataset, true);
  const bool weighted = nn::has_edge_weights(dataset);
  if (trained.edge_weights && weighted) return edge_values(dataset, "used");
  if (trained.edge_weights) return "the model was trained with edge weights, the data has none: every edge counts as 1";
  if (weighted) return edge_values(dataset, "not used") + ": the model was trained without";
  return "";
}

}  // namespace weft::tool
