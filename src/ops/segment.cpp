#include "core/parallel.hpp"
#include "ops/operands.hpp"
#include "plan/partition.hpp"
#include "plan/plan_view.hpp"

namespace weft {
namespace {

void check_segments(const Context& context, std::span<const EdgeId> offsets, ConstTensorView x, Reduce reduce) {
  check_enum(reduce, Reduce::min, "reduce");
  WEFT_CHECK(!offsets.empty(), invalid_argument, "offsets is empty: expected one entry more than there are segments");
  WEFT_CHECK(offsets.front() == 0, invalid_argument, "offsets[0] is {}: expected 0", offsets.front());
  for (std::size_t i = 1; i < offsets.size(); ++i)
    WEFT_CHECK(offsets[i] >= offsets[i - 1], invalid_argument,
               "offsets[{}] is {}, less than offsets[{}] = {}: they must not fall", i, offsets[i], i - 1,
               offsets[i - 1]);
  check_tensor(context, x, "x", offsets.back(), "entry of the last offset");
}

// The rows of x as edges without sources.
GraphView view_of(std::span<const EdgeId> offsets) {
  GraphView view;
  view.num_rows = static_cast<std::int64_t>(offsets.size()) - 1;
  view.num_edges = offsets.back();
  view.offsets = offsets.data();
  return view;
}

Plan plan_for(const Context& context, const GraphView& view, ConstTensorView x, Reduce reduce) {
  return chosen(explain_view(context, view, 0, {OpKind::segment, x.dtype, x.shape.heads, x.shape.width, reduce, true}));
}

/// `winners`, if given: the row of x that won each output element, for max and min.
Tensor reduced(Context& context, const Plan& plan, const GraphView& view, ConstTensorView x, Reduce reduce,
               EdgeId* winners = nullptr) {
  context.reserve(plan.workspace_bytes);
  const Features features = Features::of(x.shape);
  Tensor out = Tensor::empty(features.with_rows(view.num_rows), x.dtype, "the output of segment_reduce");
  SpmmArgs args;
  args.graph = view;
  args.op = SpmmOp::copy_e;
  args.reduce = reduce;
  args.heads = features.heads;
  args.width = features.width;
  args.edge = operand(x, features);
  args.out = result(out);
  args.arg_e = winners;
  cpu::spmm(args, plan, context.arena());
  return out;
}

}  // namespace

Tensor segment_reduce(Context& context, std::span<const EdgeId> offsets, ConstTensorView x, Reduce reduce) {
  check_segments(context, offsets, x, reduce);
  const GraphView view = view_of(offsets);
  return reduced(context, plan_for(context, view, x, reduce), view, x, reduce);
}

Tensor segment_reduce_backward(Context& context, std::span<const EdgeId> offsets, ConstTensorView x,
                               ConstTensorView out_grad, Reduce reduce) {
  check_cpu(context, "segment_reduce_backward");
  check_segments(context, offsets, x, reduce);
  const GraphView view = view_of(offsets);
  check_tensor(context, out_grad, "out_grad", view.num_rows, "segment", Features::of(x.shape));
  check_dtype(out_grad, "out_grad", x.dtype, "as x has");
  const Plan plan = plan_for(context, view, x, reduce);
  const bool extremum = reduce == Reduce::max || reduce == Reduce::min;
  Tensor winners;
  if (extremum) {
    winners = Tensor::empty(Features::of(x.shape).with_rows(view.num_rows), Dtype::i64, "winners of segments");
    reduced(context, plan, view, x, reduce, winners.span<EdgeId>().data());
  }
  Tensor grad = Tensor::empty(x.shape, x.dtype, "the gradient of segment_reduce");
  with_floating(x.dtype, "x", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Acc = AccumulatorOf<T>;
    const std::int64_t row = x.shape.row_size();
    T* dx = grad.span<T>().data();
    // Both write a segment, or a piece of a long one, whose gradient is dy.
    const auto won = [&](const Run& run, const T* dy) {
      const EdgeId* winner = winners.span<EdgeId>().data() + run.row * row;
      for (EdgeId k = run.begin; k < run.end; ++k)
        for (std::int64_t i = 0; i < row; ++i) dx[k * row + i] = winner[i] == k ? dy[i] : convert<T>(Acc{0});
    };
    const auto shared = [&](const Run& run, const T* dy) {
      if (run.begin == run.end) return;
      const Acc entries =
          static_cast<Acc>(reduce == Reduce::sum ? 1 : view.offsets[run.row + 1] - view.offsets[run.row]);
      T* first = dx + run.begin * row;
      for (std::int64_t i = 0; i < row; ++i) first[i] = convert<T>(convert<Acc>(dy[i]) / entries);
      for (EdgeId k = run.begin + 1; k < run.end; ++k) std::copy_n(first, row, dx + k * row);
    };
    for_each_task(plan, view, [&](const Runs& runs, int) {
      for (const Run& run : runs) {
        const T* dy = out_grad.as<T>() + run.row * out_grad.ld;
        extremum ? won(run, dy) : shared(run, dy);
      }
    });
  });
  return grad;
}

}  // namespace weft
