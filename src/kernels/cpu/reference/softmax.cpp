#include <cmath>
#include <limits>

#include "kernels/cpu/reference/elements.hpp"

namespace weft::reference {

// A row with a NaN or +inf score is NaN throughout (inf - inf), as in every framework; -inf masks an
// edge, and a row with nothing but masked edges is 0.
void softmax_forward(const SoftmaxArgs& args) {
  for (std::int64_t row = 0; row < args.graph.num_rows; ++row) {
    const EdgeId begin = args.graph.offsets[row], end = args.graph.offsets[row + 1];
    for (std::int64_t head = 0; head < args.heads; ++head) {
      const auto score = [&](EdgeId k) { return load(args.scores, args.graph.edge_id(k), head, 0); };
      double largest = -std::numeric_limits<double>::infinity();
      for (EdgeId k = begin; k < end; ++k)
        if (score(k) > largest || std::isnan(score(k))) largest = score(k);  // a NaN stays: nothing is above it
      const bool masked = std::isinf(largest) && largest < 0;
      Sum sum;
      for (EdgeId k = begin; k < end && !masked; ++k) sum.add(std::exp(score(k) - largest));
      for (EdgeId k = begin; k < end; ++k)
        store(args.out, args.graph.edge_id(k), head, masked ? 0 : std::exp(score(k) - largest) / sum.value());
    }
  }
}

void softmax_backward(const SoftmaxArgs& args) {
  for (std::int64_t row = 0; row < args.graph.num_rows; ++row) {
    const EdgeId begin = args.graph.offsets[row], end = args.graph.offsets[row + 1];
    for (std::int64_t head = 0; head < args.heads; ++head) {
      const auto alpha = [&](EdgeId k) { return load(args.scores, args.graph.edge_id(k), head, 0); };
      const auto grad = [&](EdgeId k) { return load(args.grad, args.graph.edge_id(k), head, 0); };
      Sum sum;
      for (EdgeId k = begin; k < end; ++k) sum.add(alpha(k) * grad(k));
      for (EdgeId k = begin; k < end; ++k)
        store(args.out, args.graph.edge_id(k), head, alpha(k) * (grad(k) - sum.value()));
    }
  }
}

}  // namespace weft::reference
