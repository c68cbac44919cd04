#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/gradients.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

constexpr SddmmOp ops[] = {SddmmOp::dot, SddmmOp::add,      SddmmOp::sub,     SddmmOp::mul,
                           SddmmOp::div, SddmmOp::copy_lhs, SddmmOp::copy_rhs};
constexpr Target targets[] = {Target::u, Target::v, Target::e};

std::int64_t rows_of(const Graph& graph, Target target) {
  return target == Target::u ? graph.num_cols() : target == Target::v ? graph.num_rows() : graph.num_edges();
}

/// Feature shapes of the two sides; 0 stands for a dimension that is not spelled.
struct Features {
  std::int64_t lhs_heads, lhs_width, rhs_heads, rhs_width;
};
constexpr Features features[] = {{0, 0, 0, 0}, {0, 3, 0, 3}, {0, 3, 0, 1}, {0, 0, 0, 3},
                                 {2, 3, 2, 3}, {2, 3, 2, 1}, {2, 1, 0, 3}};

Shape shape_of(std::int64_t rows, std::int64_t heads, std::int64_t width) {
  if (width == 0) return Shape(rows);
  return heads == 0 ? Shape(rows, width) : Shape(rows, heads, width);
}

TEST(sddmm_backward, agrees_with_differences_for_every_op_target_pair_and_shape) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(2);
  for (const SddmmOp op : ops) {
    for (const Target left : targets) {
      for (const Target right : targets) {
        for (const Features& f : features) {
          const SddmmOptions options{op, left, right};
          Tensor lhs, rhs;
          if (op != SddmmOp::copy_rhs)
            lhs = random_tensor(shape_of(rows_of(graph, left), f.lhs_heads, f.lhs_width), Dtype::f64, 51);
          if (op != SddmmOp::copy_lhs)
            rhs = random_divisors(shape_of(rows_of(graph, right), f.rhs_heads, f.rhs_width), Dtype::f64, 52);
          const std::string text = fmt::format("{} {}{} lhs {} rhs {}", name(op), name(left), name(right),
                                               to_string(lhs.shape()), to_string(rhs.shape()));
          const Tensor out_grad = random_tensor(sddmm(context, graph, lhs, rhs, options).shape(), Dtype::f64, 53);
          const SddmmGradients gradients = sddmm_backward(context, graph, lhs, rhs, out_grad, options);
          const auto loss = [&] { return weighted_sum(sddmm(context, graph, lhs, rhs, options), out_grad); };
          if (lhs) expect_gradient(lhs, gradients.lhs, loss, text + ": lhs");
          if (rhs) expect_gradient(rhs, gradients.rhs, loss, text + ": rhs");
        }
      }
    }
  }
}

TEST(sddmm_backward, keeps_the_storage_type) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(1);
  for (const Dtype dtype : floating_dtypes) {
    const Tensor lhs = random_tensor(Shape(graph.num_cols(), 4), dtype, 54);
    const Tensor rhs = random_tensor(Shape(graph.num_rows(), 4), dtype, 55);
    const Tensor out_grad = random_tensor(Shape(graph.num_edges()), dtype, 56);
    const SddmmGradients gradients = sddmm_backward(context, graph, lhs, rhs, out_grad, {});
    EXPECT_EQ(gradients.lhs.dtype(), dtype);
    EXPECT_EQ(gradients.rhs.dtype(), dtype);
  }
}

TEST(sddmm, broadcasts_leading_and_trailing_ones) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(1);
  const Tensor lhs = tensor_of(Shape(5, 1, 2), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, Dtype::f64);
  const Tensor rhs = constant(Shape(6, 3, 1), Dtype::f64, 10);
  const Tensor out = sddmm(context, graph, lhs, rhs, {SddmmOp::mul, Target::u, Target::v});
  EXPECT_EQ(to_string(out.shape()), "[14, 3, 2]");
  // Edge 0 comes from source 0, edge 3 from source 3.
  EXPECT_EQ(out.span<double>()[0], 10);
  EXPECT_EQ(out.span<double>()[5], 20);
  EXPECT_EQ(out.span<double>()[3 * 6], 70);
}

TEST(sddmm, reads_and_writes_slices_of_wider_tensors) {
  const Graph graph = skewed_graph(60, 3000, 57);
  for (const Dtype dtype : floating_dtypes) {
    for (const std::int64_t width : {1, 5, 16, 33}) {
      const Tensor lhs = random_tensor(Shape(60, width), dtype, 58), rhs = random_tensor(Shape(60, width), dtype, 59);
      Context context = Context::cpu(2);
      for (const SddmmOp op : {SddmmOp::dot, SddmmOp::add}) {
        const SddmmOptions options{op, Target::u, Target::v};
        const Tensor plain = sddmm(context, graph, lhs, rhs, options);
        Embedded lhs_slice(lhs), rhs_slice(rhs);
        const Tensor sliced = sddmm(context, graph, lhs_slice.view(), rhs_slice.view(), options);
        ASSERT_EQ(doubles(plain), doubles(sliced)) << name(dtype) << " " << name(op) << " width " << width;
      }
      Embedded out_slice(constant(Shape(graph.num_edges(), width), dtype, 0)), lhs_slice(lhs), rhs_slice(rhs);
      const SddmmOptions options{SddmmOp::mul, Target::u, Target::v};
      const Plan plan = make_plan(context, graph, {OpKind::sddmm, dtype, 1, width, Reduce::sum, true});
      context.reserve(plan.workspace_bytes);
      sddmm(context, plan, graph, lhs_slice.view(), rhs_slice.view(), out_slice.view(), options);
      EXPECT_EQ(doubles(out_slice.view()), doubles(sddmm(context, graph, lhs, rhs, options)));
      EXPECT_TRUE(out_slice.surroundings_untouched());
    }
  }
}

}  // namespace
}  // namespace weft::test
