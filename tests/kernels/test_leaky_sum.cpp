#include <fmt/format.h>
#include <gtest/gtest.h>

#include "kernels/raw_graph.hpp"
#include "support/oracle.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

using Values = std::vector<double>;

TEST(reference_leaky_sum, works_out_by_hand) {
  const RawGraph graph = five_edges();
  const Values row{1, -1, 0, 0, 0, -2}, col{1, 0, -4, 2, -2, 1}, attn{2, -8}, factor{1, 2, 3, 4, 5};
  Values out(6), absolute(6);
  LeakyArgs args;
  args.graph = graph.view();
  args.width = 2;
  args.row = vectors(row, 2);
  args.col = vectors(col, 2);
  args.attn = {attn.data(), Dtype::f64, 0, 2, 1};
  args.factor = scalars(factor);
  args.slope = 0.25f;
  args.out = output(out, 2);
  // Row 0: u0 gives (2, -1) by edge 3, u2 (-1, 0) by edge 1. Row 2: u1 twice (-4, 0), by 0 and 4, u0 (1, -2) by 2.
  reference::leaky_sum(args, absolute.data());
  EXPECT_EQ(out, (Values{4 * 2 + 2 * -0.25, 4 * -0.25, 0, 0, 6 * -1 + 3 * 1, 3 * -0.5}));
  EXPECT_EQ(absolute, (Values{8.5, 1, 0, 0, 9, 1.5}));
  args.derivative = true;  // 1 above zero, the slope at and below it
  reference::leaky_sum(args, absolute.data());
  EXPECT_EQ(out, (Values{2 * (4 + 2 * 0.25), -8 * (4 + 2) * 0.25, 0, 0, 2 * (6 * 0.25 + 3), -8 * (6 + 3) * 0.25}));
  EXPECT_EQ(absolute, (Values{9, 12, 0, 0, 9, 18}));
}

TEST(reference_leaky_sum, adds_vectors_of_edges) {
  const RawGraph graph = five_edges();
  const Values row{1, -1, 0, 0, 0, -2}, col{1, 0, -4, 2, -2, 1}, attn{2, -8}, factor{1, 2, 3, 4, 5};
  const Values edge{0, 0, 2, -4, 0, 3, 0, 0, 5, 0};
  Values out(6);
  LeakyArgs args;
  args.graph = graph.view();
  args.width = 2;
  args.row = vectors(row, 2);
  args.col = vectors(col, 2);
  args.edge = vectors(edge, 2);
  args.attn = {attn.data(), Dtype::f64, 0, 2, 1};
  args.factor = scalars(factor);
  args.slope = 0.25f;
  args.out = output(out, 2);
  // Row 0: (2, -1) by edge 3, (1, -4) by edge 1. Row 2: (-4, 0) by 0, (1, 0) by 4, (1, 1) by 2.
  reference::leaky_sum(args);
  EXPECT_EQ(out, (Values{4 * 2 + 2 * 1, 4 * -0.25 + 2 * -1, 0, 0, 1 * -1 + 5 * 1 + 3 * 1, 3 * 1}));
  args.derivative = true;
  reference::leaky_sum(args);
  EXPECT_EQ(out, (Values{2 * (4 + 2), -8 * (4 + 2) * 0.25, 0, 0, 2 * (0.25 + 5 + 3), -8 * (0.25 + 5 * 0.25 + 3)}));
}

/// Everything one call needs, over tensors [nodes, heads, width].
struct LeakyCase {
  Graph graph;
  Tensor row, col, attn, edge, factor;
  LeakyArgs args;

  LeakyCase(const Graph& over, std::int64_t heads, std::int64_t width, Dtype dtype, Dtype factor_dtype, bool with_edges)
      : graph(over) {
    row = random_tensor(Shape(graph.num_rows(), heads, width), dtype, 311);
    col = random_tensor(Shape(graph.num_cols(), heads, width), dtype, 312);
    attn = random_tensor(Shape(1, heads, width), dtype, 313);
    factor = random_tensor(Shape(graph.num_edges(), heads, 1), factor_dtype, 314);
    if (with_edges) edge = random_tensor(Shape(graph.num_edges(), heads, width), dtype, 316);
    args.graph = graph.view();
    args.heads = heads;
    args.width = width;
    args.row = {row.view().data, dtype, heads * width, width, 1};
    args.col = {col.view().data, dtype, heads * width, width, 1};
    args.attn = {attn.view().data, dtype, 0, width, 1};
    args.factor = {factor.view().data, factor_dtype, heads, 1, 0};
    if (edge) args.edge = {edge.view().data, dtype, heads * width, width, 1};
  }

  Expected expected(bool derivative) {
    Expected expected;
    expected.shape = row.shape();
    args.derivative = derivative;
    args.out = result_in(expected.y, expected.shape);
    expected.absolute.resize(expected.y.size());
    reference::leaky_sum(args, expected.absolute.data());
    expected.terms = degrees_of(graph);
    expected.more = 2;  // a message is rounded three times, each by half an eps at most
    // Of three terms up to 2, the sum of two is rounded as well, which counts where the third nearly takes it away.
    const std::int64_t row_size = args.heads * args.width;
    for (std::size_t i = 0; edge && !derivative && i < expected.absolute.size(); ++i)
      expected.absolute[i] += 2 * static_cast<double>(expected.terms[i / static_cast<std::size_t>(row_size)]);
    return expected;
  }

  Tensor run(bool derivative, int threads, const char* policy, Dtype out_dtype) {
    Context context = Context::cpu(threads);
    const OpDesc desc{OpKind::spmm, col.dtype(), args.heads, args.width, Reduce::sum, true};
    const Plan plan = make_plan(context, graph, desc, parse_policy(policy));
    context.reserve(plan.workspace_bytes);
    Tensor out = constant(row.shape(), out_dtype, std::nan(""));
    args.derivative = derivative;
    args.out = {out.view().mutable_data(), out_dtype, args.heads * args.width};
    cpu::leaky_sum(args, plan, context.arena());
    return out;
  }
};

class leaky_sum : public ::testing::TestWithParam<Dtype> {};

TEST_P(leaky_sum, agrees_with_the_reference_on_empty_rows_and_hubs) {
  const Dtype dtype = GetParam(), acc = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  const Graph graphs[] = {tangled_graph(), hub_graph(2500), skewed_graph(40, 5000, 315)};
  for (const Graph& graph : graphs)
    for (const std::int64_t heads : {1, 2})
      for (const std::int64_t width : {1, 3, 8, 33, 64})
        for (const Dtype factor_dtype : {acc, dtype})
          for (const bool with_edges : {false, true}) {
            LeakyCase tested(graph, heads, width, dtype, factor_dtype, with_edges);
            for (const bool derivative : {false, true}) {
              const std::string text = fmt::format("{} of {} edges{}, {}x{}", derivative ? "derivative" : "value",
                                                   graph.num_edges(), with_edges ? " with vectors" : "", heads, width);
              const Expected expected = tested.expected(derivative);
              for (const Dtype out_dtype : {acc, dtype}) {
                const Tensor out = tested.run(derivative, 1, "", out_dtype);
                expect_within_bound(out, expected, text);
                for (const char* policy : {"schedule=rows,tasks=3", "schedule=edge_split,tasks=17"})
                  EXPECT_TRUE(bitwise_equal(out, tested.run(derivative, 3, policy, out_dtype)))
                      << text << " " << policy;
              }
            }
          }
}

INSTANTIATE_TEST_SUITE_P(storage, leaky_sum, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace
}  // namespace weft::test
