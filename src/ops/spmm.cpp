#include "core/expected_runs.hpp"
#include "core/operator_timer.hpp"
#include "ops/finite.hpp"
#include "ops/spmm_inputs.hpp"
#include "plan/plan_view.hpp"

namespace weft {

SpmmShape resolve(const Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
                  const SpmmOptions& options, OpKind kind) {
  check_enum(options.op, last_of<SpmmOp>(), "op");
  check_enum(options.reduce, last_of<Reduce>(), "reduce");
  const bool node = uses_node(options.op), on_edge = uses_edge(options.op);
  WEFT_CHECK(on_edge || !edge.given, invalid_argument,
             "edge is given, but op {} does not read edge values: leave it out or choose another op", name(options.op));
  WEFT_CHECK(node || !x.given, invalid_argument,
             "x is given, but op {} does not read node features: leave it out or choose another op", name(options.op));
  if (node) check_tensor(context, x, "x", graph.num_cols(), "source node");
  if (on_edge) {
    WEFT_CHECK(edge.given, invalid_argument, "edge is missing: op {} needs edge values; without them use copy_u",
               name(options.op));
    check_tensor(context, edge, "edge", graph.num_edges(), "edge");
  }
  SpmmShape r;
  r.features = !node ? Features::of(edge.shape) : !on_edge ? Features::of(x.shape) : broadcast(x, "x", edge, "edge");
  const Dtype dtype = node ? x.dtype : edge.dtype;
  if (node && on_edge) {
    const bool scalar = edge.shape.width == 1;
    WEFT_CHECK(edge.dtype == dtype || (scalar && edge.dtype == accumulator(dtype)), invalid_argument,
               "edge has dtype {}: expected {} as x has{}", name(edge.dtype), name(dtype),
               scalar && dtype != accumulator(dtype) ? ", or f32" : "");
  }
  r.desc = {kind, dtype, r.features.heads, r.features.width, options.reduce, on_edge};
  r.desc.fits_windows = weighs_by_one_value(options.op, edge, dtype) && !options.epilogue.col_scale.given;
  r.desc.scales_sources = options.epilogue.col_scale.given && options.op == SpmmOp::copy_u;
  if (options.sample) {
    validate(*options.sample);
    r.desc.sample_width = options.sample->width;
  }

  const Epilogue& e = options.epilogue;
  const Dtype acc = accumulator(dtype);
  check_scale(context, e.row_scale, "row_scale", graph.num_rows(), "destination", acc);
  check_scale(context, e.col_scale, "col_scale", graph.num_cols(), "source", acc);
  check_scale(context, e.self_scale, "self_scale", graph.num_rows(), "destination", acc);
  if (e.self_scale.given) {
    WEFT_CHECK(graph.num_rows() == graph.num_cols(), invalid_argument,
               "self_scale is given for a graph of {} sources and {} destinations: expected as many of both",
               graph.num_cols(), graph.num_rows());
    WEFT_CHECK(
        node && Features::of(x.shape).same_size(r.features), invalid_argument,
        "self_scale is given, but {}: expected an x with all features of the output",
        node ? fmt::format("x has shape {}", to_string(x.shape)) : fmt::format("op {} reads no x", name(options.op)));
    WEFT_CHECK(!is_extremum(options.reduce), invalid_argument,
               "self_scale is given, but only sums and means add x's own row: reduce is {}", name(options.reduce));
  }
  if (e.bias.given) {
    const std::int64_t row = r.features.heads * r.features.width;
    WEFT_CHECK(e.bias.shape.size() == row &&
                   e.bias.ld * (e.bias.shape.rows - 1) + e.bias.shape.row_size() == e.bias.shape.size(),
               invalid_argument,
               "bias has shape {}: expected {} values side by side, one per head and feature of the output",
               to_string(e.bias.shape), row);
    check_tensor(context, e.bias, "bias", e.bias.shape.rows, "feature");
  }
  const auto check_arg = [&](TensorView arg, std::string_view arg_name, Dtype wanted) {
    if (!arg.given) return;
    WEFT_CHECK(is_extremum(options.reduce), invalid_argument,
               "{} is given, but only max and min have a winner: reduce is {}", arg_name, name(options.reduce));
    check_winners(context, arg, arg_name, wanted, graph.num_rows(), r.features);
  };
  check_arg(options.arg_u, "arg_u", Dtype::i32);
  check_arg(options.arg_e, "arg_e", Dtype::i64);
  return r;
}

namespace {

void run(Context& context, const Plan& plan, const Graph& graph, ConstTensorView x, ConstTensorView edge,
         TensorView out, const SpmmOptions& options, OpKind kind) {
  const SpmmShape r = resolve(context, graph, x, edge, options, kind);
  check_plan(context, plan, graph.identity(), r.desc);
  check_tensor(context, out, "out", graph.num_rows(), "destination", r.features);
  check_out_dtype(out, r.desc.dtype);
  const Epilogue& e = options.epilogue;
  check_apart({{out, "out"}, {options.arg_u, "arg_u"}, {options.arg_e, "arg_e"}}, {{x, "x"},
                                                                                   {edge, "edge"},
                                                                                   {e.row_scale, "row_scale"},
                                                                                   {e.col_scale, "col_scale"},
                                                                                   {e.self_scale, "self_scale"},
                                                                                   {e.bias, "bias"}});
  SpmmArgs args;
  args.graph = view_by(plan, graph);
  args.sample = places_by(plan, graph, options.sample, edge.given || options.arg_e.given);
  args.unbiased_sums =
      args.sample.given() && options.sample->norm == SampleNorm::scaled && options.reduce == Reduce::sum;
  args.op = options.op;
  args.reduce = options.reduce;
  args.heads = r.features.heads;
  args.width = r.features.width;
  args.x = operand(x, r.features);
  args.edge = operand(edge, r.features);
  args.row_scale = operand(e.row_scale);
  args.col_scale = operand(e.col_scale);
  args.self_scale = operand(e.self_scale);
  if (e.bias.given) {
    args.bias = operand(e.bias, r.features);
    args.bias.row_stride = 0;
    args.bias.head_stride = r.features.width;
    args.bias.feature_stride = 1;
  }
  args.relu = e.relu;
  args.saturate = e.saturate;
  args.out = result(out);
  if (options.arg_u.given) args.arg_u = options.arg_u.as<NodeId>();
  if (options.arg_e.given) args.arg_e = options.arg_e.as<EdgeId>();
  if (context.device().kind == DeviceKind::cuda) {
    cuda::spmm(args, plan, context.arena(), context.stream());
  } else {
    cpu::spmm(args, plan, context.arena());
  }
  check_result(context, out, name(kind));
}

Tensor planned(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge,
               const SpmmOptions& options, OpKind kind) {
  const SpmmShape r = resolve(context, graph, x, edge, options, kind);
  const ExpectedRuns once(context, 1);
  const Plan plan = make_plan(context, graph, r.desc);
  context.reserve(plan.workspace_bytes);
  Tensor out = Tensor::empty(r.features.with_rows(graph.num_rows()), r.desc.dtype, "the output of spmm",
                             context.device(), context.stream());
  run(context, plan, graph, x, edge, out, options, kind);
  return out;
}

SpmmOptions spmv_options(ConstTensorView x, ConstTensorView edge) {
  WEFT_CHECK(!x.given || x.shape.row_size() == 1, invalid_argument,
             "x has shape {}: spmv takes one feature per node; use spmm for more", to_string(x.shape));
  WEFT_CHECK(!edge.given || edge.shape.row_size() == 1, invalid_argument,
             "edge has shape {}: spmv takes one value per edge; use spmm for more", to_string(edge.shape));
  SpmmOptions options;
  options.op = edge.given ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  return options;
}

}  // namespace

Tensor spmm(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge, const SpmmOptions& options) {
  return planned(context, graph, x, edge, options, OpKind::spmm);
}

void spmm(Context& context, const Plan& plan, const Graph& graph, ConstTensorView x, ConstTensorView edge,
          TensorView out, const SpmmOptions& options) {
  const TimedOperator timed(context, "spmm");
  run(context, plan, graph, x, edge, out, options, OpKind::spmm);
}

Tensor spmv(Context& context, const Graph& graph, ConstTensorView x, ConstTensorView edge) {
  return planned(context, graph, x, edge, spmv_options(x, edge), OpKind::spmv);
}

void spmv(Context& context, const Plan& plan, const Graph& graph, ConstTensorView x, ConstTensorView edge,
          TensorView out) {
  const TimedOperator timed(context, "spmv");
  run(context, plan, graph, x, edge, out, spmv_options(x, edge), OpKind::spmv);
}

}  // namespace weft
