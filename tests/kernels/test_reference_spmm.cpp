#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/dispatch.hpp"
#include "kernels/raw_graph.hpp"

namespace weft::test {
namespace {

using Values = std::vector<double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// x by source: [1, 10], [2, 20], [3, 30]; edge values by id: 2, 4, 8, 16, 32.
struct reference_spmm : ::testing::Test {
  RawGraph graph = five_edges();
  Values x{1, 10, 2, 20, 3, 30};
  Values edge{2, 4, 8, 16, 32};
  Values out = Values(6, -1), absolute = Values(6, -1);

  SpmmArgs arguments(SpmmOp op, Reduce reduce) {
    SpmmArgs args;
    args.graph = graph.view();
    args.op = op;
    args.reduce = reduce;
    args.width = 2;
    args.x = vectors(x, 2);
    args.edge = scalars(edge);
    args.out = output(out, 2);
    return args;
  }
  Values run(SpmmArgs args) {
    reference::spmm(args, absolute.data());
    return out;
  }
};

TEST_F(reference_spmm, follows_edge_ids_and_writes_zero_in_empty_rows) {
  // Row 0: 16 * x0 + 4 * x2; row 2: 2 * x1 + 32 * x1 + 8 * x0.
  EXPECT_EQ(run(arguments(SpmmOp::u_mul_e, Reduce::sum)), (Values{28, 280, 0, 0, 76, 760}));
}

TEST_F(reference_spmm, computes_every_op) {
  EXPECT_EQ(run(arguments(SpmmOp::copy_u, Reduce::sum)), (Values{4, 40, 0, 0, 5, 50}));
  EXPECT_EQ(run(arguments(SpmmOp::copy_e, Reduce::sum)), (Values{20, 20, 0, 0, 42, 42}));
  EXPECT_EQ(run(arguments(SpmmOp::u_add_e, Reduce::sum)), (Values{24, 60, 0, 0, 47, 92}));
  EXPECT_EQ(run(arguments(SpmmOp::u_sub_e, Reduce::sum)), (Values{-16, 20, 0, 0, -37, 8}));
  EXPECT_EQ(run(arguments(SpmmOp::u_div_e, Reduce::sum)), (Values{0.8125, 8.125, 0, 0, 1.1875, 11.875}));
}

TEST_F(reference_spmm, computes_every_reducer) {
  EXPECT_EQ(run(arguments(SpmmOp::u_mul_e, Reduce::mean)), (Values{14, 140, 0, 0, 76.0 / 3, 760.0 / 3}));
  EXPECT_EQ(run(arguments(SpmmOp::u_mul_e, Reduce::max)), (Values{16, 160, 0, 0, 64, 640}));
  EXPECT_EQ(run(arguments(SpmmOp::u_mul_e, Reduce::min)), (Values{12, 120, 0, 0, 4, 40}));
}

TEST_F(reference_spmm, gives_args_of_the_winner_and_minus_one_in_empty_rows) {
  std::vector<NodeId> arg_u(6);
  std::vector<EdgeId> arg_e(6);
  SpmmArgs args = arguments(SpmmOp::u_mul_e, Reduce::max);
  args.arg_u = arg_u.data();
  args.arg_e = arg_e.data();
  run(args);
  EXPECT_EQ(arg_u, (std::vector<NodeId>{0, 0, -1, -1, 1, 1}));
  EXPECT_EQ(arg_e, (std::vector<EdgeId>{3, 3, -1, -1, 4, 4}));
}

TEST_F(reference_spmm, lets_the_first_stored_edge_win_a_tie) {
  std::vector<EdgeId> arg_e(6);
  for (const Reduce reduce : {Reduce::max, Reduce::min}) {
    SpmmArgs args = arguments(SpmmOp::copy_u, reduce);
    x = {7, 7, 7, 7, 7, 7};
    args.arg_e = arg_e.data();
    run(args);
    EXPECT_EQ(arg_e, (std::vector<EdgeId>{3, 3, -1, -1, 0, 0}));
  }
}

TEST_F(reference_spmm, passes_the_first_nan_through_max_and_min) {
  std::vector<EdgeId> arg_e(6);
  edge = {2, 4, nan, 16, nan};  // row 2 stores ids 0, 4, 2
  for (const Reduce reduce : {Reduce::max, Reduce::min}) {
    SpmmArgs args = arguments(SpmmOp::u_mul_e, reduce);
    args.arg_e = arg_e.data();
    run(args);
    EXPECT_TRUE(std::isnan(out[4]));
    EXPECT_EQ(arg_e[4], 4);
    EXPECT_FALSE(std::isnan(out[0]));
  }
}

TEST_F(reference_spmm, keeps_infinities_apart_from_empty_rows) {
  x = {-infinity, infinity, -infinity, infinity, -infinity, infinity};
  EXPECT_EQ(run(arguments(SpmmOp::copy_u, Reduce::max)), (Values{-infinity, infinity, 0, 0, -infinity, infinity}));
  EXPECT_EQ(run(arguments(SpmmOp::copy_u, Reduce::min)), (Values{-infinity, infinity, 0, 0, -infinity, infinity}));
}

TEST_F(reference_spmm, applies_the_epilogue_in_its_order_also_to_empty_rows) {
  const Values row_scale{2, 5, -1}, col_scale{1, 10, 100}, bias{0.5, -3};
  SpmmArgs args = arguments(SpmmOp::u_mul_e, Reduce::sum);
  args.row_scale = scalars(row_scale);
  args.col_scale = scalars(col_scale);
  args.bias = {bias.data(), Dtype::f64, 0, 2, 1};
  // Row 0: 2 * (16 * 1 + 4 * 3 * 100) + bias; row 2: -(34 * 2 * 10 + 8 * 1) + bias.
  EXPECT_EQ(run(args), (Values{2432.5, 24317, 0.5, -3, -687.5, -6883}));
  args.relu = true;
  EXPECT_EQ(run(args), (Values{2432.5, 24317, 0.5, 0, 0, 0}));
}

TEST_F(reference_spmm, adds_the_own_row_of_x_times_its_scale_between_row_scale_and_bias) {
  const Values row_scale{2, 5, -1}, self_scale{10, -1, 0.5}, bias{0.5, -3};
  SpmmArgs args = arguments(SpmmOp::u_mul_e, Reduce::sum);
  const Values plain = run(args);
  args.row_scale = scalars(row_scale);
  args.self_scale = scalars(self_scale);
  args.bias = {bias.data(), Dtype::f64, 0, 2, 1};
  Values expected;
  for (std::size_t i = 0; i < plain.size(); ++i)
    expected.push_back(row_scale[i / 2] * plain[i] + self_scale[i / 2] * x[i] + bias[i % 2]);
  EXPECT_EQ(run(args), expected);
}

TEST_F(reference_spmm, scales_by_column_before_choosing_the_largest) {
  const Values col_scale{-1, 1, 1};
  SpmmArgs args = arguments(SpmmOp::copy_u, Reduce::max);
  args.col_scale = scalars(col_scale);
  EXPECT_EQ(run(args), (Values{3, 30, 0, 0, 2, 20}));
  args.reduce = Reduce::min;
  EXPECT_EQ(run(args), (Values{-1, -10, 0, 0, -1, -10}));
}

TEST_F(reference_spmm, reports_the_sum_of_absolute_terms) {
  edge = {2, -4, 8, 16, -32};
  run(arguments(SpmmOp::u_mul_e, Reduce::sum));
  EXPECT_EQ(out, (Values{4, 40, 0, 0, -52, -520}));
  EXPECT_EQ(absolute, (Values{28, 280, 0, 0, 76, 760}));
  run(arguments(SpmmOp::u_mul_e, Reduce::mean));
  EXPECT_EQ(absolute, (Values{14, 140, 0, 0, 76.0 / 3, 760.0 / 3}));
  run(arguments(SpmmOp::u_mul_e, Reduce::min));
  EXPECT_EQ(absolute, (Values{12, 120, 0, 0, 64, 640}));
}

TEST_F(reference_spmm, broadcasts_by_strides_over_heads_and_features) {
  // One feature per head for x, [N, 2, 1]; edge values a vector shared by the heads, [E, 3].
  const Values edge_vectors{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2};
  Values wide(18, -1);
  SpmmArgs args = arguments(SpmmOp::u_mul_e, Reduce::sum);
  args.heads = 2;
  args.width = 3;
  args.x = heads(x, 2);
  args.edge = vectors(edge_vectors, 3);
  args.out = output(wide, 6);
  reference::spmm(args);
  EXPECT_EQ(wide, (Values{1, 4, 1, 10, 40, 10, 0, 0, 0, 0, 0, 0, 6, 4, 5, 60, 40, 50}));
}

TEST_F(reference_spmm, reads_and_writes_every_storage_type_with_one_rounding) {
  const float x32[] = {1, 10, 2, 20, 3, 30};
  const Half edge16[] = {Half(2), Half(4), Half(8), Half(16), Half(32)};
  std::vector<BFloat16> result(6);
  SpmmArgs args = arguments(SpmmOp::u_mul_e, Reduce::sum);
  args.x = {x32, Dtype::f32, 2, 0, 1};
  args.edge = {edge16, Dtype::f16, 1, 0, 0};
  args.out = {result.data(), Dtype::bf16, 2};
  reference::spmm(args);
  Values rounded;
  for (const BFloat16 value : result) rounded.push_back(convert<double>(value));
  EXPECT_EQ(rounded, (Values{28, 280, 0, 0, 76, 760}));
}

TEST_F(reference_spmm, writes_only_inside_its_leading_dimension) {
  Values wide(12, -7);
  SpmmArgs args = arguments(SpmmOp::copy_u, Reduce::sum);
  args.out = {wide.data() + 1, Dtype::f64, 4};
  reference::spmm(args);
  EXPECT_EQ(wide, (Values{-7, 4, 40, -7, -7, 0, 0, -7, -7, 5, 50, -7}));
}

}  // namespace
}  // namespace weft::test
