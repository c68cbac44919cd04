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

inline ModelSpec spec_for(const Dataset& d, Architecture architecture) {
  ModelSpec spec = ModelSpec::of(architecture);
  spec.inputs = d.num_features();
  spec.classes = d.classes;
  spec.normalise_inputs = false;
  return spec;
}

/// The loss of the next step, whose dropout is that of every step with the same number; parameters stay.
inline double training_loss(nn::Trainer& trainer) {
  trainer.forward_and_backward();
  return trainer.training_sums().loss * trainer.loss_weight();
}

}  // namespace weft::test
