#include <gtest/gtest.h>

#include "plan/cuda/shape_choice.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

/// The shape for so many features in f32, and a change to the usual call.
GatherShape shaped(std::int64_t width, std::string_view policy, OpDesc desc = {OpKind::spmm, Dtype::f32}) {
  desc.width = width;
  return choose_shape(gather_shape(width, 4, 16), desc, parse_policy(policy), false, false);
}

TEST(shape_choice, is_the_usual_one_unless_the_policy_asks) {
  for (const std::int64_t width : {5, 8, 64, 100, 256, 602})
    EXPECT_EQ(shaped(width, "vector=4,edges=64"), gather_shape(width, 4, 16)) << width;
  EXPECT_EQ(shaped(64, "lanes=16,loads=8"), gather_shape(64, 4, 16));
}

TEST(shape_choice, gives_a_lane_two_packs_where_half_the_lanes_are_asked_for) {
  EXPECT_EQ(shaped(64, "lanes=8"), (GatherShape{4, 8, 2, 4}));
  EXPECT_EQ(shaped(128, "lanes=16"), (GatherShape{4, 16, 2, 4}));
  EXPECT_EQ(shaped(8, "lanes=1"), (GatherShape{4, 1, 2, 4}));
}

TEST(shape_choice, keeps_fewer_rows_in_flight_where_asked) {
  EXPECT_EQ(shaped(64, "loads=4"), (GatherShape{4, 16, 1, 4}));
  EXPECT_EQ(shaped(32, "loads=2"), (GatherShape{4, 8, 1, 2}));
}

TEST(shape_choice, refuses_what_has_no_kernel_and_names_the_key) {
  expect_refused([] { shaped(64, "lanes=4"); }, "lanes", ErrorCode::unsupported);
  expect_refused([] { shaped(64, "lanes=32"); }, "lanes", ErrorCode::unsupported);
  expect_refused([] { shaped(64, "lanes=8,loads=2"); }, "loads", ErrorCode::unsupported);
  expect_refused([] { shaped(33, "loads=4"); }, "loads", ErrorCode::unsupported);
  expect_refused([] { shaped(256, "lanes=32"); }, "lanes", ErrorCode::unsupported);
  expect_refused([] { shaped(64, "loads=4", {OpKind::sddmm, Dtype::f32}); }, "loads", ErrorCode::unsupported);
  expect_refused(
      [] {
        shaped(64, "loads=4", {OpKind::spmm, Dtype::f32, 1, 1, Reduce::max});
      },
      "loads", ErrorCode::unsupported);
  expect_refused(
      [] {
        shaped(64, "loads=4", {OpKind::spmm, Dtype::f32, 1, 1, Reduce::sum, false});
      },
      "loads", ErrorCode::unsupported);
}

TEST(attention_shape, shares_weights_where_few_heads_stand_evenly_in_a_step) {
  const GatherShape floats = gather_shape(64, 4, 4), wide = gather_shape(256, 4, 4);
  EXPECT_FALSE(shares_weights(1, 64, 4, floats));
  EXPECT_TRUE(shares_weights(4, 16, 4, floats));
  EXPECT_TRUE(shares_weights(2, 32, 4, floats));
  EXPECT_FALSE(shares_weights(8, 8, 4, floats)) << "eight heads in a step";
  EXPECT_FALSE(shares_weights(4, 12, 4, gather_shape(48, 4, 4))) << "three lanes per head";
  EXPECT_TRUE(shares_weights(4, 64, 4, wide));
  EXPECT_FALSE(shares_weights(8, 64, 4, gather_shape(512, 4, 4))) << "batches of two edges";
  EXPECT_FALSE(shares_weights(4, 16, 8, gather_shape(64, 8, 2))) << "doubles";
}

TEST(attention_shape, has_the_steps_of_a_lane_in_one_head_where_enough_lanes_are_left_to_share_its_weights) {
  const GatherShape floats = gather_shape(256, 4, 4), halves = gather_shape(512, 2, 8);
  EXPECT_TRUE(folds_heads(4, 64, 4, floats)) << "eight lanes per head";
  EXPECT_TRUE(folds_heads(2, 128, 4, floats));
  EXPECT_TRUE(folds_heads(3, 64, 4, gather_shape(192, 4, 4))) << "lanes of a fourth head have nothing";
  EXPECT_TRUE(folds_heads(4, 128, 2, halves));
  EXPECT_TRUE(folds_heads(5, 128, 2, gather_shape(640, 2, 8))) << "in two tiles";
  EXPECT_FALSE(folds_heads(8, 32, 4, floats)) << "four lanes per head";
  EXPECT_FALSE(folds_heads(2, 64, 4, gather_shape(128, 4, 4))) << "one step";
  EXPECT_FALSE(folds_heads(2, 1024, 2, gather_shape(2048, 2, 8))) << "a head wider than a tile";
  EXPECT_FALSE(folds_heads(1, 256, 4, floats)) << "one head";
}

TEST(attention_shape, has_two_blocks_where_registers_hold_more_than_a_sum) {
  const GatherShape floats = gather_shape(64, 4, 4), by_fours = gather_shape(64, 2, 4),
                    by_eights = gather_shape(64, 2, 8);
  EXPECT_EQ(resident_blocks(4, floats), 3);
  EXPECT_EQ(resident_blocks(8, gather_shape(64, 8, 2)), 2);
  EXPECT_EQ(resident_blocks_of_attention(false, false, 4, floats), 3);
  EXPECT_EQ(resident_blocks_of_attention(false, true, 4, floats), 2);
  EXPECT_EQ(resident_blocks_of_attention(false, true, 2, by_fours), 3);
  EXPECT_EQ(resident_blocks_of_attention(false, true, 2, by_eights), 2);
  EXPECT_EQ(resident_blocks_of_attention(true, false, 4, floats), 2);
}

GraphView graph_of(NodeId rows, EdgeId edges) {
  GraphView view;
  view.num_rows = view.num_cols = rows;
  view.num_edges = edges;
  return view;
}

int load_of(const OpDesc& desc, std::string_view policy = "", bool anything = false, NodeId rows = 230'000) {
  return widest_load(desc, parse_policy(policy), graph_of(rows, 110'000'000), tuning::cuda_tunings[0].rates, anything);
}

TEST(shape_choice, loads_eight_halves_of_wide_attention_where_lanes_share_weights) {
  constexpr NodeId short_rows = 8'000'000, long_rows = 230'000;  // 14 and 478 edges
  const auto attention = [](std::int64_t heads, std::int64_t width, bool backward = false) {
    return OpDesc{OpKind::attention, Dtype::f16, heads, width, Reduce::sum, true, backward};
  };
  EXPECT_EQ(load_of(attention(4, 64), "", false, short_rows), 8);
  EXPECT_EQ(load_of(attention(4, 64, true), "", false, short_rows), 8);
  EXPECT_EQ(load_of(attention(1, 256), "", false, short_rows), 8);
  EXPECT_EQ(load_of(attention(2, 64), "", false, short_rows), 4) << "one pack of four a lane";
  EXPECT_EQ(load_of(attention(8, 32), "", false, long_rows), 4) << "four lanes a head of eight heads";
  EXPECT_EQ(load_of(attention(8, 32, true), "", false, long_rows), 4);
  EXPECT_EQ(load_of(attention(8, 8, true), "", false, long_rows), 8) << "too many heads to share by fours as well";
  EXPECT_EQ(load_of(attention(8, 32, true), "", false, short_rows), 4);
}

TEST(shape_choice, loads_what_the_policy_asks_for_or_all_that_fits_unless_rows_are_of_halves) {
  EXPECT_EQ(load_of({OpKind::spmm, Dtype::f16, 1, 64}, "vector=2"), 2);
  EXPECT_GE(load_of({OpKind::spmm, Dtype::f32, 1, 16}), 4);
  EXPECT_GE(load_of({OpKind::spmm, Dtype::f16, 1, 16}, "", true), 8) << "kernels of one shape";
  EXPECT_GE(load_of({OpKind::spmm, Dtype::f16, 1, 16}, "accumulate=half2"), 8) << "pairs come in packs of eight";
}

TEST(shape_choice, loads_eight_halves_only_of_what_is_added_up) {
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    for (const Reduce reduce : {Reduce::sum, Reduce::mean}) EXPECT_EQ(load_of({OpKind::spmm, dtype, 1, 64, reduce}), 8);
    EXPECT_EQ(load_of({OpKind::sddmm, dtype, 1, 64}), 8);
    EXPECT_EQ(load_of({OpKind::sddmm, dtype, 1, 16}), 4);
    EXPECT_EQ(load_of({OpKind::sddmm, dtype, 8, 16}), 4) << "a group covers a head";
    EXPECT_EQ(load_of({OpKind::spmm, dtype, 8, 16}), 8) << "a group covers all heads";
    EXPECT_EQ(load_of({OpKind::spmm, dtype, 1, 32}), 4) << "four lanes of eight have too many sums each";
    EXPECT_EQ(load_of({OpKind::spmm, dtype, 1, 32}, "", false, 10'000'000), 8) << "rows are short";
    EXPECT_EQ(load_of({OpKind::sddmm, dtype, 1, 32}), 8) << "nothing is added up";
    EXPECT_EQ(load_of({OpKind::spmm, dtype, 1, 64, Reduce::max}, "vector=8"), 4) << "there is no such kernel";
    EXPECT_EQ(load_of({OpKind::attention, dtype, 1, 64}), 8);
    EXPECT_EQ(load_of({OpKind::attention, dtype, 1, 64}, "", false, 8'000'000), 4) << "rows are neither short nor long";
    EXPECT_EQ(load_of({OpKind::attention, dtype, 1, 64}, "", false, 2'300'000), 8);
    EXPECT_EQ(load_of({OpKind::attention, dtype, 4, 16}, "", false, 2'300'000), 4) << "several heads hold more";
    EXPECT_EQ(load_of({OpKind::attention, dtype, 1, 64}, "", false, 50'000'000), 8) << "rows are short";
    EXPECT_EQ(load_of({OpKind::attention, dtype, 1, 64}, "vector=8", false, 8'000'000), 8) << "asked for";
    for (const Reduce reduce : {Reduce::max, Reduce::min})
      EXPECT_EQ(load_of({OpKind::spmm, dtype, 1, 64, reduce}), 4) << name(reduce);
  }
}

TEST(shape_choice, of_halves_has_no_more_steps_and_loads_than_its_kernels) {
  EXPECT_EQ(gather_shape(64, 2, 16), (GatherShape{8, 8, 1, 8}));
  EXPECT_EQ(gather_shape(16, 2, 16), (GatherShape{8, 2, 1, 4}));
  EXPECT_EQ(gather_shape(1024, 2, 16), (GatherShape{8, 32, 2, 4}));
  EXPECT_EQ(gather_shape(41, 2, 16), (GatherShape{1, 32, 2, 4}));
}

Accumulate accumulated(std::string_view policy, const OpDesc& desc, bool staged = false) {
  return choose_accumulate(gather_shape(desc.heads * desc.width, static_cast<int>(size_of(desc.dtype)), 16), desc,
                           parse_policy(policy), staged);
}

TEST(shape_choice, adds_pairs_up_where_asked_and_refuses_where_there_are_none) {
  const OpDesc sum{OpKind::spmm, Dtype::f16, 1, 64, Reduce::sum};
  EXPECT_EQ(accumulated("", sum), Accumulate::f32);
  EXPECT_EQ(accumulated("accumulate=f32", sum), Accumulate::f32);
  EXPECT_EQ(accumulated("accumulate=half2", sum), Accumulate::half2);
  EXPECT_EQ(accumulated("accumulate=half2", {OpKind::spmm, Dtype::bf16, 2, 4, Reduce::sum}), Accumulate::half2);
  const char* const pairs = "accumulate=half2";
  expect_refused([&] { accumulated(pairs, sum, true); }, "accumulate");
  for (const OpDesc& other :
       {OpDesc{OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum}, OpDesc{OpKind::spmm, Dtype::f16, 1, 64, Reduce::mean},
        OpDesc{OpKind::spmm, Dtype::f16, 1, 41, Reduce::sum}, OpDesc{OpKind::sddmm, Dtype::f16, 1, 64, Reduce::sum}})
    expect_refused([&] { accumulated(pairs, other); }, "accumulate", ErrorCode::unsupported);
}

TEST(shape_choice, of_an_accumulation_nobody_knows_is_refused) {
  expect_refused([] { parse_policy("accumulate=f16"); }, "accumulate");
}

}  // namespace
}  // namespace weft::test
