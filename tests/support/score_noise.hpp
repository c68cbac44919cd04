// What halves do to the gradients of attention's scores, for tests.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "support/values.hpp"
#include "weft/graph.hpp"

namespace weft::test {

/// What gradients of scores may be off by since `out` was rounded to its storage type: a row's mean gradient of weights
/// comes from it, and each edge has a share of that error as large as its weight. One value per row and head for dst,
/// one an edge and head for bias, and one per source and head for src.
struct ScoreNoise {
  std::vector<double> dst, bias, src;

  ScoreNoise(const Graph& graph, Dtype dtype, const Tensor& out, const Tensor& out_grad, const Tensor& weights)
      : dst(static_cast<std::size_t>(graph.num_rows() * out.shape().heads)),
        bias(static_cast<std::size_t>(graph.num_edges() * out.shape().heads)),
        src(static_cast<std::size_t>(graph.num_cols() * out.shape().heads)) {
    const double unit = dtype == Dtype::f16 ? 0x1p-11 : dtype == Dtype::bf16 ? 0x1p-9 : 0;
    const auto heads = static_cast<std::size_t>(out.shape().heads), width = static_cast<std::size_t>(out.shape().width);
    const std::vector<double> o = doubles(out), g = doubles(out_grad), w = doubles(weights);
    for (std::size_t i = 0; i < dst.size() * width; ++i) dst[i / width] += unit * std::fabs(o[i] * g[i]);
    for (std::size_t v = 0; v < static_cast<std::size_t>(graph.num_rows()); ++v)
      for (EdgeId k = graph.offsets()[v]; k < graph.offsets()[v + 1]; ++k) {
        const auto id =
            static_cast<std::size_t>(graph.has_edge_ids() ? graph.edge_ids()[static_cast<std::size_t>(k)] : k);
        const auto u = static_cast<std::size_t>(graph.cols()[static_cast<std::size_t>(k)]);
        for (std::size_t h = 0; h < heads; ++h) {
          bias[id * heads + h] = w[id * heads + h] * dst[v * heads + h];
          src[u * heads + h] += bias[id * heads + h];
        }
      }
  }
};

}  // namespace weft::test
