#include "nn/targets.hpp"

#include <cmath>

#include "core/check.hpp"

namespace weft::nn {

void check_fits(const Dataset& dataset, const ModelSpec& spec) {
  WEFT_CHECK(dataset.graph.is_square(), invalid_argument,
             "the graph has {} rows and {} columns: models take graphs of one set of nodes", dataset.graph.num_rows(),
             dataset.graph.num_cols());
  WEFT_CHECK(dataset.has_features(), invalid_argument,
             "the dataset {} has no features: models take one vector a node; see weft info for what a dataset holds",
             dataset.name);
  WEFT_CHECK(dataset.num_features() == spec.inputs, invalid_argument,
             "the dataset {} has {} features a node and the model takes {}: expected as many", dataset.name,
             dataset.num_features(), spec.inputs);
}

Targets::Targets(const Context& context, const Dataset& dataset, std::int64_t classes, bool trains)
    : rows_(dataset.num_nodes()), classes_(classes) {
  WEFT_CHECK(!trains || dataset.labels, invalid_argument, "the dataset {} has no labels: there is nothing to learn",
             dataset.name);
  WEFT_CHECK(!trains || dataset.classes == classes, invalid_argument,
             "the dataset {} has {} classes and the model gives {}: expected as many", dataset.name, dataset.classes,
             classes);
  if (!dataset.labels || dataset.classes != classes) return;
  const Device device = context.device();
  const auto nodes = static_cast<std::size_t>(rows_);
  Tensor splits = Tensor::zeros(Shape((rows_ + 3) / 4), Dtype::i32, "splits");  // a byte a node
  auto* const split = static_cast<std::uint8_t*>(splits.view().mutable_data());
  const Tensor* const parts[] = {&dataset.train, &dataset.val, &dataset.test};
  const bool several = dataset.multi_label();
  const auto labelled = [&](NodeId node) { return several || dataset.labels.span<std::int32_t>()[node] >= 0; };
  for (int s = 0; s < num_splits; ++s) {
    if (!*parts[s]) continue;
    for (const NodeId node : parts[s]->span<NodeId>()) {
      WEFT_CHECK(node >= 0 && static_cast<std::size_t>(node) < nodes, invalid_argument,
                 "a split holds node {}: expected 0 to {}", node, rows_ - 1);
      split[node] = static_cast<std::uint8_t>(s + 1);
      counts_[s] += labelled(node) ? 1 : 0;
    }
  }
  if (several) {
    targets_ = dataset.labels.to(device, context.stream());
  } else {
    const std::span<const std::int32_t> labels = dataset.labels.span<std::int32_t>();
    for (std::size_t node = 0; node < labels.size(); ++node)
      WEFT_CHECK(labels[node] >= -1 && labels[node] < classes, invalid_argument,
                 "node {} has label {}: expected 0 to {}, or -1 for none", node, labels[node], classes - 1);
    labels_ = dataset.labels.to(device, context.stream());
  }
  splits_ = splits.to(device, context.stream());
  WEFT_CHECK(!trains || counts_[0] > 0, invalid_argument,
             "the dataset {} has no labelled nodes in its training split: there is nothing to learn from",
             dataset.name);
}

double Targets::weight_of(int split) const {
  const double losses = static_cast<double>(counts_[split]) * (targets_ ? static_cast<double>(classes_) : 1);
  return losses > 0 ? 1 / losses : 0;
}

LossArgs Targets::args(Dtype dtype) const {
  LossArgs args;
  args.dtype = dtype;
  args.rows = rows_;
  args.classes = classes_;
  if (labels_) args.labels = labels_.view().as<std::int32_t>();
  if (targets_) args.targets = targets_.view().as<float>();
  args.split = static_cast<const std::uint8_t*>(splits_.view().data);
  args.weight = weight_of(0);
  return args;
}

}  // namespace weft::nn
