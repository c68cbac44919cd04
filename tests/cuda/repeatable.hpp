// The same bits every time, from runs that allocate nothing.
#pragma once

#include <initializer_list>

#include "cuda/gpu.hpp"
#include "support/compare.hpp"
#include "support/values.hpp"
#include "weft/ops.hpp"

namespace weft::test {

/// A hundred runs of the weighted sum give the bits of the first, and allocate nothing.
inline void expect_repeatable(const Graph& graph, std::initializer_list<const char*> policies,
                              std::initializer_list<std::int64_t> widths) {
  Context context = Context::cuda();
  const Graph there = graph.to(gpu);
  for (const char* policy : policies) {
    for (const std::int64_t width : widths) {
      const Tensor x = random_tensor(Shape(graph.num_cols(), width), Dtype::f32, 3).to(gpu);
      const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 4).to(gpu);
      const Plan plan =
          make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, width, Reduce::sum, true}, parse_policy(policy));
      context.reserve(plan.workspace_bytes);
      Tensor out = Tensor::zeros(Shape(graph.num_rows(), width), Dtype::f32, "out", gpu);
      spmm(context, plan, there, x, edge, out);
      const Tensor first = out.to(Device{});
      for (int run = 0; run < 100; ++run) {
        const std::size_t before = memory_stats(gpu).allocations;
        spmm(context, plan, there, x, edge, out);
        EXPECT_EQ(memory_stats(gpu).allocations, before);
        ASSERT_TRUE(bitwise_equal(out.to(Device{}), first)) << policy << " width " << width << " run " << run;
      }
    }
  }
}

}  // namespace weft::test
