#include "synthetic.hpp"

#include "core/mix.hpp"
#include "core/parallel.hpp"

namespace weft::tool {

void make_up(Dataset& dataset, std::int64_t features, std::int64_t classes) {
  const std::int64_t nodes = dataset.num_nodes();
  dataset.sparse_features = {};
  dataset.class_names = {};
  dataset.features = Tensor::empty(Shape(nodes, features), Dtype::f32, "random features");
  dataset.labels = Tensor::empty(Shape(nodes), Dtype::i32, "random labels");
  dataset.train = Tensor::empty(Shape(nodes), Dtype::i32, "the training split");
  dataset.val = {};
  dataset.test = {};
  dataset.classes = classes;
  float* const x = dataset.features.span<float>().data();
  std::int32_t* const labels = dataset.labels.span<std::int32_t>().data();
  std::int32_t* const train = dataset.train.span<std::int32_t>().data();
  parallel_ranges(default_threads(), nodes, 256, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) {
      for (std::int64_t i = n * features; i < (n + 1) * features; ++i)
        x[i] = static_cast<float>(mix(static_cast<std::uint64_t>(i)) >> 40) * 0x1p-24f - 0.5f;
      labels[n] = static_cast<std::int32_t>(mix(~static_cast<std::uint64_t>(n)) % static_cast<std::uint64_t>(classes));
      train[n] = static_cast<std::int32_t>(n);
    }
  });
}

}  // namespace weft::tool
