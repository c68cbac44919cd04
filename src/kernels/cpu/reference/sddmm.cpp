#include <cmath>

#include "kernels/cpu/reference/elements.hpp"
#include "kernels/semantics.hpp"

namespace weft::reference {
namespace {

std::int64_t place(Target target, NodeId u, std::int64_t v, EdgeId edge) {
  switch (target) {
    case Target::u: return u;
    case Target::v: return v;
    case Target::e: return edge;
  }
  fail(ErrorCode::internal, "sddmm target {} has no meaning", static_cast<int>(target));
}

/// One term; an operand that the op does not use is never read.
double term(const SddmmArgs& args, std::int64_t left, std::int64_t right, std::int64_t head, std::int64_t feature) {
  return semantics::with_meaning(args.op, [&](auto meaning) {
    using Formula = typename decltype(meaning)::Value;
    return Formula::of(Formula::reads_left ? load(args.lhs, left, head, feature) : 0.0,
                       Formula::reads_right ? load(args.rhs, right, head, feature) : 0.0);
  });
}

}  // namespace

void sddmm(const SddmmArgs& args, double* absolute) {
  const bool dot = args.op == SddmmOp::dot;
  const std::int64_t row_size = dot ? args.heads : args.heads * args.width;
  const auto write = [&](EdgeId edge, std::int64_t column, double value, double magnitude) {
    store(args.out, edge, column, value);
    if (absolute != nullptr) absolute[edge * row_size + column] = magnitude;
  };
  for (std::int64_t row = 0; row < args.graph.num_rows; ++row) {
    for (EdgeId k = args.graph.offsets[row]; k < args.graph.offsets[row + 1]; ++k) {
      const NodeId u = args.graph.cols[k];
      const EdgeId edge = args.graph.edge_id(k);
      const std::int64_t left = place(args.lhs_target, u, row, edge), right = place(args.rhs_target, u, row, edge);
      for (std::int64_t head = 0; head < args.heads; ++head) {
        Sum sum;
        double absolute_sum = 0;
        for (std::int64_t feature = 0; feature < args.width; ++feature) {
          const double value = term(args, left, right, head, feature);
          sum.add(value);
          absolute_sum += std::fabs(value);
          if (!dot) write(edge, head * args.width + feature, value, std::fabs(value));
        }
        if (dot) write(edge, head, sum.value(), absolute_sum);
      }
    }
  }
}

}  // namespace weft::reference
