// Small models over small graphs for tests, in f64 where gradients are compared with differences.
#pragma once

#include <vector>

#include "nn/trainer.hpp"
#include "support/values.hpp"
#include "weft/generate.hpp"
#include "weft/nn.hpp"

namespace weft::test {

/// A graph of skewed degrees with features, labels and splits drawn at random.
inline Dataset small_dataset(std::int64_t nodes, std::int64_t features, std::int64_t classes, bool sparse,
                             bool several_labels, std::uint64_t seed) {
  Dataset d;
  PowerlawSpec spec;
  spec.nodes = nodes;
  spec.edges = 4 * nodes;
  spec.seed = seed;
  d.graph = generate(spec);
  d.name = "small";
  Tensor x = random_tensor(Shape(nodes, features), Dtype::f32, seed + 1);
  const std::span<float> values = x.span<float>();
  if (sparse) {
    std::vector<EdgeId> offsets{0};
    std::vector<NodeId> columns;
    std::vector<float> kept;
    for (std::int64_t n = 0; n < nodes; ++n) {
      for (std::int64_t f = 0; f < features; ++f)
        if ((n * 7 + f * 3) % 4 == 0) {
          columns.push_back(static_cast<NodeId>(f));
          kept.push_back(values[static_cast<std::size_t>(n * features + f)]);
        }
      offsets.push_back(static_cast<EdgeId>(columns.size()));
    }
    const auto copied = [](const auto& list, Dtype dtype) {
      Tensor t = Tensor::empty(Shape(static_cast<std::int64_t>(list.size())), dtype);
      std::copy(list.begin(), list.end(),
                static_cast<typename std::decay_t<decltype(list)>::value_type*>(t.view().mutable_data()));
      return t;
    };
    d.sparse_features.cols = features;
    d.sparse_features.offsets = copied(offsets, Dtype::i64);
    d.sparse_features.columns = copied(columns, Dtype::i32);
    d.sparse_features.values = copied(kept, Dtype::f32);
  } else {
    d.features = std::move(x);
  }
  d.classes = classes;
  if (several_labels) {
    d.labels = Tensor::empty(Shape(nodes, classes), Dtype::f32);
    for (std::int64_t i = 0; i < nodes * classes; ++i)
      d.labels.span<float>()[static_cast<std::size_t>(i)] = (i * 5 + i / 3) % 3 == 0 ? 1.0f : 0.0f;
  } else {
    d.labels = Tensor::empty(Shape(nodes), Dtype::i32);
    for (std::int64_t n = 0; n < nodes; ++n)
      d.labels.span<std::int32_t>()[static_cast<std::size_t>(n)] =
          static_cast<std::int32_t>((n * 11 + n / 2) % classes);
  }
  const auto every = [&](std::int64_t first) {
    std::vector<NodeId> nodes_of;
    for (std::int64_t n = first; n < nodes; n += 3) nodes_of.push_back(static_cast<NodeId>(n));
    Tensor t = Tensor::empty(Shape(static_cast<std::int64_t>(nodes_of.size())), Dtype::i32);
    std::copy(nodes_of.begin(), nodes_of.end(), t.span<std::int32_t>().begin());
    return t;
  };
  d.train = every(0);
  d.val = every(1);
  d.test = every(2);
  return d;
}

/// Gives every edge a weight from [0.25, 2.25).
inline void add_edge_weights(Dataset& dataset, std::uint64_t seed) {
  dataset.values = random_tensor(Shape(dataset.graph.num_edges()), Dtype::f32, seed, 0.25, 2.25);
}

inline ModelSpec spec_for(const Dataset& d, Architecture architecture) {
  ModelSpec spec = ModelSpec::of(architecture);
  spec.inputs = d.num_features();
  spec.classes = d.classes;
  spec.normalise_inputs = false;
  return spec;
}

/// Every layer in every way it can go.
struct GradientCase {
  std::string name;
  Architecture architecture;
  bool sparse = false, several_labels = false;
  void (*change)(ModelSpec&) = [](ModelSpec&) {};

  ModelSpec spec(const Dataset& dataset) const {
    ModelSpec spec = spec_for(dataset, architecture);
    spec.hidden = 5;
    if (nn::attends(architecture)) spec.hidden = 3, spec.heads = 2, spec.output_heads = 2;
    change(spec);
    return spec;
  }
};
inline std::vector<GradientCase> gradient_cases() {
  return {
      GradientCase{"gcn", Architecture::gcn},
      GradientCase{"gcn_of_sparse_features", Architecture::gcn, true},
      GradientCase{"gcn_of_several_labels", Architecture::gcn, false, true},
      GradientCase{"gcn_summing_first", Architecture::gcn, false, false, [](ModelSpec& s) { s.hidden = 12; }},
      GradientCase{"gcn_of_three_layers_with_elu", Architecture::gcn, false, false,
                   [](ModelSpec& s) { s.layers = 3, s.activation = Activation::elu; }},
      GradientCase{"gcn_divided_left", Architecture::gcn, false, false,
                   [](ModelSpec& s) { s.degree_norm = DegreeNorm::left; }},
      GradientCase{"gcn_divided_right", Architecture::gcn, false, false,
                   [](ModelSpec& s) { s.degree_norm = DegreeNorm::right; }},
      GradientCase{"gcn_undivided_without_self_loops", Architecture::gcn, false, false,
                   [](ModelSpec& s) { s.degree_norm = DegreeNorm::none, s.self_loops = false, s.dropout = 0; }},
      GradientCase{"gcn_with_batch_norm", Architecture::gcn, false, false,
                   [](ModelSpec& s) { s.norm = LayerNorm::batch, s.layers = 3; }},
      GradientCase{"gcn_with_layer_norm", Architecture::gcn, false, false,
                   [](ModelSpec& s) { s.norm = LayerNorm::layer, s.layers = 3, s.activation = Activation::elu; }},
      GradientCase{"gcn_with_residuals", Architecture::gcn, false, false,
                   [](ModelSpec& s) { s.residual = true, s.layers = 3; }},
      GradientCase{"sage_of_sparse_features_with_residuals_and_batch_norm", Architecture::sage, true, false,
                   [](ModelSpec& s) { s.residual = true, s.norm = LayerNorm::batch, s.layers = 3; }},
      GradientCase{"gat_with_residuals_and_layer_norm", Architecture::gat, false, false,
                   [](ModelSpec& s) { s.residual = true, s.norm = LayerNorm::layer, s.layers = 3; }},
      GradientCase{"gcn_with_sparse_features_added_to_a_layer_as_wide", Architecture::gcn, true, false,
                   [](ModelSpec& s) { s.residual = true, s.hidden = s.inputs; }},
      GradientCase{"gin_with_lambda_summing_first", Architecture::gin, false, false,
                   [](ModelSpec& s) { s.lambda = 0.5f, s.hidden = 14, s.layers = 3; }},
      GradientCase{"sage", Architecture::sage},
      GradientCase{"sage_of_sparse_features", Architecture::sage, true},
      GradientCase{"sage_of_sums", Architecture::sage, false, false, [](ModelSpec& s) { s.aggregate = Reduce::sum; }},
      GradientCase{"sage_of_maxima", Architecture::sage, false, false,
                   [](ModelSpec& s) { s.aggregate = Reduce::max, s.layers = 3; }},
      GradientCase{"sage_of_maxima_of_sparse_features", Architecture::sage, true, false,
                   [](ModelSpec& s) { s.aggregate = Reduce::max; }},
      GradientCase{"sage_summing_first", Architecture::sage, false, false,
                   [](ModelSpec& s) { s.hidden = 12, s.layers = 3; }},
      GradientCase{"gin", Architecture::gin},
      GradientCase{"gin_of_sparse_features", Architecture::gin, true},
      GradientCase{"gin_with_lambda", Architecture::gin, false, false, [](ModelSpec& s) { s.lambda = 0.1f; }},
      GradientCase{"gin_with_fixed_eps", Architecture::gin, false, false,
                   [](ModelSpec& s) { s.learn_eps = false, s.layers = 3; }},
      GradientCase{"gin_summing_first", Architecture::gin, false, false, [](ModelSpec& s) { s.hidden = 14; }},
      GradientCase{"gat", Architecture::gat},
      GradientCase{"gat_of_sparse_features", Architecture::gat, true},
      GradientCase{"gat_of_three_layers_and_one_head", Architecture::gat, false, false,
                   [](ModelSpec& s) { s.layers = 3, s.heads = s.output_heads = 1; }},
      GradientCase{"gat_of_whole_packs_with_elu", Architecture::gat, false, false,
                   [](ModelSpec& s) { s.layers = 3, s.hidden = 8, s.activation = Activation::elu; }},
      GradientCase{"gcn_of_whole_cache_lines_with_elu", Architecture::gcn, false, false,
                   [](ModelSpec& s) { s.layers = 3, s.hidden = 16, s.activation = Activation::elu; }},
      GradientCase{"gat_of_mean_heads_with_elu", Architecture::gat, false, false,
                   [](ModelSpec& s) { s.layers = 3, s.mean_heads = true, s.activation = Activation::elu; }},
      GradientCase{"gatv2_of_mean_heads_with_residuals_and_batch_norm", Architecture::gatv2, false, false,
                   [](ModelSpec& s) { s.layers = 3, s.mean_heads = s.residual = true, s.norm = LayerNorm::batch; }},
      GradientCase{"gatv2", Architecture::gatv2},
      GradientCase{"gatv2_of_sparse_features", Architecture::gatv2, true}};
}

/// Those whose layers take edge weights.
inline std::vector<GradientCase> weighted_cases() {
  std::vector<GradientCase> cases = gradient_cases();
  std::erase_if(cases, [](const GradientCase& c) { return nn::attends(c.architecture); });
  return cases;
}

inline std::vector<double> losses_of(const TrainResult& result) {
  std::vector<double> losses;
  for (const EpochFigures& f : result.epochs) losses.push_back(f.loss);
  return losses;
}

inline SampleOptions sampling(Sampling method, std::int64_t batch) {
  SampleOptions options;
  options.method = method;
  options.batch = batch;
  return options;
}

/// The loss of the next step, whose dropout is that of every step with the same number; parameters stay.
inline double training_loss(nn::Trainer& trainer) {
  trainer.forward_and_backward();
  return trainer.training_sums().loss * trainer.loss_weight();
}

}  // namespace weft::test
