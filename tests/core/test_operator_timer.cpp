// Times of operators: what counts, and what does not.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "core/operator_timer.hpp"

namespace weft {
namespace {

TEST(operator_timer, counts_calls_by_name_in_the_order_they_were_first_run) {
  Context context = Context::cpu(1);
  { const TimedOperator before(context, "not timed"); }
  EXPECT_TRUE(context.operator_times().empty());
  context.time_operators(true);
  for (const char* name : {"b", "a", "b"}) {
    const TimedOperator timed(context, name);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  const std::vector<OperatorTime> times = context.operator_times();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].name, "b");
  EXPECT_EQ(times[0].calls, 2);
  EXPECT_GE(times[0].seconds, 0.004);
  EXPECT_EQ(times[1].calls, 1);
  context.time_operators(true);
  EXPECT_TRUE(context.operator_times().empty()) << "timing begins from nothing";
}

TEST(operator_timer, counts_the_outermost_of_operators_that_call_others) {
  Context context = Context::cpu(1);
  context.time_operators(true);
  {
    const TimedOperator outer(context, "outer");
    const TimedOperator inner(context, "inner");
  }
  { const TimedOperator alone(context, "inner"); }
  const std::vector<OperatorTime> times = context.operator_times();
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].calls, 1);
  EXPECT_EQ(times[1].calls, 1);
}

TEST(operator_timer, goes_on_after_an_operator_that_failed) {
  Context context = Context::cpu(1);
  context.time_operators(true);
  try {
    const TimedOperator failing(context, "fails");
    throw std::runtime_error("no");
  } catch (const std::runtime_error&) {
  }
  { const TimedOperator next(context, "next"); }
  ASSERT_EQ(context.operator_times().size(), 2u);
  EXPECT_EQ(context.operator_times()[1].calls, 1);
}

TEST(operator_timer, of_a_scope_leaves_the_callers_own_as_it_was) {
  Context context = Context::cpu(1);
  context.time_operators(true);
  { const TimedOperator mine(context, "mine"); }
  {
    const TimedScope scope(context, true);
    const TimedOperator inside(context, "inside");
    EXPECT_EQ(scope.times().size(), 1u);
  }
  ASSERT_EQ(context.operator_times().size(), 1u);
  EXPECT_EQ(context.operator_times()[0].name, "mine");
  const TimedScope off(context, false);
  EXPECT_TRUE(off.times().empty());
  { const TimedOperator still(context, "mine"); }
  EXPECT_EQ(context.operator_times()[0].calls, 2);
}

}  // namespace
}  // namespace weft
