// Attention's inputs for tests: random, of any score, on the host or on a device.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "support/values.hpp"
#include "weft/graph.hpp"
#include "weft/ops.hpp"

namespace weft::test {

struct AttentionCase {
  Tensor value, src, dst, attn, edge, bias;
  Score score = Score::gat;
  float slope = 0.2f, scale = 1.0f, dropout = 0.0f;
  std::uint64_t seed = 0;    // of the dropout
  double largest_score = 0;  // bound on the sum of |term| of one score

  AttentionCase() = default;
  /// `depth`: what src and dst have per head, in gat always one value; `bias_dtype`: none where there is no bias.
  AttentionCase(const Graph& graph, Score kind, Dtype dtype, std::int64_t heads, std::int64_t width, std::int64_t depth,
                std::optional<Dtype> bias_dtype, std::uint64_t random)
      : score(kind) {
    if (kind == Score::gat) depth = 1;
    value = random_tensor(Shape(graph.num_cols(), heads, width), dtype, random + 1);
    src = random_tensor(Shape(graph.num_cols(), heads, depth), dtype, random + 2);
    dst = random_tensor(Shape(graph.num_rows(), heads, depth), dtype, random + 3);
    if (kind == Score::gatv2) attn = random_tensor(Shape(1, heads, depth), dtype, random + 4, -1, 1);
    if (bias_dtype) bias = random_tensor(Shape(graph.num_edges(), heads, 1), *bias_dtype, random + 5);
    const auto terms = static_cast<double>(depth);
    if (kind == Score::dot) scale = 1 / static_cast<float>(std::sqrt(terms));
    // Values lie in [-2, 2], attn in [-1, 1].
    largest_score = bias_dtype ? 2 : 0;
    largest_score += kind == Score::gat ? 4 : kind == Score::gatv2 ? 4 * terms : 4 * std::sqrt(terms);
  }

  /// Gives every edge a term in leaky_relu, which dot has none of.
  void add_edges(std::int64_t edges, std::uint64_t random) {
    const Shape& of = src.shape();
    edge = random_tensor(Shape(edges, of.heads, of.width), value.dtype(), random);
    largest_score += score == Score::gat ? 2 : 2 * static_cast<double>(of.width);
  }

  AttentionInputs views() const {
    AttentionInputs inputs;
    inputs.score = score;
    inputs.value = value;
    inputs.src = src;
    inputs.dst = dst;
    if (attn) inputs.attn = attn;
    if (edge) inputs.edge = edge;
    if (bias) inputs.bias = bias;
    inputs.slope = slope;
    inputs.scale = scale;
    inputs.dropout = dropout;
    inputs.seed = seed;
    return inputs;
  }
  /// The same elsewhere, or of another type.
  template <class Where>
  AttentionCase to(const Where& where) const {
    AttentionCase other;
    other.value = value.to(where);
    other.src = src.to(where);
    other.dst = dst.to(where);
    if (attn) other.attn = attn.to(where);
    if (edge) other.edge = edge.to(where);
    if (bias) other.bias = bias.to(where);
    other.score = score;
    other.slope = slope;
    other.scale = scale;
    other.dropout = dropout;
    other.seed = seed;
    other.largest_score = largest_score;
    return other;
  }
};

}  // namespace weft::test
