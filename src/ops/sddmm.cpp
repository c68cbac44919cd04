#include "core/expected_runs.hpp"
#include "core/operator_timer.hpp"
#include "kernels/semantics.hpp"
#include "ops/finite.hpp"
#include "ops/sddmm_inputs.hpp"

namespace weft {
namespace {

std::int64_t rows_at(const Graph& graph, Target target) {
  return target == Target::u ? graph.num_cols() : target == Target::v ? graph.num_rows() : graph.num_edges();
}
std::string_view per(Target target) {
  return target == Target::u ? "source node" : target == Target::v ? "destination node" : "edge";
}

}  // namespace

SddmmShape resolve(const Context& context, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
                   const SddmmOptions& options) {
  check_enum(options.op, last_of<SddmmOp>(), "op");
  check_enum(options.lhs, Target::e, "lhs target");
  check_enum(options.rhs, Target::e, "rhs target");
  const bool left = semantics::reads_left(options.op), right = semantics::reads_right(options.op);
  WEFT_CHECK(left || !lhs.given, invalid_argument, "lhs is given, but op {} does not read it: leave it out",
             name(options.op));
  WEFT_CHECK(right || !rhs.given, invalid_argument, "rhs is given, but op {} does not read it: leave it out",
             name(options.op));
  if (left) check_tensor(context, lhs, "lhs", rows_at(graph, options.lhs), per(options.lhs));
  if (right) check_tensor(context, rhs, "rhs", rows_at(graph, options.rhs), per(options.rhs));
  if (left && right) check_dtype(rhs, "rhs", lhs.dtype, "as lhs has");
  SddmmShape r;
  r.operands = left && right ? broadcast(lhs, "lhs", rhs, "rhs") : Features::of((left ? lhs : rhs).shape);
  r.out = r.operands;
  if (options.op == SddmmOp::dot) {
    r.out.width = 1;
    if (r.out.rank == 2) r.out.rank = 1;
  }
  r.desc = {OpKind::sddmm, (left ? lhs : rhs).dtype, r.operands.heads, r.operands.width, Reduce::sum, false};
  const bool of_both_ends =
      (options.lhs == Target::u && options.rhs == Target::v) || (options.lhs == Target::v && options.rhs == Target::u);
  r.desc.fits_windows = options.op == SddmmOp::dot && of_both_ends && lhs.shape.width == rhs.shape.width;
  return r;
}

void sddmm(Context& context, const Plan& plan, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
           TensorView out, const SddmmOptions& options) {
  const TimedOperator timed(context, "sddmm");
  const SddmmShape r = resolve(context, graph, lhs, rhs, options);
  check_plan(context, plan, graph.identity(), r.desc);
  check_tensor(context, out, "out", graph.num_edges(), "edge", r.out);
  check_out_dtype(out, r.desc.dtype);
  check_apart({{out, "out"}}, {{lhs, "lhs"}, {rhs, "rhs"}});
  SddmmArgs args;
  args.graph = graph.view();
  args.op = options.op;
  args.lhs_target = options.lhs;
  args.rhs_target = options.rhs;
  args.heads = r.operands.heads;
  args.width = r.operands.width;
  args.lhs = operand(lhs, r.operands);
  args.rhs = operand(rhs, r.operands);
  args.out = result(out);
  if (context.device().kind == DeviceKind::cuda) {
    cuda::sddmm(args, plan, context.stream());
  } else {
    cpu::sddmm(args, plan, context.arena());
  }
  check_result(context, out, "sddmm");
}

Tensor sddmm(Context& context, const Graph& graph, ConstTensorView lhs, ConstTensorView rhs,
             const SddmmOptions& options) {
  const SddmmShape r = resolve(context, graph, lhs, rhs, options);
  const ExpectedRuns once(context, 1);
  const Plan plan = make_plan(context, graph, r.desc);
  context.reserve(plan.workspace_bytes);
  Tensor out = Tensor::empty(r.out.with_rows(graph.num_edges()), r.desc.dtype, "the output of sddmm", context.device(),
                             context.stream());
  sddmm(context, plan, graph, lhs, rhs, out, options);
  return out;
}

}  // namespace weft
