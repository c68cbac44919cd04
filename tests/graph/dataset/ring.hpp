// A dataset small enough to write down.
#pragma once

#include <algorithm>
#include <vector>

#include "weft/dataset.hpp"

namespace weft::test {

template <class T>
Tensor tensor(const std::vector<T>& values, Shape shape) {
  Tensor result = Tensor::empty(shape, dtype_of<T>);
  std::ranges::copy(values, result.span<T>().begin());
  return result;
}
template <class T>
Tensor tensor(const std::vector<T>& values) {
  return tensor(values, Shape(static_cast<std::int64_t>(values.size())));
}

/// Four nodes in a ring, with values of edges, sparse features, labels and splits.
inline Dataset ring() {
  Dataset data;
  data.graph = Graph::from_edges(
      4, {.sources = std::vector<NodeId>{0, 1, 2, 3}, .destinations = std::vector<NodeId>{1, 2, 3, 0}});
  data.values = tensor<float>({0.5f, 1, 2, 3});
  data.name = "ring";
  data.sparse_features.cols = 10;
  data.sparse_features.offsets = tensor<std::int64_t>({0, 2, 2, 3, 4});
  data.sparse_features.columns = tensor<std::int32_t>({1, 9, 0, 5});
  data.sparse_features.values = tensor<float>({0.25f, 2, 3, 4});
  data.labels = tensor<std::int32_t>({0, 1, -1, 1});
  data.classes = 3;
  data.train = tensor<std::int32_t>({3, 0});
  data.val = tensor<std::int32_t>({1});
  data.test = tensor<std::int32_t>({2});
  return data;
}

}  // namespace weft::test
