#include <cmath>

#include "kernels/cpu/reference/elements.hpp"

namespace weft::reference {

void leaky_sum(const LeakyArgs& args, double* absolute) {
  const std::int64_t row_size = args.heads * args.width;
  const auto slope = static_cast<double>(args.slope);
  for (std::int64_t row = 0; row < args.graph.num_rows; ++row) {
    for (std::int64_t head = 0; head < args.heads; ++head) {
      for (std::int64_t feature = 0; feature < args.width; ++feature) {
        Sum sum;
        double absolute_sum = 0;
        for (EdgeId k = args.graph.offsets[row]; k < args.graph.offsets[row + 1]; ++k) {
          const EdgeId id = args.graph.edge_id(k);
          const double z = load(args.col, args.graph.cols[k], head, feature) + load(args.row, row, head, feature) +
                           (args.edge.given() ? load(args.edge, id, head, feature) : 0);
          const double factor = args.derivative ? load(args.attn, 0, head, feature) * leaky_relu_derivative(z, slope)
                                                : leaky_relu(z, slope);
          const double term = load(args.factor, id, head, 0) * factor;
          sum.add(term);
          absolute_sum += std::fabs(term);
        }
        const std::int64_t column = head * args.width + feature;
        store(args.out, row, column, sum.value());
        if (absolute != nullptr) absolute[row * row_size + column] = absolute_sum;
      }
    }
  }
}

}  // namespace weft::reference
