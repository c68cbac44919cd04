// SDDMM and its gradients, softmax and segments.
#include <fmt/format.h>

#include "bits/bits.hpp"
#include "bits/graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

std::int64_t rows_of(const Graph& graph, Target target) {
  return target == Target::u ? graph.num_cols() : target == Target::v ? graph.num_rows() : graph.num_edges();
}

}  // namespace

void add_edge_products(Bits& bits) {
  std::vector<Way> ways = ways_to_run(bits.device());
  Sweep sweep(bits.device().kind == DeviceKind::cuda ? 60'000 : 2'000);
  for (const BatteryGraph& battery : graphs_of_bits(bits.device())) {
    const Graph& graph = battery.graph;
    for (const Dtype dtype : floating_dtypes)
      for (const SddmmOp op : sddmm_ops)
        for (const Target lhs : targets)
          for (const Target rhs : targets)
            for (const std::int64_t width : battery_widths) {
              if (!sweep.next((graph.num_edges() + 1) * width * 4)) continue;
              const std::uint64_t seed = sweep.seed() >> 8;
              const std::int64_t heads = seed % 4 == 0 ? 2 : 1;
              const Tensor left = random_on(bits.device(), Shape(rows_of(graph, lhs), heads, width), dtype, seed);
              const Tensor right =
                  random_divisors(Shape(rows_of(graph, rhs), heads, width), dtype, seed + 1).to(bits.device());
              const ConstTensorView given_left = op == SddmmOp::copy_rhs ? ConstTensorView{} : left.view();
              const ConstTensorView given_right = op == SddmmOp::copy_lhs ? ConstTensorView{} : right.view();
              const SddmmOptions options{op, lhs, rhs};
              const std::int64_t out_width = op == SddmmOp::dot ? 1 : width;
              Way& way = way_for(ways, sweep.seed());
              const Plan plan = planned(way, graph, {OpKind::sddmm, dtype, heads, width, Reduce::sum, false});
              Tensor out = Tensor::zeros(Shape(graph.num_edges(), heads, out_width), dtype, "out", bits.device());
              sddmm(way.context, plan, graph, given_left, given_right, out, options);
              const std::string what = fmt::format("{} {} {} width {} heads {} seed {}", battery.name, name(lhs),
                                                   name(rhs), width, heads, seed);
              bits.add(fmt::format("sddmm {} {}", name(op), name(dtype)), what, to_string(plan), out);
              if (seed % 4 != 1) continue;
              const Tensor grad = random_on(bits.device(), out.shape(), dtype, seed + 2);
              const SddmmGradients gradients =
                  sddmm_backward(bits.context(), graph, given_left, given_right, grad, options);
              bits.add(fmt::format("sddmm_backward {} {}", name(op), name(dtype)), what, "", gradients.lhs,
                       gradients.rhs);
            }
  }
}

void add_softmax_and_segments(Bits& bits) {
  std::uint64_t seed = 5000;
  for (const BatteryGraph& battery : graphs_of_bits(bits.device())) {
    const Graph& graph = battery.graph;
    for (const Dtype dtype : floating_dtypes) {
      for (const std::int64_t heads : {1, 2, 3, 4, 8}) {
        const Tensor scores = random_on(bits.device(), Shape(graph.num_edges(), heads, 1), dtype, ++seed);
        const Tensor alpha = edge_softmax(bits.context(), graph, scores);
        const Tensor grad = random_on(bits.device(), Shape(graph.num_edges(), heads, 1), dtype, ++seed);
        bits.add(fmt::format("softmax {}", name(dtype)), fmt::format("{} heads {}", battery.name, heads), "", alpha,
                 edge_softmax_backward(bits.context(), graph, alpha, grad));
      }
      const Graph on_host = graph.to(Device{});
      for (const Reduce reduce : reducers)
        for (const std::int64_t width : {1, 4, 33, 128}) {
          const Tensor x = random_on(bits.device(), Shape(graph.num_edges(), width), dtype, ++seed);
          const Tensor grad = random_on(bits.device(), Shape(graph.num_rows(), width), dtype, ++seed);
          bits.add(fmt::format("segment_reduce {} {}", name(reduce), name(dtype)),
                   fmt::format("{} width {}", battery.name, width), "",
                   segment_reduce(bits.context(), on_host.offsets(), x, reduce),
                   segment_reduce_backward(bits.context(), on_host.offsets(), x, grad, reduce));
        }
    }
  }
}

}  // namespace weft::test
