#include "nn/targets.hpp"

#include <algorithm>
#include <cmath>

#include "core/check.hpp"

namespace weft::nn {

void check_fits(const Dataset& dataset, const ModelSpec& spec) {
  try {
    validate(dataset);
  } catch (const Error& error) {  // it was no file that was given
    if (error.code() != ErrorCode::invalid_file) throw;
    fail(ErrorCode::invalid_argument, "the dataset {} is not whole: {}", dataset.name, error.what());
  }
  WEFT_CHECK(dataset.graph.is_square(), invalid_argument,
             "the graph has {} rows and {} columns: models take graphs of one set of nodes", dataset.graph.num_rows(),
             dataset.graph.num_cols());
  WEFT_CHECK(dataset.has_features(), invalid_argument,
             "the dataset {} has no features: models take one vector per node; see weft info for what a dataset holds",
             dataset.name);
  WEFT_CHECK(dataset.num_features() == spec.inputs, invalid_argument,
             "the dataset {} has {} features per node and the model takes {}: expected as many", dataset.name,
             dataset.num_features(), spec.inputs);
}

std::vector<NodeId> learned_nodes(const Dataset& dataset) {
  std::vector<NodeId> nodes;
  for (const NodeId node : dataset.train.span<NodeId>())
    if (dataset.multi_label() || dataset.labels.span<std::int32_t>()[static_cast<std::size_t>(node)] >= 0)
      nodes.push_back(node);
  return nodes;
}

Targets::Targets(const Context& context, const Dataset& dataset, std::int64_t classes)
    : rows_(dataset.num_nodes()), classes_(classes) {
  WEFT_CHECK(dataset.labels, invalid_argument, "the dataset {} has no labels: there is nothing to learn", dataset.name);
  WEFT_CHECK(dataset.classes == classes, invalid_argument,
             "the dataset {} has {} classes and the model gives {}: expected as many", dataset.name, dataset.classes,
             classes);
  const Device device = context.device();
  Tensor splits = Tensor::zeros(Shape((rows_ + 3) / 4), Dtype::i32, "splits");  // a byte per node
  auto* const split = static_cast<std::uint8_t*>(splits.view().mutable_data());
  const Tensor* const parts[] = {&dataset.train, &dataset.val, &dataset.test};
  const bool several = dataset.multi_label();
  const auto labelled = [&](NodeId node) { return several || dataset.labels.span<std::int32_t>()[node] >= 0; };
  const auto known_of = [&](NodeId node) {
    const std::span<const float> row = dataset.labels.span<float>().subspan(static_cast<std::size_t>(node * classes),
                                                                            static_cast<std::size_t>(classes));
    return std::ranges::count_if(row, [](float target) { return target == target; });
  };
  for (int s = 0; s < num_splits; ++s) {
    if (!*parts[s]) continue;
    for (const NodeId node : parts[s]->span<NodeId>()) {
      split[node] = static_cast<std::uint8_t>(s + 1);
      counts_[s] += labelled(node) ? 1 : 0;
      losses_[s] += several ? known_of(node) : labelled(node) ? 1 : 0;
    }
  }
  if (several) {
    targets_ = dataset.labels.to(device, context.stream());
  } else {
    labels_ = dataset.labels.to(device, context.stream());
  }
  splits_ = splits.to(device, context.stream());
  WEFT_CHECK(
      dataset.train, invalid_argument,
      "the dataset {} has labels, but no training split: expected nodes to train on, such as the arrays train_idx "
      "or train_mask of an .npz",
      dataset.name);
  WEFT_CHECK(counts_[0] > 0, invalid_argument,
             "the dataset {} has no labelled nodes in its training split: there is nothing to learn from",
             dataset.name);
}

double Targets::weight_of(int split) const { return losses_[split] > 0 ? 1 / static_cast<double>(losses_[split]) : 0; }

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
