// Which calls are planned so that a pass scales their sources before the sums.
#include <gtest/gtest.h>

#include "ops/spmm_inputs.hpp"
#include "support/small_graphs.hpp"
#include "support/values.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

TEST(scaled_sources, are_planned_for_sums_and_for_the_gradients_of_means) {
  const Graph graph = random_graph(40, 50, 4000, 24);
  const Tensor x = random_tensor(Shape(50, 16), Dtype::f32, 25), edge = random_tensor(Shape(4000), Dtype::f32, 26);
  const Tensor cols = random_tensor(Shape(50), Dtype::f32, 27);
  Context context = Context::cpu(2);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  options.reduce = Reduce::mean;
  EXPECT_FALSE(resolve(context, graph, x, {}, options).desc.scales_sources);
  // Backward a mean divides the gradients of its rows.
  EXPECT_EQ(plan_spmm_backward(context, graph, x, {}, options).x.cpu().scaled_rows, 40);
  options.reduce = Reduce::sum;
  EXPECT_EQ(plan_spmm_backward(context, graph, x, {}, options).x.cpu().scaled_rows, 0);
  options.epilogue.col_scale = cols;
  EXPECT_TRUE(resolve(context, graph, x, {}, options).desc.scales_sources);
  options.op = SpmmOp::u_mul_e;
  EXPECT_FALSE(resolve(context, graph, x, edge, options).desc.scales_sources);
  EXPECT_EQ(plan_spmm_backward(context, graph, x, edge, options).x.cpu().scaled_rows, 0);
}

}  // namespace
}  // namespace weft::test
