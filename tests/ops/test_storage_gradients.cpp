// Gradients in every storage type against those of float64, which differences have judged, on graphs
// and widths large enough for every vector path. Inputs are the same numbers in both.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/compare.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

constexpr Dtype narrow_dtypes[] = {Dtype::f32, Dtype::f16, Dtype::bf16};
constexpr std::int64_t widths[] = {1, 7, 16, 33};

/// One rounding of the storage type and a few of float32 sums, of the largest gradient in the tensor and of
/// `more`.
void expect_close(const Tensor& narrow, const Tensor& wide, const std::string& context, double more = 0) {
  ASSERT_TRUE(narrow) << context;
  ASSERT_EQ(to_string(narrow.shape()), to_string(wide.shape())) << context;
  const double step = narrow.dtype() == Dtype::f32 ? 0x1p-18 : narrow.dtype() == Dtype::f16 ? 0x1p-10 : 0x1p-7;
  const std::vector<double> actual = doubles(narrow), expected = doubles(wide);
  double largest = more;
  for (const double value : expected) largest = std::max(largest, std::fabs(value));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::fabs(actual[i] - expected[i]) <= step * largest) continue;
    if (++wrong <= 3)
      ADD_FAILURE() << context << ": element " << i << " is " << actual[i] << ", in f64 " << expected[i];
  }
  EXPECT_EQ(wrong, 0u) << context << ": of " << actual.size();
}

/// Both rows and columns longer than a piece.
Graph graph_with_hubs() {
  Random random(211);
  std::vector<NodeId> destinations, sources;
  for (int k = 0; k < 6000; ++k) {
    destinations.push_back(k % 3 == 0 ? 4 : static_cast<NodeId>(random.integer(0, 59)));
    sources.push_back(k % 4 == 0 ? 2 : static_cast<NodeId>(random.integer(0, 49)));
  }
  return Graph::from_edges({.num_sources = 50, .num_destinations = 60},
                           {.sources = sources, .destinations = destinations});
}

TEST(storage_gradients, of_spmm) {
  const Graph graph = graph_with_hubs();
  Context context = Context::cpu(2);
  for (const Dtype dtype : narrow_dtypes) {
    for (const std::int64_t width : widths) {
      for (const bool vector_edges : {false, true}) {
        const Tensor x = random_tensor(Shape(50, 2, width), dtype, 212), x64 = x.to(Dtype::f64);
        const Tensor edge = random_divisors(Shape(6000, 2, vector_edges ? width : 1), dtype, 213);
        const Tensor edge64 = edge.to(Dtype::f64);
        const Tensor grad = random_tensor(Shape(60, 2, width), dtype, 214), grad64 = grad.to(Dtype::f64);
        for (const SpmmOp op :
             {SpmmOp::copy_u, SpmmOp::copy_e, SpmmOp::u_add_e, SpmmOp::u_sub_e, SpmmOp::u_mul_e, SpmmOp::u_div_e}) {
          for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min}) {
            const auto backward = [&](ConstTensorView a, ConstTensorView b, ConstTensorView g) {
              if (!uses_node(op)) a = {};
              if (!uses_edge(op)) b = {};
              SpmmOptions options;
              options.op = op;
              options.reduce = reduce;
              Tensor arg_u, arg_e;
              if (reduce == Reduce::max || reduce == Reduce::min) {
                const Shape shape = spmm(context, graph, a, b, options).shape();
                arg_u = Tensor::empty(shape, Dtype::i32);
                arg_e = Tensor::empty(shape, Dtype::i64);
                options.arg_u = arg_u;
                options.arg_e = arg_e;
                spmm(context, graph, a, b, options);
              }
              return spmm_backward(context, graph, a, b, g, options);
            };
            const bool narrow_output = op == SpmmOp::copy_e && !vector_edges && width > 1;
            if (narrow_output) continue;  // the output is one feature wide, not the gradient's width
            const SpmmGradients narrow = backward(x, edge, grad), wide = backward(x64, edge64, grad64);
            const std::string text = fmt::format("{} {} {} width {}{}", name(dtype), name(op), name(reduce), width,
                                                 vector_edges ? " vector edges" : "");
            if (uses_node(op)) expect_close(narrow.x, wide.x, text + ": x");
            if (uses_edge(op)) expect_close(narrow.edge, wide.edge, text + ": edge");
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST(storage_gradients, of_sddmm) {
  const Graph graph = graph_with_hubs();
  Context context = Context::cpu(2);
  for (const Dtype dtype : narrow_dtypes) {
    for (const std::int64_t width : widths) {
      const Tensor lhs = random_tensor(Shape(50, 2, width), dtype, 215), lhs64 = lhs.to(Dtype::f64);
      const Tensor rhs = random_divisors(Shape(60, 2, width), dtype, 216), rhs64 = rhs.to(Dtype::f64);
      for (const SddmmOp op : {SddmmOp::dot, SddmmOp::add, SddmmOp::sub, SddmmOp::mul, SddmmOp::div}) {
        const SddmmOptions options{op, Target::u, Target::v};
        const Tensor grad = random_tensor(Shape(6000, 2, op == SddmmOp::dot ? 1 : width), dtype, 217);
        const SddmmGradients narrow = sddmm_backward(context, graph, lhs, rhs, grad, options);
        const SddmmGradients wide = sddmm_backward(context, graph, lhs64, rhs64, grad.to(Dtype::f64), options);
        const std::string text = fmt::format("{} {} width {}", name(dtype), name(op), width);
        expect_close(narrow.lhs, wide.lhs, text + ": lhs");
        expect_close(narrow.rhs, wide.rhs, text + ": rhs");
        if (HasFailure()) return;
      }
    }
  }
}

TEST(storage_gradients, of_attention) {
  const Graph graph = graph_with_hubs();
  Context context = Context::cpu(2);
  for (const Dtype dtype : narrow_dtypes) {
    for (const std::int64_t width : widths) {
      for (const Score score : {Score::gat, Score::gatv2, Score::dot}) {
        const std::int64_t depth = score == Score::gat ? 1 : width;
        const Tensor value = random_tensor(Shape(50, 2, width), dtype, 218),
                     bias = random_tensor(Shape(6000, 2, 1), dtype, 219);
        const Tensor src = random_tensor(Shape(50, 2, depth), dtype, 220, -0.5, 0.5);
        const Tensor dst = random_tensor(Shape(60, 2, depth), dtype, 221, -0.5, 0.5);
        const Tensor attn = random_tensor(Shape(1, 2, depth), dtype, 222, -0.5, 0.5);
        const Tensor grad = random_tensor(Shape(60, 2, width), dtype, 223);
        const auto backward = [&](Dtype storage) {
          const Tensor value_in = value.to(storage), src_in = src.to(storage), dst_in = dst.to(storage);
          const Tensor attn_in = attn.to(storage), bias_in = bias.to(storage), grad_in = grad.to(storage);
          AttentionInputs inputs;
          inputs.score = score;
          inputs.value = value_in;
          inputs.src = src_in;
          inputs.dst = dst_in;
          inputs.bias = bias_in;
          if (score == Score::gatv2) inputs.attn = attn_in;
          return attention_backward(context, graph, inputs, attention(context, graph, inputs), grad_in);
        };
        const AttentionGradients narrow = backward(dtype), wide = backward(Dtype::f64);
        const std::string text = fmt::format("{} {} width {}", name(dtype), name(score), width);
        expect_close(narrow.value, wide.value, text + ": value");
        // The gradients of scores read the forward's output as it was stored: rounded, times out_grad, a feature
        // at a time. Outputs and gradients lie in [-2, 2].
        const double rounded = 4 * static_cast<double>(width);
        expect_close(narrow.src, wide.src, text + ": src", rounded);
        expect_close(narrow.dst, wide.dst, text + ": dst", rounded);
        expect_close(narrow.bias, wide.bias, text + ": bias", rounded);
        if (score == Score::gatv2) expect_close(narrow.attn, wide.attn, text + ": attn", rounded);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
