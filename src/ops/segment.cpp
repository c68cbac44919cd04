#include "core/parallel.hpp"
#include "ops/operands.hpp"
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

}  // namespace

Tensor segment_reduce(Context& context, std::span<const EdgeId> offsets, ConstTensorView x, Reduce reduce) {
  check_segments(context, offsets, x, reduce);
  const Features features = Features::of(x.shape);
  const GraphView view = view_of(offsets);
  const Plan plan =
      chosen(explain_view(context, view, 0, {OpKind::segment, x.dtype, features.heads, features.width, reduce, true}));
  context.reserve(plan.workspace_bytes);
  Tensor out = Tensor::empty(features.with_rows(view.num_rows), x.dtype, "the output of segment_reduce");
  SpmmArgs args;
  args.graph = view;
  args.op = SpmmOp::copy_e;
  args.reduce = reduce;
  args.heads = features.heads;
  args.width = features.width;
  args.edge = operand(x, features);
  args.out = result(out);
  cpu::spmm(args, plan, context.arena());
  return out;
}

Tensor segment_reduce_backward(Context& context, std::span<const EdgeId> offsets, ConstTensorView x,
                               ConstTensorView out_grad, Reduce reduce) {
  check_segments(context, offsets, x, reduce);
  const Features features = Features::of(x.shape);
  const auto segments = static_cast<std::int64_t>(offsets.size()) - 1;
  check_tensor(context, out_grad, "out_grad", segments, "segment", features);
  check_dtype(out_grad, "out_grad", x.dtype, "as x has");
  Tensor grad = Tensor::empty(x.shape, x.dtype, "the gradient of segment_reduce");
  with_floating(x.dtype, "x", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Acc = AccumulatorOf<T>;
    const std::int64_t row = x.shape.row_size();
    const T *in = x.as<T>(), *dy = out_grad.as<T>();
    T* dx = grad.span<T>().data();
    parallel_ranges(context.threads(), segments, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t s = begin; s < end; ++s) {
        const EdgeId first = offsets[static_cast<std::size_t>(s)], last = offsets[static_cast<std::size_t>(s) + 1];
        for (std::int64_t i = 0; i < row; ++i) {
          const T g = dy[s * out_grad.ld + i];
          if (reduce == Reduce::sum || reduce == Reduce::mean) {
            const T share = reduce == Reduce::sum ? g : convert<T>(convert<Acc>(g) / static_cast<Acc>(last - first));
            for (EdgeId k = first; k < last; ++k) dx[k * row + i] = share;
            continue;
          }
          EdgeId winner = first;  // the first of equals; the first NaN stays
          for (EdgeId k = first; k < last; ++k) {
            const Acc value = convert<Acc>(in[k * x.ld + i]), best = convert<Acc>(in[winner * x.ld + i]);
            const bool better = reduce == Reduce::max ? value > best : value < best;
            if (better || (value != value && best == best)) winner = k;
            dx[k * row + i] = convert<T>(Acc{0});
          }
          if (first < last) dx[winner * row + i] = g;
        }
      }
    });
  });
  return grad;
}

}  // namespace weft
