// Segments: the rows of x are edges without sources, stored in the order of their ids, so every reduction and its
// gradient are those of spmm with copy_e.
#include "core/device.hpp"
#include "core/parallel.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/graph_impl.hpp"
#include "kernels/cuda/elementwise/elementwise.hpp"
#include "kernels/extremum_backward.hpp"
#include "kernels/semantics.hpp"
#include "ops/finite.hpp"
#include "ops/operands.hpp"
#include "ops/segments.hpp"
#include "plan/partition.hpp"
#include "plan/plan_view.hpp"

namespace weft {
namespace {

/// The segments as a graph view for kernels; on a GPU it owns the arrays that the caller did not give.
struct Segments {
  GraphView view;
  DeviceBuffer offsets, rows;
};

void check_start(EdgeId first) { WEFT_CHECK(first == 0, invalid_argument, "offsets[0] is {}: expected 0", first); }
[[noreturn]] void fail_fall(std::int64_t i, EdgeId before, EdgeId at) {
  fail(ErrorCode::invalid_argument, "offsets[{}] is {}, less than offsets[{}] = {}: they must not fall", i, at, i - 1,
       before);
}
void check_count(std::int64_t entries) {
  WEFT_CHECK(entries > 0, invalid_argument, "offsets is empty: expected one entry more than there are segments");
}

/// Adds the row of every entry, which GPU kernels need.
Segments with_rows(const Context& context, Segments segments) {
  GraphView& view = segments.view;
  check_node_count(view.num_rows, "the number of segments");
  segments.rows = DeviceBuffer(context.device(), context.stream(),
                               static_cast<std::size_t>(view.num_edges) * sizeof(NodeId), "the segments of entries");
  auto* rows = reinterpret_cast<NodeId*>(segments.rows.data());
  cuda::expand_rows(context.device(), context.stream(), view, rows);
  view.rows = rows;
  return segments;
}

Segments segments_of(const Context& context, std::span<const EdgeId> offsets, ConstTensorView x) {
  check_count(static_cast<std::int64_t>(offsets.size()));
  check_start(offsets.front());
  for (std::size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1]) fail_fall(static_cast<std::int64_t>(i), offsets[i - 1], offsets[i]);
  check_tensor(context, x, "x", offsets.back(), "entry of the last offset");
  Segments segments;
  segments.view.num_rows = static_cast<std::int64_t>(offsets.size()) - 1;
  segments.view.num_edges = offsets.back();
  segments.view.offsets = offsets.data();
  if (context.device().kind == DeviceKind::cpu) return segments;
  segments.offsets = DeviceBuffer(context.device(), context.stream(), offsets.size_bytes(), "the offsets of segments");
  copy_bytes(context.device(), segments.offsets.data(), Device{}, offsets.data(), offsets.size_bytes(),
             context.stream());
  segments.view.offsets = reinterpret_cast<const EdgeId*>(segments.offsets.data());
  return with_rows(context, std::move(segments));
}

/// Offsets on a GPU are checked there, which waits for the device, unless they are trusted.
Segments segments_of(const Context& context, ConstTensorView offsets, ConstTensorView x, Validate validate) {
  WEFT_CHECK(offsets.given, invalid_argument, "offsets is missing: expected where every segment begins, and the end");
  WEFT_CHECK(offsets.dtype == Dtype::i64, invalid_argument, "offsets has dtype {}: expected i64", name(offsets.dtype));
  WEFT_CHECK(offsets.device == context.device(), invalid_argument, "offsets is on {}, but the context runs on {}",
             to_string(offsets.device), to_string(context.device()));
  WEFT_CHECK(offsets.shape.rows >= 0 && offsets.shape.row_size() == 1 && offsets.ld == 1, invalid_argument,
             "offsets has shape {} and leading dimension {}: expected one dimension, its entries side by side",
             to_string(offsets.shape), offsets.ld);
  check_count(offsets.shape.rows);
  const EdgeId* data = offsets.as<EdgeId>();
  WEFT_CHECK(data != nullptr, invalid_argument, "offsets has no memory (null data)");
  const Device device = context.device();
  if (device.kind == DeviceKind::cpu)
    return segments_of(context, std::span(data, static_cast<std::size_t>(offsets.shape.rows)), x);
  Segments segments;
  segments.view.num_rows = offsets.shape.rows - 1;
  segments.view.num_edges = x.shape.rows;
  segments.view.offsets = data;
  if (validate == Validate::full) {
    const auto read = [&](std::int64_t first, std::span<EdgeId> to) {
      copy_bytes(Device{}, to.data(), device, data + first, to.size_bytes(), context.stream());
    };
    EdgeId ends[2];
    read(0, {ends, 1});
    check_start(ends[0]);
    const std::int64_t falls = cuda::first_fall(device, context.stream(), data, segments.view.num_rows);
    if (falls < segments.view.num_rows) {
      read(falls, ends);
      fail_fall(falls + 1, ends[0], ends[1]);
    }
    read(segments.view.num_rows, {ends, 1});
    check_tensor(context, x, "x", ends[0], "entry of the last offset");
  }
  const std::int64_t entries = segments.view.num_rows > 0 ? std::max<std::int64_t>(x.shape.rows, 0) : 0;
  check_tensor(context, x, "x", entries, "entry of the last offset");
  return with_rows(context, std::move(segments));
}

/// For the GPU planner segments are an spmm whose tasks have no columns to order by.
Plan plan_for(const Context& context, const GraphView& view, ConstTensorView x, Reduce reduce) {
  const bool cpu = context.device().kind == DeviceKind::cpu;
  const OpDesc desc{cpu ? OpKind::segment : OpKind::spmm, x.dtype, x.shape.heads, x.shape.width, reduce, true};
  return chosen(explain_view(context, view, 0, desc, policy_of_segments(context)));
}

/// `winners`, if given: the row of x that won each output element, for max and min.
void reduce_into(const Context& context, const GraphView& view, ConstTensorView x, Reduce reduce, TensorView out,
                 EdgeId* winners = nullptr) {
  const Plan plan = plan_for(context, view, x, reduce);
  const Context once = with_own_workspace(context, plan.workspace_bytes);
  const Features features = Features::of(x.shape);
  SpmmArgs args;
  args.graph = view;
  args.op = SpmmOp::copy_e;
  args.reduce = reduce;
  args.heads = features.heads;
  args.width = features.width;
  args.edge = operand(x, features);
  args.out = result(out);
  args.arg_e = winners;
  if (context.device().kind == DeviceKind::cuda) {
    cuda::spmm(args, plan, once.arena(), context.stream());
  } else {
    cpu::spmm(args, plan, once.arena());
  }
  check_result(context, out, "segment_reduce");
}

/// The inputs and the output of the backward.
struct Backward {
  GraphView view;
  ConstTensorView x, out_grad;
  Reduce reduce;
  const EdgeId* winners;  // null for sum and mean
  TensorView grad;
};

void run_on_cpu(const Backward& b, const Plan& plan) {
  with_floating(b.x.dtype, "x", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Acc = AccumulatorOf<T>;
    const std::int64_t row = b.x.shape.row_size();
    T* dx = b.grad.as<T>();
    const std::int64_t dx_ld = b.grad.ld;
    // Both write the gradients of a segment, or of a piece of a long one, from the segment's gradient dy.
    const auto won = [&](const Run& run, const T* dy) {
      const EdgeId* winner = b.winners + run.row * row;
      for (EdgeId k = run.begin; k < run.end; ++k)
        for (std::int64_t i = 0; i < row; ++i) dx[k * dx_ld + i] = winner[i] == k ? dy[i] : convert<T>(Acc{0});
    };
    const auto shared = [&](const Run& run, const T* dy) {
      if (run.begin == run.end) return;
      const Acc entries = static_cast<Acc>(
          semantics::divides_by_edges(b.reduce) ? b.view.offsets[run.row + 1] - b.view.offsets[run.row] : 1);
      T* first = dx + run.begin * dx_ld;
      for (std::int64_t i = 0; i < row; ++i) first[i] = convert<T>(convert<Acc>(dy[i]) / entries);
      for (EdgeId k = run.begin + 1; k < run.end; ++k) std::copy_n(first, row, dx + k * dx_ld);
    };
    for_each_task(plan, b.view, [&](const Runs& runs, int) {
      for (const Run& run : runs) {
        const T* dy = b.out_grad.as<T>() + run.row * b.out_grad.ld;
        b.winners != nullptr ? won(run, dy) : shared(run, dy);
      }
    });
  });
}

void run_on_cuda(const Backward& b, const Context& context) {
  const Features features = Features::of(b.x.shape);
  if (b.winners == nullptr) {
    const cuda::SpreadArgs args{b.view, b.x.shape.row_size(), semantics::divides_by_edges(b.reduce),
                                operand(b.out_grad, features), result(b.grad)};
    return cuda::spread(args, context.device(), context.stream());
  }
  ExtremumBackwardArgs args;
  args.graph = b.view;
  args.op = SpmmOp::copy_e;
  args.heads = args.out_heads = features.heads;
  args.width = args.out_width = features.width;
  args.edge = operand(b.x, features);
  args.out_grad = operand(b.out_grad, features);
  args.arg_e = b.winners;
  args.out = result(b.grad);
  cuda::extremum_edge_gradient(args, context.device(), context.stream());
}

void backward_into(const Context& context, const GraphView& view, ConstTensorView x, ConstTensorView out_grad,
                   Reduce reduce, TensorView into) {
  Tensor winners;
  if (is_extremum(reduce)) {
    const Shape by_segment = Features::of(x.shape).with_rows(view.num_rows);
    const auto empty = [&](Dtype dtype, const char* what) {
      return Tensor::empty(by_segment, dtype, what, context.device(), context.stream());
    };
    winners = empty(Dtype::i64, "winners of segments");
    Tensor unread = empty(x.dtype, "the output of segment_reduce");
    reduce_into(context, view, x, reduce, unread, winners.view().as<EdgeId>());
  }
  const Backward b{view, x, out_grad, reduce, winners ? winners.view().as<EdgeId>() : nullptr, into};
  if (context.device().kind == DeviceKind::cuda) {
    run_on_cuda(b, context);
  } else {
    run_on_cpu(b, plan_for(context, view, x, reduce));
  }
}

void check_into(const Context& context, std::int64_t rows, ConstTensorView x, TensorView into,
                std::initializer_list<NamedTensor> read) {
  check_tensor(context, into, "into", rows, "row", Features::of(x.shape));
  check_dtype(into, "into", x.dtype, "as x has");
  check_apart({{into, "into"}}, read);
}

void check_gradient(const Context& context, const GraphView& view, ConstTensorView x, ConstTensorView out_grad) {
  check_tensor(context, out_grad, "out_grad", view.num_rows, "segment", Features::of(x.shape));
  check_dtype(out_grad, "out_grad", x.dtype, "as x has");
}

Tensor reduce_segments(const Context& context, const Segments& segments, ConstTensorView x, Reduce reduce) {
  Tensor out = Tensor::empty(Features::of(x.shape).with_rows(segments.view.num_rows), x.dtype,
                             "the output of segment_reduce", context.device(), context.stream());
  reduce_into(context, segments.view, x, reduce, out);
  return out;
}

Tensor backward(const Context& context, const Segments& segments, ConstTensorView x, ConstTensorView out_grad,
                Reduce reduce) {
  check_gradient(context, segments.view, x, out_grad);
  Tensor grad = Tensor::empty(x.shape, x.dtype, "the gradient of segment_reduce", context.device(), context.stream());
  backward_into(context, segments.view, x, out_grad, reduce, grad);
  return grad;
}

}  // namespace

Tensor segment_reduce(Context& context, std::span<const EdgeId> offsets, ConstTensorView x, Reduce reduce) {
  check_enum(reduce, last_of<Reduce>(), "reduce");
  return reduce_segments(context, segments_of(context, offsets, x), x, reduce);
}
Tensor segment_reduce(Context& context, ConstTensorView offsets, ConstTensorView x, Reduce reduce, Validate validate) {
  check_enum(reduce, last_of<Reduce>(), "reduce");
  return reduce_segments(context, segments_of(context, offsets, x, validate), x, reduce);
}
void segment_reduce(Context& context, ConstTensorView offsets, ConstTensorView x, Reduce reduce, TensorView into,
                    Validate validate) {
  check_enum(reduce, last_of<Reduce>(), "reduce");
  const Segments segments = segments_of(context, offsets, x, validate);
  check_into(context, segments.view.num_rows, x, into, {{x, "x"}, {offsets, "offsets"}});
  reduce_into(context, segments.view, x, reduce, into);
}

Tensor segment_reduce_backward(Context& context, std::span<const EdgeId> offsets, ConstTensorView x,
                               ConstTensorView out_grad, Reduce reduce) {
  check_enum(reduce, last_of<Reduce>(), "reduce");
  return backward(context, segments_of(context, offsets, x), x, out_grad, reduce);
}
Tensor segment_reduce_backward(Context& context, ConstTensorView offsets, ConstTensorView x, ConstTensorView out_grad,
                               Reduce reduce, Validate validate) {
  check_enum(reduce, last_of<Reduce>(), "reduce");
  return backward(context, segments_of(context, offsets, x, validate), x, out_grad, reduce);
}
void segment_reduce_backward(Context& context, ConstTensorView offsets, ConstTensorView x, ConstTensorView out_grad,
                             Reduce reduce, TensorView into, Validate validate) {
  check_enum(reduce, last_of<Reduce>(), "reduce");
  const Segments segments = segments_of(context, offsets, x, validate);
  check_gradient(context, segments.view, x, out_grad);
  check_into(context, x.shape.rows, x, into, {{x, "x"}, {offsets, "offsets"}, {out_grad, "out_grad"}});
  backward_into(context, segments.view, x, out_grad, reduce, into);
}

}  // namespace weft
