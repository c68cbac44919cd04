#include "kernels/semantics.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "core/names.hpp"

namespace weft::test {
namespace {

template <class Op>
double value(Op op, double left, double right) {
  return semantics::with_meaning(op, [&](auto meaning) { return decltype(meaning)::Value::of(left, right); });
}
template <class Op>
semantics::Slope slope(Op op, bool by_left) {
  return semantics::with_meaning(op, [&](auto meaning) {
    using Meaning = decltype(meaning);
    return by_left ? Meaning::by_left : Meaning::by_right;
  });
}
template <class Op>
double derivative(Op op, bool by_left, double left, double right) {
  return semantics::with_meaning(op, [&](auto meaning) {
    using Meaning = decltype(meaning);
    return by_left ? semantics::evaluate<Meaning::by_left>(left, right)
                   : semantics::evaluate<Meaning::by_right>(left, right);
  });
}

template <class Op>
std::vector<Op> all() {
  std::vector<Op> ops;
  for (unsigned i = 0; i <= static_cast<unsigned>(last_of<Op>()); ++i) ops.push_back(static_cast<Op>(i));
  return ops;
}

TEST(semantics, messages_are_what_their_names_say) {
  EXPECT_EQ(value(SpmmOp::copy_u, 3, 4), 3);
  EXPECT_EQ(value(SpmmOp::copy_e, 3, 4), 4);
  EXPECT_EQ(value(SpmmOp::u_add_e, 3, 4), 7);
  EXPECT_EQ(value(SpmmOp::u_sub_e, 3, 4), -1);
  EXPECT_EQ(value(SpmmOp::u_mul_e, 3, 4), 12);
  EXPECT_EQ(value(SpmmOp::u_div_e, 3, 4), 0.75);
}

TEST(semantics, elements_of_sddmm_are_what_their_names_say) {
  EXPECT_EQ(value(SddmmOp::dot, 3, 4), 12);
  EXPECT_EQ(value(SddmmOp::add, 3, 4), 7);
  EXPECT_EQ(value(SddmmOp::sub, 3, 4), -1);
  EXPECT_EQ(value(SddmmOp::mul, 3, 4), 12);
  EXPECT_EQ(value(SddmmOp::div, 3, 4), 0.75);
  EXPECT_EQ(value(SddmmOp::copy_lhs, 3, 4), 3);
  EXPECT_EQ(value(SddmmOp::copy_rhs, 3, 4), 4);
}

template <class Op>
void expect_slopes() {
  constexpr double step = 0x1p-20;
  for (const Op op : all<Op>())
    for (const double left : {-2.0, 0.5, 3.0})
      for (const double right : {-4.0, 0.75, 5.0}) {
        const double by_left = (value(op, left + step, right) - value(op, left - step, right)) / (2 * step);
        const double by_right = (value(op, left, right + step) - value(op, left, right - step)) / (2 * step);
        EXPECT_NEAR(derivative(op, true, left, right), by_left, 1e-8) << name(op) << " of " << left << ", " << right;
        EXPECT_NEAR(derivative(op, false, left, right), by_right, 1e-8) << name(op) << " of " << left << ", " << right;
      }
}

TEST(semantics, slopes_are_the_derivatives_of_their_formulas) {
  expect_slopes<SpmmOp>();
  expect_slopes<SddmmOp>();
}

TEST(semantics, operands_that_are_not_read_have_no_slope) {
  for (const SpmmOp op : all<SpmmOp>()) {
    EXPECT_EQ(semantics::reads_left(op), uses_node(op)) << name(op);
    EXPECT_EQ(semantics::reads_right(op), uses_edge(op)) << name(op);
    EXPECT_EQ(slope(op, true).sign != 0, uses_node(op)) << name(op);
    EXPECT_EQ(slope(op, false).sign != 0, uses_edge(op)) << name(op);
  }
  for (const SddmmOp op : all<SddmmOp>()) {
    EXPECT_EQ(slope(op, true).sign != 0, semantics::reads_left(op)) << name(op);
    EXPECT_EQ(slope(op, false).sign != 0, semantics::reads_right(op)) << name(op);
  }
}

TEST(semantics, the_first_of_equals_stays_the_largest_and_the_first_nan_wins) {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(semantics::replaces(2.0f, 1.0f));
  EXPECT_FALSE(semantics::replaces(1.0f, 1.0f));
  EXPECT_FALSE(semantics::replaces(0.0f, -0.0f));
  EXPECT_FALSE(semantics::replaces(1.0f, 2.0f));
  EXPECT_TRUE(semantics::replaces(nan, infinity));
  EXPECT_FALSE(semantics::replaces(infinity, nan));
  EXPECT_FALSE(semantics::replaces(nan, nan));
  EXPECT_TRUE(semantics::replaces(-std::numeric_limits<float>::max(), semantics::below_all<float>()));
  EXPECT_FALSE(semantics::replaces(-infinity, semantics::below_all<float>()));
}

}  // namespace
}  // namespace weft::test
