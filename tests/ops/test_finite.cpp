// The check that says where a result stopped being a number.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <limits>

#include "support/errors.hpp"
#include "support/oracle.hpp"

namespace weft::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

TEST(check_finite, is_content_with_numbers_and_with_nothing) {
  const Context context = Context::cpu(2);
  for (const Dtype dtype : floating_dtypes) {
    EXPECT_NO_THROW(check_finite(context, constant(Shape(100, 7), dtype, largest_value(dtype))));
    EXPECT_NO_THROW(check_finite(context, constant(Shape(0, 7), dtype, 0)));
    EXPECT_NO_THROW(check_finite(context, constant(Shape(7, 0), dtype, 0)));
  }
}

TEST(check_finite, names_the_first_row_and_what_it_found) {
  const Context context = Context::cpu(2);
  for (const Dtype dtype : floating_dtypes) {
    std::vector<double> values(60, 1.0);
    values[47] = inf;
    values[58] = nan;
    const auto found = [&](Shape shape, const char* what) {
      expect_refused([&] { check_finite(context, Tensor::from(values, shape, dtype), "h"); }, what);
    };
    found(Shape(60), "h[47] is infinite");
    found(Shape(10, 6), "h[7, 5] is infinite");
    found(Shape(5, 4, 3), "h[3, 3, 2] is infinite");
    values[2] = nan;
    found(Shape(10, 6), "h[0, 2] is nan");
    values[2] = -inf;
    found(Shape(10, 6), "h[0, 2] is infinite");
  }
}

TEST(check_finite, looks_at_a_slice_of_a_wider_tensor_and_no_further) {
  const Context context = Context::cpu(1);
  const Tensor wide = tensor_of(Shape(3, 4), {1, 2, 3, inf, 1, 2, 3, inf, 1, nan, 3, inf}, Dtype::f16);
  ConstTensorView slice = wide;
  slice.shape = Shape(2, 3);
  EXPECT_NO_THROW(check_finite(context, slice));
  slice.shape = Shape(3, 3);
  expect_refused([&] { check_finite(context, slice); }, "tensor[2, 1] is nan");
}

TEST(check_finite, refuses_a_tensor_it_cannot_read) {
  const Context context = Context::cpu(1);
  expect_refused([&] { check_finite(context, {}, "h"); }, "h is missing");
  expect_refused([&] { check_finite(context, Tensor::zeros(Shape(3), Dtype::i32), "h"); }, "dtype i32");
}

/// Two rows, the second of which has 70 edges of 1000, with the environment as given: what is said of it.
[[noreturn]] void sum_past_the_range(const char* asked) {
  setenv("WEFT_CHECK_FINITE", asked, 1);
  const Graph graph = Graph::from_csr(2, 1, std::vector<EdgeId>{0, 2, 72}, std::vector<NodeId>(72, 0));
  Context context = Context::cpu(1);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  try {
    spmm(context, graph, constant(Shape(1, 3), Dtype::f16, 1000), {}, options);
  } catch (const Error& error) {
    std::cerr << error.what();
    std::exit(1);
  }
  std::cerr << "nothing";
  std::exit(0);
}

TEST(check_finite, runs_after_every_operator_where_the_environment_asks_for_it) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // the environment is read once a process
  EXPECT_EXIT(sum_past_the_range("1"), ::testing::ExitedWithCode(1), "out of spmm.1, 0. is infinite");
  EXPECT_EXIT(sum_past_the_range("0"), ::testing::ExitedWithCode(0), "nothing");
}

}  // namespace
}  // namespace weft::test
