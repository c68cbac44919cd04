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

}  // namespace
}  // namespace weft::test
