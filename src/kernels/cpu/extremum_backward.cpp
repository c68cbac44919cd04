#include "kernels/cpu/extremum_backward.hpp"

#include <vector>

#include "core/dispatch.hpp"
#include "core/parallel.hpp"

namespace weft::cpu {
namespace {

double at(const Operand& o, std::int64_t row, std::int64_t h, std::int64_t f) {
  if (!o.given()) return 1.0;
  return with_floating(o.dtype, "operand", [&](auto tag) {
    using T = typename decltype(tag)::type;
    return convert<double>(
        static_cast<const T*>(o.data)[row * o.row_stride + h * o.head_stride + f * o.feature_stride]);
  });
}

/// Adds to sum[...] what edge `id` from u to v passes on; slope(h, f) is the message's derivative.
template <class Slope>
void add_edge(const ExtremumBackwardArgs& args, std::int64_t u, std::int64_t v, EdgeId id, std::int64_t out_heads,
              std::int64_t out_width, std::vector<double>& sum, Slope&& slope) {
  const EdgeId* winners = args.arg_e + v * args.heads * args.width;
  for (std::int64_t h = 0; h < args.heads; ++h)
    for (std::int64_t f = 0; f < args.width; ++f) {
      if (winners[h * args.width + f] != id) continue;
      const double grad = at(args.out_grad, v, h, f) * at(args.row_scale, v, 0, 0) * at(args.col_scale, u, 0, 0);
      sum[static_cast<std::size_t>((out_heads == 1 ? 0 : h) * out_width + (out_width == 1 ? 0 : f))] +=
          grad * slope(h, f);
    }
}

void write(const ExtremumBackwardArgs& args, std::int64_t row, const std::vector<double>& sum) {
  with_floating(args.out.dtype, "out", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = static_cast<T*>(args.out.data) + row * args.out.row_stride;
    for (std::size_t i = 0; i < sum.size(); ++i) to[i] = convert<T>(sum[i]);
  });
}

}  // namespace

void extremum_x_gradient(const ExtremumBackwardArgs& args, std::int64_t out_heads, std::int64_t out_width,
                         int threads) {
  const GraphView& g = args.graph;
  parallel_ranges(threads, g.num_rows, 64, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> sum(static_cast<std::size_t>(out_heads * out_width));
    for (std::int64_t u = begin; u < end; ++u) {
      std::fill(sum.begin(), sum.end(), 0.0);
      for (EdgeId k = g.offsets[u]; k < g.offsets[u + 1]; ++k) {
        const EdgeId id = g.edge_id(k);
        add_edge(args, u, g.cols[k], id, out_heads, out_width, sum, [&](std::int64_t h, std::int64_t f) {
          if (args.op == SpmmOp::u_mul_e) return at(args.edge, id, h, f);
          if (args.op == SpmmOp::u_div_e) return 1.0 / at(args.edge, id, h, f);
          return 1.0;
        });
      }
      write(args, u, sum);
    }
  });
}

void extremum_edge_gradient(const ExtremumBackwardArgs& args, std::int64_t out_heads, std::int64_t out_width,
                            int threads) {
  const GraphView& g = args.graph;
  parallel_ranges(threads, g.num_rows, 64, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> sum(static_cast<std::size_t>(out_heads * out_width));
    for (std::int64_t v = begin; v < end; ++v)
      for (EdgeId k = g.offsets[v]; k < g.offsets[v + 1]; ++k) {
        const EdgeId id = g.edge_id(k);
        const std::int64_t u = g.cols[k];
        std::fill(sum.begin(), sum.end(), 0.0);
        add_edge(args, u, v, id, out_heads, out_width, sum, [&](std::int64_t h, std::int64_t f) {
          if (args.op == SpmmOp::u_mul_e) return at(args.x, u, h, f);
          if (args.op == SpmmOp::u_div_e) {
            const double e = at(args.edge, id, h, f);
            return -at(args.x, u, h, f) / (e * e);
          }
          return args.op == SpmmOp::u_sub_e ? -1.0 : 1.0;
        });
        write(args, id, sum);
      }
  });
}

}  // namespace weft::cpu
