#include "kernels/extremum_backward.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "core/dispatch.hpp"
#include "core/parallel.hpp"
#include "kernels/semantics.hpp"
#include "plan/scratch.hpp"

namespace weft::cpu {
namespace {

/// An operand whose type is known; 1 where none is given.
template <class T>
struct Typed {
  const T* data;
  std::int64_t row_stride, head_stride, feature_stride;

  explicit Typed(const Operand& o)
      : data(static_cast<const T*>(o.data)),
        row_stride(o.row_stride),
        head_stride(o.head_stride),
        feature_stride(o.feature_stride) {}
  double operator()(std::int64_t row, std::int64_t h = 0, std::int64_t f = 0) const {
    return data == nullptr ? 1.0 : convert<double>(data[row * row_stride + h * head_stride + f * feature_stride]);
  }
};

template <class Node, class Edge>
struct Backward {
  const ExtremumBackwardArgs& args;
  Typed<Node> x{args.x}, out_grad{args.out_grad};
  Typed<Edge> edge{args.edge};
  Typed<AccumulatorOf<Node>> row_scale{args.row_scale}, col_scale{args.col_scale};

  std::int64_t out_size() const { return args.out_heads * args.out_width; }

  /// Adds to sum[out_heads, out_width] what edge `id` from u to v passes on; slope(h, f) is the message's derivative.
  template <class Slope>
  void add_edge(std::int64_t u, std::int64_t v, EdgeId id, double* sum, Slope&& slope) const {
    const EdgeId* winners = args.arg_e + v * args.heads * args.width;
    for (std::int64_t h = 0; h < args.heads; ++h)
      for (std::int64_t f = 0; f < args.width; ++f) {
        if (winners[h * args.width + f] != id) continue;
        const double grad = out_grad(v, h, f) * row_scale(v) * col_scale(u);
        sum[(args.out_heads == 1 ? 0 : h) * args.out_width + (args.out_width == 1 ? 0 : f)] += grad * slope(h, f);
      }
  }

  /// The derivative S of the message that edge `id` from u sends; an operand that it does not name is not read.
  template <semantics::Slope S>
  auto slope(std::int64_t u, EdgeId id) const {
    return [this, u, id](std::int64_t h, std::int64_t f) {
      return semantics::evaluate<S>(S.left != 0 ? x(u, h, f) : 1.0, S.right != 0 ? edge(id, h, f) : 1.0);
    };
  }
  void add_to_x(std::int64_t u, std::int64_t v, EdgeId id, double* sum) const {
    semantics::with_meaning(args.op,
                            [&](auto meaning) { add_edge(u, v, id, sum, slope<decltype(meaning)::by_left>(u, id)); });
  }
  void add_to_edge(std::int64_t u, std::int64_t v, EdgeId id, double* sum) const {
    semantics::with_meaning(args.op,
                            [&](auto meaning) { add_edge(u, v, id, sum, slope<decltype(meaning)::by_right>(u, id)); });
  }

  template <class T>
  void write(std::int64_t row, const double* sum) const {
    std::transform(sum, sum + out_size(), static_cast<T*>(args.out.data) + row * args.out.row_stride,
                   convert<T, double>);
  }
};

/// Calls f(Backward<Node, Edge>) with the types the operands have.
template <class F>
void with_types(const ExtremumBackwardArgs& args, F&& f) {
  with_floating(args.out_grad.dtype, "out_grad", [&](auto node) {
    with_floating(args.edge.dtype, "edge", [&](auto edge) {
      f(Backward<typename decltype(node)::type, typename decltype(edge)::type>{args}, node, edge);
    });
  });
}

/// The gradient where the output has no features and so passes nothing on: an input that was broadcast still has some.
void write_zeros(const ExtremumBackwardArgs& args, std::int64_t rows) {
  const auto element = static_cast<std::int64_t>(size_of(args.out.dtype));
  const std::int64_t bytes = args.out_heads * args.out_width * element;
  if (bytes == 0) return;
  for (std::int64_t row = 0; row < rows; ++row)
    std::memset(static_cast<std::byte*>(args.out.data) + row * args.out.row_stride * element, 0,
                static_cast<std::size_t>(bytes));
}

}  // namespace

void extremum_x_gradient(const ExtremumBackwardArgs& args, const Plan& plan, Arena arena) {
  const GraphView& g = args.graph;
  const auto scratch = RowScratch<double>::take(arena, plan);
  if (scratch.row == 0) return write_zeros(args, g.num_rows);
  with_types(args, [&](const auto& backward, auto node, auto) {
    using T = typename decltype(node)::type;
    const std::int64_t size = backward.out_size();
    for_each_task(plan, g, [&](const Runs& runs, int thread) {
      for (const Run& run : runs) {
        double* sum = run.slot >= 0 ? scratch.slot(run.slot) : scratch.level(thread, 0);
        std::fill_n(sum, size, 0.0);
        for (EdgeId k = run.begin; k < run.end; ++k) backward.add_to_x(run.row, g.cols[k], g.edge_id(k), sum);
        if (run.slot < 0) backward.template write<T>(run.row, sum);
      }
    });
    const LongRows& long_rows = *plan.backing.partition->long_rows;
    parallel_tasks(plan.cpu().threads, static_cast<std::int64_t>(long_rows.rows.size()), [&](std::int64_t i, int) {
      const auto [row, first] = long_rows.rows[static_cast<std::size_t>(i)];
      double* sum = scratch.slot(first);
      for (std::int64_t piece = 1; piece < long_rows.pieces(static_cast<std::size_t>(i)); ++piece)
        std::transform(sum, sum + size, scratch.slot(first + piece), sum, std::plus<>());
      backward.template write<T>(row, sum);
    });
  });
}

void extremum_edge_gradient(const ExtremumBackwardArgs& args, const Plan& plan, Arena arena) {
  const GraphView& g = args.graph;
  const auto scratch = RowScratch<double>::take(arena, plan);
  if (scratch.row == 0) return write_zeros(args, g.num_edges);
  with_types(args, [&](const auto& backward, auto, auto edge) {
    using T = typename decltype(edge)::type;
    for_each_task(plan, g, [&](const Runs& runs, int thread) {
      double* sum = scratch.level(thread, 0);
      for (const Run& run : runs)
        for (EdgeId k = run.begin; k < run.end; ++k) {
          std::fill_n(sum, backward.out_size(), 0.0);
          backward.add_to_edge(g.cols[k], run.row, g.edge_id(k), sum);
          backward.template write<T>(g.edge_id(k), sum);
        }
    });
  });
}

}  // namespace weft::cpu
