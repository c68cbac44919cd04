#include "ops/elementwise.hpp"

#include "core/parallel.hpp"
#include "graph/graph_internals.hpp"
#include "kernels/cuda/elementwise/elementwise.hpp"
#include "kernels/semantics.hpp"

namespace weft {
namespace {

constexpr std::int64_t grain = 1 << 14;  // fewest elements per task

bool on_cuda(const Context& context) { return context.device().kind == DeviceKind::cuda; }

/// out = a op b, or a op `factor` if b is not given.
void combine_on_cuda(const Context& context, ConstTensorView a, ConstTensorView b, SddmmOp op, double factor,
                     TensorView out) {
  const Features features = Features::of(out.shape);
  const cuda::CombineArgs args{
      out.shape.rows, features.heads, features.width, operand(a, features), operand(b, features), op,
      factor,         result(out)};
  cuda::combine(args, context.device(), context.stream());
}

template <class F>
void for_rows(const Context& context, const Shape& shape, F&& body) {
  parallel_ranges(context.threads(), shape.rows, grain / std::max<std::int64_t>(1, shape.row_size()) + 1,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t r = begin; r < end; ++r) body(r);
                  });
}

/// The first of, and the number of, positions in a dimension of `from` that reduce to position `at` of one of `size`.
std::pair<std::int64_t, std::int64_t> source(std::int64_t at, std::int64_t size, std::int64_t from) {
  if (size == 1) return {0, from};
  return {from == 1 ? 0 : at, 1};
}

void combine_in_place(const Context& context, TensorView a, ConstTensorView b, SddmmOp op) {
  if (on_cuda(context)) return combine_on_cuda(context, a, b, op, 1, a);
  const Features features = Features::of(a.shape);
  const Operand other = operand(b, features);
  const auto combine = [&]<class A, class B, class Formula>(TypeTag<A>, TypeTag<B>, Formula) {
    using Acc = AccumulatorOf<A>;
    A* out = a.as<A>();
    const B* in = static_cast<const B*>(other.data);
    for_rows(context, a.shape, [&](std::int64_t r) {
      for (std::int64_t h = 0; h < features.heads; ++h)
        for (std::int64_t i = 0; i < features.width; ++i) {
          A& element = out[r * a.ld + h * features.width + i];
          const B value = in[r * other.row_stride + h * other.head_stride + i * other.feature_stride];
          element = convert<A>(Formula::of(convert<Acc>(element), convert<Acc>(value)));
        }
    });
  };
  semantics::with_meaning(op, [&](auto meaning) {
    with_floating(a.dtype, "a", [&](auto a_tag) {
      with_floating(b.dtype, "b", [&](auto b_tag) { combine(a_tag, b_tag, typename decltype(meaning)::Value{}); });
    });
  });
}

}  // namespace

void scale_in_place(const Context& context, TensorView tensor, double factor) {
  if (on_cuda(context)) return combine_on_cuda(context, tensor, {}, SddmmOp::mul, factor, tensor);
  with_floating(tensor.dtype, "tensor", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Acc = AccumulatorOf<T>;
    T* data = tensor.as<T>();
    const std::int64_t row = tensor.shape.row_size();
    for_rows(context, tensor.shape, [&](std::int64_t r) {
      for (std::int64_t i = r * tensor.ld; i < r * tensor.ld + row; ++i)
        data[i] = convert<T>(convert<Acc>(data[i]) * static_cast<Acc>(factor));
    });
  });
}

Tensor widened(const Context& context, ConstTensorView x, ConstTensorView scale) {
  Tensor out = Tensor::empty(x.shape, accumulator(x.dtype), "a widened copy", context.device(), context.stream());
  widen(context, x, scale, out);
  return out;
}

void widen(const Context& context, ConstTensorView x, ConstTensorView scale, TensorView out) {
  if (on_cuda(context)) return combine_on_cuda(context, x, scale, SddmmOp::mul, 1, out);
  with_floating(x.dtype, "x", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Acc = AccumulatorOf<T>;
    const T* in = x.as<T>();
    Acc* to = out.as<Acc>();
    const std::int64_t row = x.shape.row_size();
    for_rows(context, x.shape, [&](std::int64_t r) {
      const Acc factor = scale.given ? scale.as<Acc>()[r] : Acc{1};
      for (std::int64_t i = 0; i < row; ++i) to[r * out.ld + i] = convert<Acc>(in[r * x.ld + i]) * factor;
    });
  });
}

Tensor reduce_to(const Context& context, ConstTensorView x, Features features, Dtype dtype) {
  Tensor out = Tensor::empty(features.with_rows(x.shape.rows), dtype, "a gradient", context.device(), context.stream());
  reduce_to(context, x, out);
  return out;
}

void reduce_to(const Context& context, ConstTensorView x, TensorView out) {
  const Features features = Features::of(out.shape), from = Features::of(x.shape);
  if (on_cuda(context)) {
    const cuda::ReduceToArgs args{x.shape.rows,   from.heads,       from.width, features.heads,
                                  features.width, operand(x, from), result(out)};
    cuda::reduce_to(args, context.device(), context.stream());
    return;
  }
  with_floating(x.dtype, "x", [&](auto in_tag) {
    with_floating(out.dtype, "gradient", [&](auto out_tag) {
      using In = typename decltype(in_tag)::type;
      using Out = typename decltype(out_tag)::type;
      const In* in = x.as<In>();
      Out* to = out.as<Out>();
      for_rows(context, x.shape, [&](std::int64_t r) {
        for (std::int64_t h = 0; h < features.heads; ++h)
          for (std::int64_t f = 0; f < features.width; ++f) {
            double sum = 0;
            const auto [head, heads] = source(h, features.heads, from.heads);
            const auto [first, width] = source(f, features.width, from.width);
            for (std::int64_t i = head; i < head + heads; ++i)
              for (std::int64_t j = first; j < first + width; ++j)
                sum += convert<double>(in[r * x.ld + i * from.width + j]);
            to[r * out.ld + h * features.width + f] = convert<Out>(sum);
          }
      });
    });
  });
}

ConstTensorView head_of(ConstTensorView x, std::int64_t head) {
  ConstTensorView view = x;
  const std::int64_t first = x.shape.heads == 1 ? 0 : head * x.shape.width;
  view.data = static_cast<const std::byte*>(x.data) + first * static_cast<std::int64_t>(size_of(x.dtype));
  view.shape = Shape(x.shape.rows, x.shape.width);
  return view;
}

void multiply_in_place(const Context& context, TensorView a, ConstTensorView b) {
  combine_in_place(context, a, b, SddmmOp::mul);
}
void divide_in_place(const Context& context, TensorView a, ConstTensorView b) {
  combine_in_place(context, a, b, SddmmOp::div);
}
void add_in_place(const Context& context, TensorView a, ConstTensorView b) {
  combine_in_place(context, a, b, SddmmOp::add);
}
void times_power(const Context& context, TensorView a, int sign, ConstTensorView b, int power) {
  for (; power > 0; --power) multiply_in_place(context, a, b);
  for (; power < 0; ++power) divide_in_place(context, a, b);
  if (sign < 0) scale_in_place(context, a, -1);
}

void row_norms(const Context& context, const Graph& graph, ConstTensorView scale, TensorView out) {
  const GraphView view = GraphInternals::view_without_ids(graph);
  if (on_cuda(context))
    return cuda::row_norms({view.offsets, view.num_rows, operand(scale), result(out)}, context.device(),
                           context.stream());
  with_floating(out.dtype, "scale", [&](auto tag) {
    using Acc = AccumulatorOf<typename decltype(tag)::type>;
    Acc* to = out.as<Acc>();
    for (std::int64_t v = 0; v < view.num_rows; ++v) {
      const auto degree = static_cast<Acc>(view.offsets[v + 1] - view.offsets[v]);
      to[v] = (scale.given ? scale.as<Acc>()[v] : Acc{1}) / (degree > 0 ? degree : Acc{1});
    }
  });
}

}  // namespace weft
