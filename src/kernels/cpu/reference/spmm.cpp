#include <cmath>

#include "kernels/cpu/reference/elements.hpp"
#include "kernels/semantics.hpp"

namespace weft::reference {
namespace {

/// One message; an operand that the op does not use is never read.
double message(const SpmmArgs& args, NodeId u, EdgeId edge, std::int64_t head, std::int64_t feature) {
  return semantics::with_meaning(args.op, [&](auto meaning) {
    using Formula = typename decltype(meaning)::Value;
    return Formula::of(Formula::reads_left ? load(args.x, u, head, feature) : 0.0,
                       Formula::reads_right ? load(args.edge, edge, head, feature) : 0.0);
  });
}

struct Reduced {
  double value = 0;
  double absolute = 0;  // sum of |term|; for max and min the one term that is left
  NodeId arg_u = -1;
  EdgeId arg_e = -1;
};

Reduced reduce_row(const SpmmArgs& args, std::int64_t row, std::int64_t head, std::int64_t feature) {
  const EdgeId begin = args.graph.offsets[row], end = args.graph.offsets[row + 1];
  const bool extremum = is_extremum(args.reduce);
  const double orientation = semantics::negates_messages(args.reduce) ? -1 : 1;
  Reduced result;
  Sum sum;
  for (EdgeId k = begin; k < end; ++k) {
    const NodeId u = args.graph.cols[k];
    const EdgeId edge = args.graph.edge_id(k);
    double term = message(args, u, edge, head, feature);
    if (args.col_scale.given()) term *= load(args.col_scale, u, 0, 0);
    if (!extremum) {
      sum.add(term);
      result.absolute += std::fabs(term);
    } else if (k == begin || semantics::replaces(orientation * term, orientation * result.value)) {
      result = {term, std::fabs(term), u, edge};
    }
  }
  if (!extremum) result.value = sum.value();
  if (semantics::divides_by_edges(args.reduce) && end > begin) {
    result.value /= static_cast<double>(end - begin);
    result.absolute /= static_cast<double>(end - begin);
  }
  return result;
}

}  // namespace

void spmm(const SpmmArgs& args, double* absolute) {
  const std::int64_t row_size = args.heads * args.width;
  for (std::int64_t row = 0; row < args.graph.num_rows; ++row) {
    for (std::int64_t head = 0; head < args.heads; ++head) {
      for (std::int64_t feature = 0; feature < args.width; ++feature) {
        Reduced reduced = reduce_row(args, row, head, feature);
        if (args.row_scale.given()) {
          const double scale = load(args.row_scale, row, 0, 0);
          reduced.value *= scale;
          reduced.absolute *= std::fabs(scale);
        }
        if (args.self_scale.given()) {
          const double own = load(args.self_scale, row, 0, 0) * load(args.x, row, head, feature);
          reduced.value += own;
          reduced.absolute += std::fabs(own);
        }
        if (args.bias.given()) {
          const double bias = load(args.bias, 0, head, feature);
          reduced.value += bias;
          reduced.absolute += std::fabs(bias);
        }
        if (args.relu && reduced.value < 0) reduced.value = 0;  // NaN passes on

        const std::int64_t column = head * args.width + feature;
        store(args.out, row, column, reduced.value);
        if (args.arg_u != nullptr) args.arg_u[row * row_size + column] = reduced.arg_u;
        if (args.arg_e != nullptr) args.arg_e[row * row_size + column] = reduced.arg_e;
        if (absolute != nullptr) absolute[row * row_size + column] = reduced.absolute;
      }
    }
  }
}

}  // namespace weft::reference
