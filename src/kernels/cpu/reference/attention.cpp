#include <cmath>
#include <limits>
#include <vector>

#include "kernels/cpu/reference/elements.hpp"

namespace weft::reference {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// What gat and gatv2 feed into leaky_relu.
double leaky_argument(const AttentionArgs& args, std::int64_t row, EdgeId k, std::int64_t head, std::int64_t feature) {
  return load(args.src, args.graph.cols[k], head, feature) + load(args.dst, row, head, feature) +
         (args.edge.given() ? load(args.edge, args.graph.edge_id(k), head, feature) : 0);
}

/// The score of stored edge k, its bias included: the bias is added after leaky_relu.
double score_of(const AttentionArgs& args, std::int64_t row, EdgeId k, std::int64_t head) {
  const NodeId u = args.graph.cols[k];
  Sum products;
  double score = 0;
  switch (args.score) {
    case Score::gat: score = leaky_relu(leaky_argument(args, row, k, head, 0), args.slope); break;
    case Score::gatv2:
      for (std::int64_t d = 0; d < args.score_width; ++d)
        products.add(load(args.attn, 0, head, d) * leaky_relu(leaky_argument(args, row, k, head, d), args.slope));
      score = products.value();
      break;
    case Score::dot:
      for (std::int64_t d = 0; d < args.score_width; ++d)
        products.add(load(args.src, u, head, d) * load(args.dst, row, head, d));
      score = args.scale * products.value();
      break;
  }
  if (args.bias.given()) score += load(args.bias, args.graph.edge_id(k), head, 0);
  return score;
}

/// The weight of an edge from what the forward kept; 0 in a row that is masked throughout.
double weight(double score, double row_max, double row_sum) {
  return row_sum == 0 ? 0 : std::exp(score - row_max) / row_sum;
}

/// What dropout makes of a weight.
double kept(const AttentionArgs& args, EdgeId k, std::int64_t head) {
  return args.dropout.given() ? args.dropout.factor(args.graph.edge_id(k), head) : 1.0;
}

}  // namespace

// Rows without edges, and rows whose scores are all -inf, have row_max = -inf, row_sum = 0 and out = 0.
// A NaN or +inf score makes its row NaN.
void attention_forward(const AttentionArgs& args, double* absolute) {
  for (std::int64_t row = 0; row < args.graph.num_rows; ++row) {
    const EdgeId begin = args.graph.offsets[row], end = args.graph.offsets[row + 1];
    for (std::int64_t head = 0; head < args.heads; ++head) {
      std::vector<double> weights(static_cast<std::size_t>(end - begin));
      double row_max = minus_infinity;
      Sum exponentials;
      for (EdgeId k = begin; k < end; ++k) {
        const double score = score_of(args, row, k, head);
        weights[static_cast<std::size_t>(k - begin)] = score;
        if (score > row_max || std::isnan(score)) row_max = score;  // a NaN stays: nothing is above it
      }
      const bool masked = row_max == minus_infinity;
      if (!masked)
        for (const double score : weights) exponentials.add(std::exp(score - row_max));
      const double row_sum = exponentials.value();
      for (EdgeId k = begin; k < end; ++k) {
        double& of_edge = weights[static_cast<std::size_t>(k - begin)];
        of_edge = weight(of_edge, row_max, row_sum) * kept(args, k, head);
      }
      store(args.row_max, row, head, row_max);
      store(args.row_sum, row, head, row_sum);

      for (std::int64_t feature = 0; feature < args.width; ++feature) {
        Sum sum;
        double absolute_sum = 0;
        for (EdgeId k = begin; k < end && !masked; ++k) {
          const double term =
              weights[static_cast<std::size_t>(k - begin)] * load(args.value, args.graph.cols[k], head, feature);
          sum.add(term);
          absolute_sum += std::fabs(term);
        }
        const std::int64_t column = head * args.width + feature;
        store(args.out, row, column, sum.value());
        if (absolute != nullptr) absolute[row * args.heads * args.width + column] = absolute_sum;
      }
    }
  }
}

void attention_edges(const AttentionEdgeArgs& args) {
  const AttentionArgs& forward = args.forward;
  const bool gradients = args.score_grad.data != nullptr || args.bias_grad.data != nullptr;
  for (std::int64_t row = 0; row < forward.graph.num_rows; ++row) {
    for (std::int64_t head = 0; head < forward.heads; ++head) {
      const double row_max = load(forward.row_max, row, head), row_sum = load(forward.row_sum, row, head);
      Sum grad_dot_out;
      for (std::int64_t f = 0; f < forward.width && gradients; ++f)
        grad_dot_out.add(load(args.out_grad, row, head, f) * load(forward.out, row, head * forward.width + f));

      for (EdgeId k = forward.graph.offsets[row]; k < forward.graph.offsets[row + 1]; ++k) {
        const EdgeId edge = forward.graph.edge_id(k);
        const double alpha = weight(score_of(forward, row, k, head), row_max, row_sum);
        store(args.alpha, edge, head, gradients ? alpha * kept(forward, k, head) : alpha);
        if (!gradients) continue;

        Sum grad_dot_value;
        for (std::int64_t f = 0; f < forward.width; ++f)
          grad_dot_value.add(load(args.out_grad, row, head, f) * load(forward.value, forward.graph.cols[k], head, f));
        const double of_score = alpha * (kept(forward, k, head) * grad_dot_value.value() - grad_dot_out.value());
        if (args.bias_grad.data != nullptr) store(args.bias_grad, edge, head, of_score);
        if (args.score_grad.data != nullptr) {
          const bool gat = forward.score == Score::gat;
          const double derivative =
              gat ? leaky_relu_derivative(leaky_argument(forward, row, k, head, 0), forward.slope) : 1;
          store(args.score_grad, edge, head, of_score * derivative);
        }
      }
    }
  }
}

void attention_terms(const AttentionTermArgs& args) {
  const AttentionArgs& forward = args.forward;
  for (std::int64_t row = 0; row < forward.graph.num_rows; ++row)
    for (EdgeId k = forward.graph.offsets[row]; k < forward.graph.offsets[row + 1]; ++k) {
      const EdgeId edge = forward.graph.edge_id(k);
      for (std::int64_t head = 0; head < forward.heads; ++head)
        for (std::int64_t d = 0; d < forward.score_width; ++d)
          store(args.edge_grad, edge, head * forward.score_width + d,
                load(args.score_grad, edge, head, 0) * load(forward.attn, 0, head, d) *
                    leaky_relu_derivative(leaky_argument(forward, row, k, head, d), forward.slope));
    }
}

}  // namespace weft::reference
