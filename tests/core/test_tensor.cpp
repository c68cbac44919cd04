#include <gtest/gtest.h>

#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/memory.hpp"
#include "support/errors.hpp"
#include "weft/context.hpp"
#include "weft/tensor.hpp"

namespace weft {
namespace {

using test::expect_refused;

constexpr std::int64_t huge = std::int64_t{1} << 40;

// Views of a tensor with a name compile, those of a temporary do not; as an argument a temporary is read.
template <class T>
concept HasView = requires(T&& tensor) {
  std::forward<T>(tensor).view();
};
template <class T>
concept HasSpan = requires(T&& tensor) {
  std::forward<T>(tensor).template span<float>();
};
static_assert(HasView<Tensor&> && HasView<const Tensor&> && !HasView<Tensor> && !HasView<const Tensor>);
static_assert(HasSpan<Tensor&> && HasSpan<const Tensor&> && !HasSpan<Tensor> && !HasSpan<const Tensor>);
static_assert(std::is_convertible_v<Tensor&, TensorView> && !std::is_constructible_v<TensorView, Tensor>);
static_assert(!std::is_constructible_v<TensorView, const Tensor&>);
static_assert(std::is_convertible_v<const Tensor&, ConstTensorView> && std::is_convertible_v<Tensor, ConstTensorView>);

TEST(shape, knows_what_was_spelled) {
  EXPECT_EQ(to_string(Shape(5)), "[5]");
  EXPECT_EQ(to_string(Shape(5, 16)), "[5, 16]");
  EXPECT_EQ(to_string(Shape(5, 4, 16)), "[5, 4, 16]");
  EXPECT_EQ(Shape(5, 4, 16).row_size(), 64);
  EXPECT_EQ(Shape(5, 4, 16).size(), 320);
  EXPECT_FALSE(Shape(5) == Shape(5, 1));
  EXPECT_EQ(Shape(3'000'000'000, 2).size(), 6'000'000'000);
}

TEST(tensor, owns_aligned_memory_of_its_shape) {
  const std::size_t before = memory_stats().live_bytes;
  {
    const Tensor tensor = Tensor::zeros(Shape(3, 5), Dtype::f32);
    EXPECT_TRUE(tensor);
    EXPECT_EQ(tensor.bytes(), 60u);
    EXPECT_EQ(memory_stats().live_bytes - before, 60u);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.view().data) % 64, 0u);
    for (const float value : tensor.span<float>()) EXPECT_EQ(value, 0.0f);
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(tensor, may_be_empty_and_is_then_still_given) {
  const Tensor tensor = Tensor::zeros(Shape(0, 7), Dtype::f64);
  EXPECT_TRUE(tensor);
  EXPECT_TRUE(tensor.view().given);
  EXPECT_EQ(tensor.bytes(), 0u);
  EXPECT_FALSE(Tensor());
  EXPECT_FALSE(Tensor().clone());
}

TEST(tensor, refuses_shapes_that_are_negative_or_pass_2_to_63) {
  expect_refused([] { Tensor::empty(Shape(-1), Dtype::f32, "weights"); }, "weights");
  expect_refused([] { Tensor::empty(Shape(2, -3), Dtype::f32, "weights"); }, "weights");
  expect_refused([] { Tensor::empty(Shape(huge, huge), Dtype::f32, "weights"); }, "weights");
  expect_refused([] { Tensor::empty(Shape(2, huge, huge), Dtype::f32, "weights"); }, "weights");
  expect_refused([] { Tensor::empty(Shape(std::numeric_limits<std::int64_t>::max()), Dtype::f64, "weights"); },
                 "weights", ErrorCode::out_of_memory);
}

TEST(tensor, says_what_was_asked_for_on_a_gpu_that_is_not_there) {
  if (!cuda_devices().empty()) GTEST_SKIP() << "this machine has a GPU";
  expect_refused(
      [] {
        Tensor::empty(Shape(1), Dtype::f32, "weights", {DeviceKind::cuda, 0});
      },
      "weights", ErrorCode::unsupported);
}

TEST(tensor, says_how_much_was_asked_for_and_what_for) {
  fail_allocation(1);
  try {
    Tensor::empty(Shape(1000, 8), Dtype::f32, "features of the test");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_STREQ(error.what(), "out of memory: 32000 bytes asked for features of the test");
  }
  fail_allocation(0);
}

TEST(tensor, copies_values_with_one_rounding) {
  const std::vector<double> values{1.0, 1.0 + 0x1.0p-11 + 0x1.0p-40, -3.5};
  const Tensor half = Tensor::from(std::span<const double>(values), Shape(3), Dtype::f16);
  EXPECT_EQ(static_cast<float>(half.span<Half>()[1]), 1.0f + 0x1.0p-10f);
  const std::vector<float> floats{1.5f, 2.5f};
  const Tensor integers = Tensor::from(std::span<const float>(floats), Shape(1, 2), Dtype::i32);
  EXPECT_EQ(integers.span<std::int32_t>()[1], 2);
  expect_refused([&] { Tensor::from(std::span<const float>(floats), Shape(3)); }, "values");
  expect_refused([&] { Tensor::from(std::span<const float>(floats), Shape(-2)); }, "shape");
}

TEST(tensor, converts_between_all_dtypes) {
  const std::vector<float> values{0.0f, 1.0f, -2.0f, 100.0f};
  const Dtype all[] = {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i32, Dtype::i64};
  for (const Dtype from : all)
    for (const Dtype to : all) {
      const Tensor tensor = Tensor::from(std::span<const float>(values), Shape(2, 2), from);
      const Tensor converted = tensor.to(to);
      EXPECT_EQ(converted.dtype(), to);
      EXPECT_EQ(converted.shape(), Shape(2, 2));
      const Tensor back = converted.to(Dtype::f32);
      EXPECT_EQ(std::vector<float>(back.span<float>().begin(), back.span<float>().end()), values)
          << name(from) << " to " << name(to);
    }
}

TEST(tensor, clones_apart_and_moves_whole) {
  const std::size_t before = memory_stats().live_bytes;
  {
    Tensor tensor = Tensor::zeros(Shape(4), Dtype::f32);
    Tensor copy = tensor.clone();
    tensor.span<float>()[0] = 7;
    EXPECT_EQ(copy.span<float>()[0], 0.0f);
    const void* memory = tensor.view().data;
    const Tensor moved = std::move(tensor);
    EXPECT_EQ(moved.view().data, memory);
    EXPECT_FALSE(tensor);  // NOLINT: on purpose
    copy = Tensor::zeros(Shape(2), Dtype::f64);
    EXPECT_EQ(memory_stats().live_bytes - before, 32u);
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(tensor, refuses_to_be_read_as_another_dtype) {
  Tensor tensor = Tensor::zeros(Shape(4), Dtype::f32);
  expect_refused([&] { tensor.span<double>(); }, "f64");
  expect_refused([&] { tensor.view().as<Half>(); }, "f32");
}

TEST(columns, are_a_window_on_the_same_memory) {
  Tensor tensor = Tensor::zeros(Shape(2, 5), Dtype::f32);
  const TensorView window = columns(tensor.view(), 1, 3);
  EXPECT_EQ(window.shape, Shape(2, 3));
  EXPECT_EQ(window.ld, 5);
  window.as<float>()[window.ld] = 4;
  EXPECT_EQ(tensor.span<float>()[6], 4.0f);
  EXPECT_EQ(columns(tensor.view(), 5, 0).shape.width, 0);
  expect_refused([&] { columns(tensor.view(), -1, 2); }, "columns");
  expect_refused([&] { columns(tensor.view(), 3, 3); }, "columns");
  expect_refused([&] { columns(tensor.view(), 0, -1); }, "columns");
  const Tensor cube = Tensor::zeros(Shape(2, 2, 2), Dtype::f32);
  expect_refused([&] { columns(cube.view(), 0, 1); }, "columns");
}

TEST(per_head, reads_a_matrix_as_one_scalar_a_head) {
  Tensor tensor = Tensor::zeros(Shape(2, 5), Dtype::f32);
  EXPECT_EQ(per_head(tensor.view()).shape, Shape(2, 5, 1));
  const Tensor scalars = Tensor::zeros(Shape(4), Dtype::f32);
  EXPECT_EQ(per_head(scalars.view()).shape, Shape(4, 1, 1));
  const Tensor cube = Tensor::zeros(Shape(2, 2, 2), Dtype::f32);
  expect_refused([&] { per_head(cube.view()); }, "per_head");
}

TEST(tensor, truncated_keeps_its_first_rows) {
  const float values[] = {1, 2, 3, 4, 5, 6};
  Tensor tensor = Tensor::from(std::span<const float>(values), Shape(3, 2));
  tensor.truncate(2);
  EXPECT_EQ(tensor.shape().rows, 2);
  EXPECT_EQ(std::vector<float>(tensor.span<float>().begin(), tensor.span<float>().end()),
            (std::vector<float>{1, 2, 3, 4}));
  expect_refused([&] { tensor.truncate(3); }, "rows");
  expect_refused([&] { tensor.truncate(-1); }, "rows");
}

}  // namespace
}  // namespace weft
