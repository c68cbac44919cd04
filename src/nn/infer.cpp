// A trained model over a graph, seen before or not.
#include <algorithm>
#include <cmath>
#include <limits>

#include "core/check.hpp"
#include "core/device.hpp"
#include "core/operator_timer.hpp"
#include "nn/known_nodes.hpp"
#include "nn/label_map.hpp"
#include "nn/sample/edge_blocks.hpp"
#include "nn/trainer.hpp"

namespace weft {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

Tensor without_padding(Tensor scores, std::int64_t classes) {
  const std::int64_t rows = scores.shape().rows, stride = scores.shape().width;
  if (stride == classes) return scores;
  Tensor dense = Tensor::empty(Shape(rows, classes), Dtype::f32, "scores");
  for (std::int64_t r = 0; r < rows; ++r)
    std::copy_n(scores.span<float>().begin() + r * stride, classes, dense.span<float>().begin() + r * classes);
  return dense;
}

Tensor as_floats(const Context& context, const Tensor& values) {
  Tensor host = values.to(Device{}, context.stream());
  if (host.dtype() == Dtype::f32) return host;
  return host.to(Dtype::f32);
}

/// Of one row of scores. Shifted by the largest, so that no exponential overflows.
void softmax(std::span<const float> scores, std::span<float> shares) {
  const float largest = *std::ranges::max_element(scores);
  float sum = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) sum += shares[i] = std::exp(scores[i] - largest);
  for (float& share : shares) share /= sum;
}

/// The exponential is taken of what is not above 0.
float sigmoid(float score) {
  const float small = std::exp(-std::fabs(score));
  return score >= 0 ? 1 / (1 + small) : small / (1 + small);
}

Tensor classes_of(const Tensor& scores, bool several) {
  const std::int64_t rows = scores.shape().rows, classes = scores.shape().width;
  const std::span<const float> values = scores.span<float>();
  if (several) {
    Tensor taken = Tensor::empty(scores.shape(), Dtype::f32, "predictions");
    std::ranges::transform(values, taken.span<float>().begin(), [](float z) { return z > 0 ? 1.0f : 0.0f; });
    return taken;
  }
  Tensor best = Tensor::empty(Shape(rows), Dtype::i32, "predictions");
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = values.subspan(static_cast<std::size_t>(r * classes), static_cast<std::size_t>(classes));
    best.span<std::int32_t>()[static_cast<std::size_t>(r)] =
        static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin());
  }
  return best;
}

/// Micro-F1 over `nodes`; NaN where none has a label. `map` has the model's class of every class of the labels; what
/// the model says of others does not count.
double accuracy_over(const Dataset& dataset, const Tensor& predicted, std::span<const std::int32_t> map,
                     std::span<const NodeId> nodes) {
  nn::SplitSums sums;
  const std::int64_t outputs = predicted.shape().row_size();
  for (const NodeId node : nodes) {
    if (!dataset.multi_label()) {
      const std::int32_t label = dataset.labels.span<std::int32_t>()[node];
      if (label < 0) continue;
      const bool right = predicted.span<std::int32_t>()[node] == map[static_cast<std::size_t>(label)];
      sums.right += right ? 1 : 0;
      sums.wrong += right ? 0 : 1;
      sums.missed += right ? 0 : 1;
      continue;
    }
    for (std::int64_t c = 0; c < dataset.classes; ++c) {
      const float target = dataset.labels.span<float>()[node * dataset.classes + c];
      const bool taken = predicted.span<float>()[node * outputs + map[static_cast<std::size_t>(c)]] > 0;
      const bool wanted = target > 0.5f;
      if (target != target) continue;
      sums.right += taken && wanted ? 1 : 0;
      sums.wrong += taken && !wanted ? 1 : 0;
      sums.missed += !taken && wanted ? 1 : 0;
    }
  }
  return sums.right + sums.wrong + sums.missed > 0 ? sums.accuracy() : unknown;
}

}  // namespace

Predictions infer(Context& context, const Dataset& dataset, const Model& model, Dtype dtype) {
  return infer(context, dataset, model, InferOptions{dtype});
}

Predictions infer(Context& context, const Dataset& dataset, const Model& model, const InferOptions& options) {
  const Dtype dtype = options.dtype;
  validate(model.spec);
  nn::check_fits(dataset, model.spec);
  nn::check_parameters(model);
  nn::check_known_nodes(dataset, model);
  const std::vector<std::int32_t> map = nn::label_map_of(dataset, model);
  WEFT_CHECK(is_floating(dtype), invalid_argument, "dtype is {}: expected f32, f16, bf16 or f64", name(dtype));
  WEFT_CHECK(dtype != Dtype::f64 || context.device().kind == DeviceKind::cpu, unsupported,
             "dtype is f64: models run in it on the cpu device only; use f32, f16 or bf16");
  WEFT_CHECK(!options.embeddings || model.spec.layers > 1, invalid_argument,
             "the model has 1 layer, and embeddings are what a hidden layer gives: expected a model of 2 layers or "
             "more");
  nn::Parameters parameters(context, model, dtype, false, false);
  dense::Gemm gemm(context);
  nn::Slots slots;
  const ModelSpec padded = nn::padded(model.spec, dtype, context.device());
  nn::Build build{context, gemm, parameters, slots, padded, {}, dtype, false, 0, nullptr};
  const nn::ModelGraph graph = nn::graph_for(context, dataset, model.spec, dtype);
  build.graph = graph.graph;
  nn::make_orders(build, static_cast<bool>(dataset.sparse_features), static_cast<bool>(graph.weights));
  std::vector<nn::Block> blocks;
  const auto edges_of = [](const Graph& g) { return static_cast<double>(std::max<std::int64_t>(g.num_edges(), 1)); };
  blocks.push_back(options.edges.width == 0 ? nn::whole_block(context, graph, model.spec, dtype)
                                            : nn::EdgeBlocks(context, graph, model.spec, dtype).block(options.edges));
  Predictions p;
  p.sampling_rate = edges_of(blocks.front().graph) / edges_of(graph.graph);
  const TimedScope timed(context, options.time_operators);
  nn::Inferred inferred =
      nn::Network::infer(build, std::make_shared<const nn::Features>(context, padded, dtype, dataset),
                         std::move(blocks), options.embeddings);
  p.seconds = inferred.seconds;
  p.operators = timed.times();
  p.scores = without_padding(as_floats(context, inferred.logits), model.spec.classes);
  if (inferred.hidden) p.embeddings = as_floats(context, inferred.hidden);
  const bool comparable = !map.empty();
  p.classes = classes_of(p.scores, model.spec.several_labels);
  const auto over = [&](const Tensor& split) {
    return comparable && split ? accuracy_over(dataset, p.classes, map, split.span<NodeId>()) : unknown;
  };
  p.train_accuracy = over(dataset.train);
  p.val_accuracy = over(dataset.val);
  p.test_accuracy = over(dataset.test);
  std::vector<NodeId> all(static_cast<std::size_t>(dataset.num_nodes()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<NodeId>(i);
  p.accuracy = comparable ? accuracy_over(dataset, p.classes, map, all) : unknown;
  return p;
}

Tensor probabilities(const Tensor& scores, bool several_labels) {
  WEFT_CHECK(scores && scores.dtype() == Dtype::f32 && scores.shape().rank == 2, invalid_argument,
             "scores: expected f32 [nodes, classes]");
  WEFT_CHECK(scores.device().kind == DeviceKind::cpu, invalid_argument, "scores are on {}: expected the cpu",
             to_string(scores.device()));
  Tensor shares = Tensor::empty(scores.shape(), Dtype::f32, "probabilities");
  const std::span<const float> from = scores.span<float>();
  const std::span<float> to = shares.span<float>();
  if (several_labels) {
    std::ranges::transform(from, to.begin(), sigmoid);
    return shares;
  }
  const auto classes = static_cast<std::size_t>(scores.shape().width);
  if (classes == 0) return shares;
  for (std::size_t at = 0; at < from.size(); at += classes) softmax(from.subspan(at, classes), to.subspan(at, classes));
  return shares;
}

}  // namespace weft
