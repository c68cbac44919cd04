// Attention's planned backward: one kernel that reads each edge once if the arguments have such a kernel, otherwise the
// composition of attention_composed.cpp. A run takes its scratch memory only from the workspace.
#include <algorithm>
#include <cstdint>
#include <span>

#include "core/expected_runs.hpp"
#include "core/memory.hpp"
#include "core/operator_timer.hpp"
#include "graph/graph_internals.hpp"
#include "ops/attention_composed.hpp"
#include "ops/attention_widened.hpp"
#include "ops/elementwise.hpp"
#include "ops/finite.hpp"
#include "plan/cuda/places.hpp"
#include "plan/cuda/wide_heads.hpp"
#include "plan/cuda/windows.hpp"
#include "plan/plan_view.hpp"

namespace weft {
namespace {

/// Whether edges have a term or a bias of their own.
bool has_edge_terms(const AttentionInputs& in) { return in.edge.given || in.bias.given; }

AttentionShape checked(const Context& context, const Graph& graph, const AttentionInputs& in,
                       const AttentionResultViews& given, ConstTensorView out_grad) {
  check_unsampled(in.sample, "attention_backward");
  const AttentionShape shape = resolve(context, graph, in);
  check_results(context, graph, shape, given.out, given.row_max, given.row_sum);
  check_tensor(context, out_grad, "out_grad", graph.num_rows(), "destination node", shape.value);
  check_dtype(out_grad, "out_grad", shape.desc.dtype, "as value has");
  return shape;
}

/// The plan's row windows; null if it has none.
const RowWindows* windows_of(const AttentionBackwardPlan& plan) {
  if (plan.gather.device.kind == DeviceKind::cpu) return nullptr;
  return plan.gather.cuda().core == Core::tensor ? plan.gather.backing.windows->windows.get() : nullptr;
}
/// The graph whose edges have score gradients in memory: the whole graph, or the windows' residual.
Graph scored_graph(const AttentionBackwardPlan& plan, const Graph& graph) {
  const RowWindows* const windows = windows_of(plan);
  return windows != nullptr ? windows->residual().transpose() : graph;
}

/// The scratch memory of a run. Over an arena without memory, take() only counts.
struct BackwardScratch {
  std::span<std::byte> destinations;  // [rows, heads, 4], or on a CPU [rows, 4, heads]
  std::span<std::byte> scores;        // [edges, heads], of the scored graph
  std::span<std::byte> sums;          // [rows, heads], if dst's gradient is rounded from them
  std::span<std::byte> column_sums;   // [heads, columns in tiles], if there are windows
  std::span<std::byte> staging;       // for one plan after the other

  static BackwardScratch take(Arena& arena, const Graph& graph, const AttentionShape& shape,
                              const AttentionBackwardPlan& plan) {
    const Dtype acc = accumulator(shape.desc.dtype);
    const auto bytes = [&](std::int64_t rows, std::int64_t each) {
      return static_cast<std::size_t>(rows * shape.value.heads * each) * size_of(acc);
    };
    const RowWindows* const windows = windows_of(plan);
    BackwardScratch s;
    s.destinations = arena.take<std::byte>(bytes(graph.num_rows(), 4), "what edges need of their destinations");
    s.scores = arena.take<std::byte>(bytes(scored_graph(plan, graph).num_edges(), 1), "score gradients");
    s.sums = arena.take<std::byte>(acc == shape.desc.dtype ? 0 : bytes(graph.num_rows(), 1), "sums of score gradients");
    s.column_sums = arena.take<std::byte>(windows != nullptr ? bytes(windows->tiles() * window_step, 1) : 0,
                                          "score gradients by columns of tiles");
    s.staging =
        arena.take<std::byte>(std::max(plan.gather.workspace_bytes, plan.sum.workspace_bytes), "parts of cut rows");
    return s;
  }
  Arena arena() const { return {staging.data(), staging.size()}; }
};

/// All arguments except the view of the transpose, which depends on the plan.
AttentionBackwardArgs backward_args(const Graph& graph, const AttentionInputs& in, const AttentionShape& shape,
                                    const Operand& out_grad, const Result& value_grad) {
  AttentionBackwardArgs args;
  args.forward = arguments(graph, in, shape);
  args.out_grad = out_grad;
  args.value_grad = value_grad;
  return args;
}

/// A gradient in memory of its own with the best alignment, for planning before the memory exists.
Operand any_operand(const AttentionShape& shape) {
  const Features& f = shape.value;
  return {nullptr, shape.desc.dtype, f.heads * f.width, f.width, 1};
}
Result any_result(const AttentionShape& shape) {
  return {nullptr, shape.desc.dtype, shape.value.heads * shape.value.width};
}

/// Arguments with the padded heads of `shape`, whose copies do not exist yet.
AttentionBackwardArgs any_args(const Graph& graph, const AttentionInputs& in, const AttentionShape& shape) {
  AttentionBackwardArgs args = backward_args(graph, in, shape, any_operand(shape), any_result(shape));
  args.forward.value = any_operand(shape);
  return args;
}

void check_gradients(const Context& context, const Graph& graph, const AttentionInputs& in, const AttentionShape& shape,
                     const AttentionResultViews& given, ConstTensorView out_grad, const AttentionGradientViews& into) {
  const Dtype dtype = shape.desc.dtype;
  check_tensor(context, into.value, "into.value", graph.num_cols(), "source node", shape.value);
  check_dtype(into.value, "into.value", dtype, "as value has");
  check_tensor(context, into.src, "into.src", graph.num_cols(), "source node", shape.score);
  check_dtype(into.src, "into.src", dtype, "as value has");
  check_tensor(context, into.dst, "into.dst", graph.num_rows(), "destination node", shape.score);
  check_dtype(into.dst, "into.dst", dtype, "as value has");
  if (in.score == Score::gatv2) {
    check_tensor(context, into.attn, "into.attn", 1, "layer ([1, heads, width])", shape.score);
    check_dtype(into.attn, "into.attn", dtype, "as value has");
  } else {
    WEFT_CHECK(!into.attn.given, invalid_argument, "into.attn is given, but only gatv2 has an attn: score is {}",
               name(in.score));
  }
  if (in.bias.given) {
    check_tensor(context, into.bias, "into.bias", graph.num_edges(), "edge", Features{shape.value.heads, 1, 3});
    check_dtype(into.bias, "into.bias", in.bias.dtype, "as bias has");
  } else {
    WEFT_CHECK(!into.bias.given, invalid_argument, "into.bias is given, but the inputs have no bias: leave it out");
  }
  if (in.edge.given) {
    check_tensor(context, into.edge, "into.edge", graph.num_edges(), "edge", shape.score);
    check_dtype(into.edge, "into.edge", dtype, "as value has");
  } else {
    WEFT_CHECK(!into.edge.given, invalid_argument, "into.edge is given, but the inputs have no edge: leave it out");
  }
  check_apart({{into.value, "into.value"},
               {into.src, "into.src"},
               {into.dst, "into.dst"},
               {into.attn, "into.attn"},
               {into.bias, "into.bias"},
               {into.edge, "into.edge"}},
              {{in.value, "value"},
               {in.src, "src"},
               {in.dst, "dst"},
               {in.attn, "attn"},
               {in.bias, "bias"},
               {in.edge, "edge"},
               {given.out, "out"},
               {given.row_max, "row_max"},
               {given.row_sum, "row_sum"},
               {out_grad, "out_grad"}});
}

/// Throws an Error that says why the arguments cannot run by a plan with at_once.
[[noreturn]] void refuse(const AttentionInputs& in, const AttentionShape& shape, ConstTensorView out_grad,
                         const AttentionGradientViews& into, const char* keeps_from_windows) {
  WEFT_CHECK(keeps_from_windows == nullptr, unsupported,
             "plan visits edges by row windows, but {}: make a plan without windows (policy core=cuda) for such calls",
             keeps_from_windows);
  WEFT_CHECK(in.score == Score::gat && !has_edge_terms(in), invalid_argument,
             "plan visits each edge once, as gat without edge and bias can, but score is {}{}: make a plan for these "
             "inputs with plan_attention_backward",
             name(in.score),
             in.bias.given   ? " with a bias"
             : in.edge.given ? " with a term of edges"
                             : "");
  for (const NamedTensor& t :
       {NamedTensor{out_grad, "out_grad"}, NamedTensor{into.value, "into.value"}, NamedTensor{in.value, "value"}}) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(t.tensor.data) % 16;
    WEFT_CHECK(past == 0 && t.tensor.ld == t.tensor.shape.row_size(), unsupported,
               "{} of {} heads of width {} begins {} bytes past a multiple of 16 and has leading dimension {}: the "
               "plan's kernel takes 0 and {}; give it memory of its own, or call attention_backward without a plan",
               t.name, shape.value.heads, shape.value.width, past, t.tensor.ld, t.tensor.shape.row_size());
  }
  fail(ErrorCode::internal, "plan visits each edge once, but {} heads of width {} have no such kernel",
       shape.value.heads, shape.value.width);
}

AttentionBackwardPlan composed_plan(Context& context, const Graph& graph, const AttentionInputs& in,
                                    const AttentionShape& shape) {
  AttentionBackwardPlan plan;
  plan.gather = planned_for(context, graph.transpose(), shape.desc);
  plan.score = in.score;
  plan.composed = or_out_of_memory("a plan", [&] {
    return std::make_shared<const ComposedAttention>(plan_composed_attention(context, graph, in, shape));
  });
  plan.workspace_bytes = plan.composed->workspace_bytes;
  return plan;
}

void run_composed(Context& context, const AttentionBackwardPlan& plan, const Graph& graph, const AttentionInputs& in,
                  const AttentionShape& shape, const AttentionResultViews& given, ConstTensorView out_grad,
                  const AttentionGradientViews& into) {
  WEFT_CHECK(plan.composed != nullptr && plan.score == in.score, invalid_argument,
             "plan was made for score {}, but score is {}: make a plan for these inputs with plan_attention_backward",
             name(plan.score), name(in.score));
  check_composed(context, *plan.composed, graph, in, shape);
  composed_attention_backward(context, *plan.composed, graph, in, shape, given, out_grad, into);
}

/// Whether a kernel reads each edge once for all gradients. On a CPU there is one for storage types that are their own
/// accumulators: see kernels/cpu/attention_backward-inl.hpp.
bool has_one_visit(const AttentionBackwardArgs& args, const Plan& gather) {
  if (args.forward.score != Score::gat || args.forward.edge.given() || args.forward.bias.given()) return false;
  if (gather.device.kind == DeviceKind::cuda) return cuda::has_attention_backward(args, gather);
  return gather.desc.dtype == accumulator(gather.desc.dtype);
}

/// A plan of that kernel; if `args` have no such kernel, `at_once` is false and the plan is of no use.
AttentionBackwardPlan plan_at_once(const Context& context, const Graph& graph, const AttentionBackwardArgs& args,
                                   const AttentionShape& shape, const OpDesc& desc, const Policy& policy) {
  AttentionBackwardPlan plan;
  plan.gather = make_plan(context, graph.transpose(), desc, policy);
  plan.at_once = has_one_visit(args, plan.gather);
  if (!plan.at_once) return plan;
  const Graph scored = scored_graph(plan, graph);
  plan.sum = make_plan(context, scored, score_sums(shape));
  if (context.device().kind == DeviceKind::cuda) {
    const Plan& writes = windows_of(plan) != nullptr ? plan.gather.backing.windows->residual : plan.gather;
    plan.places = places_between(context, scored, writes, plan.sum);
  }
  Arena counting;
  BackwardScratch::take(counting, graph, shape, plan);
  plan.workspace_bytes = counting.used();
  return plan;
}

void run_at_once(Context& context, Arena arena, const AttentionBackwardPlan& plan, const Graph& graph,
                 AttentionBackwardArgs args, const AttentionShape& shape, const AttentionGradientViews& into) {
  const Dtype dtype = shape.desc.dtype, acc = accumulator(dtype);
  const std::int64_t heads = shape.value.heads;
  const Graph scored = scored_graph(plan, graph);
  const Shape by_row(graph.num_rows(), heads, 1), by_edge(scored.num_edges(), heads, 1);
  const BackwardScratch scratch = BackwardScratch::take(arena, graph, shape, plan);
  const TensorView scores(scratch.scores.data(), acc, by_edge, context.device());
  args.reversed = view_by(plan.gather, graph.transpose());
  args.destinations = {scratch.destinations.data(), acc, 4 * heads};
  args.src_grad = result(into.src);
  args.score_grad = result(scores);
  args.by_id = plan.places == nullptr;
  if (!args.by_id) args.places = plan.places->written();
  args.column_sums = {scratch.column_sums.data(), acc, 1};
  const bool on_gpu = context.device().kind == DeviceKind::cuda;
  if (on_gpu) {
    cuda::attention_backward(args, plan.gather, scratch.arena(), context.stream());
  } else {
    cpu::attention_backward(args, plan.gather, scratch.arena());
  }

  const bool rounds = dtype != acc;
  const TensorView sums = rounds ? TensorView(scratch.sums.data(), acc, by_row, context.device()) : into.dst;
  if (scored.num_edges() > 0 || windows_of(plan) == nullptr) {
    SpmmArgs sum;
    sum.graph = view_by(plan.sum, scored);
    sum.op = SpmmOp::copy_e;
    sum.heads = heads;
    sum.edge = operand(scores, Features::of(by_edge));
    sum.out = result(sums);
    if (plan.places != nullptr) sum.edge_places = plan.places->read();
    if (on_gpu) {
      cuda::spmm(sum, plan.sum, scratch.arena(), context.stream());
    } else {
      cpu::spmm(sum, plan.sum, scratch.arena());
    }
  }
  if (windows_of(plan) != nullptr) {
    const Operand residual = scored.num_edges() > 0 ? operand(sums, Features::of(by_row)) : Operand{};
    cuda::attention_column_gradients(args, plan.gather, residual, result(into.dst), context.stream());
  } else if (rounds) {
    reduce_to(context, sums, into.dst);  // only rounds: the shapes are equal
  }
}

void check_gradient_values(Context& context, const AttentionGradientViews& into) {
  check_result(context, into.value, "attention_backward (value)");
  check_result(context, into.src, "attention_backward (src)");
  check_result(context, into.dst, "attention_backward (dst)");
}

/// Runs with the plan's padded heads.
void run_widened(Context& context, const AttentionBackwardPlan& plan, const Graph& graph, const AttentionInputs& in,
                 const AttentionShape& shape, const AttentionResultViews& given, ConstTensorView out_grad,
                 const AttentionGradientViews& into) {
  Arena arena = context.arena();
  const WidenedBackward wide(context, arena, plan.head_width, shape, in, given, out_grad, into);
  AttentionBackwardArgs args =
      backward_args(graph, wide.in, wide.shape, operand(wide.out_grad, wide.shape.value), result(wide.into.value));
  args.forward = arguments(graph, wide.in, wide.shape, wide.given);
  run_at_once(context, arena, plan, graph, args, wide.shape, wide.into);
  copy_heads(context, wide.into.value, into.value);
}

}  // namespace

AttentionBackwardPlan plan_attention_backward(Context& context, const Graph& graph, const AttentionInputs& in,
                                              const Policy& policy) {
  check_unsampled(in.sample, "attention_backward");
  const AttentionShape given = resolve(context, graph, in);
  const bool on_gpu = context.device().kind == DeviceKind::cuda;
  const bool visits_once = in.score == Score::gat && !has_edge_terms(in);
  if (!visits_once || (!on_gpu && given.desc.dtype != accumulator(given.desc.dtype)))
    return composed_plan(context, graph, in, given);
  OpDesc of_backward = given.desc;
  of_backward.backward = true;
  const std::int64_t wider = head_width(context, of_backward, GraphInternals::view_without_ids(graph), policy);
  const AttentionShape shape = wider > 0 ? widened(given, wider) : given;
  const AttentionBackwardArgs args =
      wider > 0 ? any_args(graph, in, shape) : backward_args(graph, in, shape, any_operand(shape), any_result(shape));
  const char* const why = on_gpu ? cuda::keeps_from_windows(args) : nullptr;
  const bool asked = policy.core == Core::tensor;
  WEFT_CHECK(why == nullptr || !asked, unsupported, "policy core=tensor: {}; leave the policy out", why);
  OpDesc desc = shape.desc;
  desc.backward = true;
  desc.widens = false;
  desc.fits_windows = desc.fits_windows && why == nullptr;
  AttentionBackwardPlan plan;
  try {
    plan = plan_at_once(context, graph, args, shape, desc, policy);
  } catch (const Error& error) {
    if (asked || !desc.fits_windows || error.code() != ErrorCode::out_of_memory) throw;
    GraphInternals::drop_windows(graph.transpose());
    desc.fits_windows = false;
    plan = plan_at_once(context, graph, args, shape, desc, policy);
  }
  if (!plan.at_once) return composed_plan(context, graph, in, given);
  if (wider > 0) {
    Arena counting;
    WideHeads::take(counting, desc, graph.num_rows(), graph.num_cols());
    BackwardScratch::take(counting, graph, shape, plan);
    plan.workspace_bytes = counting.used();
    plan.head_width = wider;
    plan.width = given.value.width;
  }
  return plan;
}

void attention_backward(Context& context, const AttentionBackwardPlan& plan, const Graph& graph,
                        const AttentionInputs& in, const AttentionResultViews& given, ConstTensorView out_grad,
                        const AttentionGradientViews& into) {
  const TimedOperator timed(context, "attention backward");
  const AttentionShape shape = checked(context, graph, in, given, out_grad);
  WEFT_CHECK(plan.gather.backing.graph == graph.transpose().identity(), invalid_argument,
             "plan {}: make one for this graph with plan_attention_backward",
             plan.gather.backing.graph == 0 ? "is empty" : "was made for another graph");
  const bool widens = plan.head_width > 0;
  WEFT_CHECK(
      !widens || plan.width == shape.value.width, invalid_argument,
      "plan is for heads of width {}, but value has {}: make a plan for these inputs with plan_attention_backward",
      plan.width, to_string(in.value.shape));
  const AttentionShape run = widens ? widened(shape, plan.head_width) : shape;
  check_planned_for(context, plan.gather, plan.gather.backing.graph, run.desc);
  check_gradients(context, graph, in, shape, given, out_grad, into);
  if (!plan.at_once) {
    run_composed(context, plan, graph, in, shape, given, out_grad, into);
    return check_gradient_values(context, into);
  }
  check_plan(context, plan.gather, plan.gather.backing.graph, run.desc);
  check_plan(context, plan.sum, scored_graph(plan, graph).identity(), score_sums(shape));
  AttentionBackwardArgs args =
      widens ? any_args(graph, in, run)
             : backward_args(graph, in, shape, operand(out_grad, shape.value), result(into.value));
  if (!has_one_visit(args, plan.gather))
    refuse(in, shape, out_grad, into, windows_of(plan) != nullptr ? cuda::keeps_from_windows(args) : nullptr);
  if (widens) {
    run_widened(context, plan, graph, in, shape, given, out_grad, into);
  } else {
    args.forward = arguments(graph, in, shape, given);
    run_at_once(context, context.arena(), plan, graph, args, shape, into);
  }
  check_gradient_values(context, into);
}

AttentionGradients attention_backward(Context& context, const Graph& graph, const AttentionInputs& in,
                                      const AttentionResultViews& given, ConstTensorView out_grad) {
  const AttentionShape shape = checked(context, graph, in, given, out_grad);
  const ExpectedRuns one(context, 1);
  AttentionBackwardPlan plan = plan_attention_backward(context, graph, in);
  if (plan.at_once && plan.head_width == 0 &&
      !has_one_visit(backward_args(graph, in, shape, operand(out_grad, shape.value), any_result(shape)), plan.gather))
    plan = composed_plan(context, graph, in, shape);
  Context once = with_own_workspace(context, plan.workspace_bytes);
  const auto empty = [&](const Shape& of, const char* what) {
    return Tensor::empty(of, shape.desc.dtype, what, context.device(), context.stream());
  };
  AttentionGradients g;
  g.value = empty(in.value.shape, "the gradient of value");
  g.src = empty(in.src.shape, "the gradient of src");
  g.dst = empty(in.dst.shape, "the gradient of dst");
  if (in.score == Score::gatv2) g.attn = empty(in.attn.shape, "the gradient of attn");
  if (in.bias.given)
    g.bias = Tensor::empty(in.bias.shape, in.bias.dtype, "the gradient of bias", context.device(), context.stream());
  if (in.edge.given) g.edge = empty(in.edge.shape, "the gradient of edge");
  attention_backward(once, plan, graph, in, given, out_grad, {g.value, g.src, g.dst, g.attn, g.bias, g.edge});
  return g;
}

}  // namespace weft
