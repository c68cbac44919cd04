// weft's own products on a GPU against float64: every epilogue, storage type and kind of size, and the same bits again.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "core/device.hpp"
#include "cuda/gpu.hpp"
#include "dense/cuda/product.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/values.hpp"
#include "weft/dense.hpp"

namespace weft::test {
namespace {

using dense::cuda::OuterArgs;
using dense::cuda::ProductArgs;

class cuda_products : public GpuTest {};

constexpr Dtype storage_types[] = {Dtype::f32, Dtype::f16, Dtype::bf16};
constexpr double bound = 2e-6;  // of the sum of absolute terms, in f32

struct Size {
  std::int64_t k, n;
};
constexpr Size sizes[] = {{64, 64},  {128, 64}, {128, 128}, {64, 40},   {64, 48}, {16, 48},   {128, 40}, {8, 8},
                          {256, 64}, {64, 256}, {256, 256}, {104, 128}, {256, 8}, {200, 136}, {24, 200}};
constexpr Size fours[] = {{100, 128}, {100, 64}, {4, 4}, {12, 100}, {252, 252}, {36, 68}};

std::vector<Size> sizes_of(Dtype dtype) {
  std::vector<Size> all(std::begin(sizes), std::end(sizes));
  if (dtype == Dtype::f32) all.insert(all.end(), std::begin(fours), std::end(fours));
  return all;
}
std::string named(Dtype dtype, std::int64_t m, Size size) {
  return fmt::format("{} [{}, {}] [{}, {}]", name(dtype), m, size.k, size.k, size.n);
}

/// `value` may be off by so much, and rounded to `dtype` once.
bool is_near(Dtype dtype, double actual, double value, double margin) {
  return actual >= rounded_to(dtype, value - margin) && actual <= rounded_to(dtype, value + margin);
}

TEST_F(cuda_products, activations_in_f64_are_refused_rather_than_read_as_f32) {
  Context context = Context::cuda();
  const Tensor x = Tensor::zeros(Shape(3, 4), Dtype::f64, "x", gpu);
  Tensor out = Tensor::zeros(Shape(3, 4), Dtype::f64, "out", gpu);
  const std::string message = refusal_of([&] { activate(context, x, {}, Activation::relu, out); });
  EXPECT_NE(message.find("dtype f64"), message.npos) << message;
  EXPECT_FALSE(refusal_of([&] { activate_backward(context, x, x, Activation::relu, out); }).empty());
}

TEST_F(cuda_products, activations_of_no_columns_have_a_backward_that_does_nothing) {
  Context context = Context::cuda();
  Tensor none = Tensor::zeros(Shape(5, 0), Dtype::f32, "none", gpu),
         bias = Tensor::zeros(Shape(0), Dtype::f32, "b", gpu);
  activate(context, none, bias, Activation::relu, none);
  activate_backward(context, none, none, Activation::relu, none, bias);
  context.synchronise();
}

struct Wanted {
  bool transposed = false, scales = false, adds = false, bias = false, relu = false, gate = false, wide = false;
};

struct Operands {
  Tensor a, b, before, gate, bias, scale;
  Operands(Dtype dtype, std::int64_t m, Size size, const Wanted& wanted)
      : a(random_tensor(Shape(m, size.k), dtype, 1)),
        b(random_tensor(wanted.transposed ? Shape(size.n, size.k) : Shape(size.k, size.n), dtype, 2)),
        before(random_tensor(Shape(m, size.n), wanted.wide ? Dtype::f32 : dtype, 3)),
        gate(random_integers(Shape(m, size.n), dtype, 4, -1, 1)),
        bias(random_tensor(Shape(size.n), Dtype::f32, 5)),
        scale(random_tensor(Shape(m), Dtype::f32, 6)) {}
};

Tensor product_of(const Operands& given, Dtype dtype, std::int64_t m, Size size, const Wanted& wanted) {
  const Tensor a = given.a.to(gpu), b = given.b.to(gpu), gate = given.gate.to(gpu), bias = given.bias.to(gpu),
               scale = given.scale.to(gpu);
  const Dtype out_dtype = wanted.wide ? Dtype::f32 : dtype;
  Tensor c = (wanted.adds ? given.before.clone() : constant(Shape(m, size.n), out_dtype, std::nan(""))).to(gpu);
  ProductArgs args{
      dtype,     m, size.n, size.k, a.view().data, b.view().data, wanted.transposed, c.view().mutable_data(),
      out_dtype, {}};
  if (wanted.scales) args.epilogue.row_scale = scale.view().as<float>();
  if (wanted.bias) args.epilogue.bias = bias.view().as<float>();
  if (wanted.gate) {
    args.epilogue.gate = gate.view().data;
    args.epilogue.gate_scale = 1.25f;
  }
  args.epilogue.adds = wanted.adds;
  args.epilogue.relu = wanted.relu;
  EXPECT_TRUE(supported(args, gpu));
  run(args, gpu, nullptr);
  return c.to(Device{});
}

void expect_product(Dtype dtype, std::int64_t m, Size size, const Wanted& wanted, const Operands& given) {
  const Tensor c = product_of(given, dtype, m, size, wanted);
  const std::vector<double> a = doubles(given.a), b = doubles(given.b), before = doubles(given.before),
                            gate = doubles(given.gate), bias = doubles(given.bias), scale = doubles(given.scale),
                            out = doubles(c);
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < size.n; ++j) {
      const auto at = static_cast<std::size_t>(i * size.n + j);
      double value = 0, absolute = 0;
      for (std::int64_t l = 0; l < size.k; ++l) {
        const double term = a[static_cast<std::size_t>(i * size.k + l)] *
                            b[static_cast<std::size_t>(wanted.transposed ? j * size.k + l : l * size.n + j)];
        value += term;
        absolute += std::fabs(term);
      }
      if (wanted.scales) {
        value *= scale[static_cast<std::size_t>(i)];
        absolute *= std::fabs(scale[static_cast<std::size_t>(i)]);
      }
      if (wanted.adds) value += before[at];
      if (wanted.bias) value += bias[static_cast<std::size_t>(j)];
      absolute += std::fabs(value) + (wanted.adds ? std::fabs(before[at]) : 0);
      if (wanted.relu) value = std::max(value, 0.0);
      if (wanted.gate) value = gate[at] > 0 ? value * 1.25 : 0;
      const double margin = bound * 1.25 * absolute;
      ASSERT_TRUE(is_near(c.dtype(), out[at], value, margin))
          << named(dtype, m, size) << " element " << i << ", " << j << ": " << out[at] << ", not " << value << " +- "
          << margin;
    }
  }
}

TEST_F(cuda_products, are_right_for_every_size) {
  for (const Dtype dtype : storage_types)
    for (const Size size : sizes_of(dtype))
      for (const std::int64_t m : {1, 31, 132})
        for (const bool transposed : {false, true}) {
          const Wanted wanted{transposed};
          ASSERT_NO_FATAL_FAILURE(expect_product(dtype, m, size, wanted, Operands(dtype, m, size, wanted)));
        }
}

TEST_F(cuda_products, take_many_tiles_of_rows_a_warp) {
  for (const Dtype dtype : storage_types) {
    Wanted wanted{.adds = true};
    const std::int64_t m = 132 * 8 * 32 * 2 + 5;
    for (const Size size : {Size{8, 16}, Size{40, 24}, Size{40, 72}}) {
      ASSERT_NO_FATAL_FAILURE(expect_product(dtype, m, size, wanted, Operands(dtype, m, size, wanted)));
      wanted.gate = true;
    }
  }
}

/// Many rows have another kernel than few, where there are more than 64 columns in f32.
TEST_F(cuda_products, of_a_row_have_the_same_bits_among_few_rows_and_many) {
  const Size size{20, 68};
  const std::int64_t few = 1024, many = (1 << 20) + 7;
  const Wanted wanted;
  Operands given(Dtype::f32, few, size, wanted);
  const Tensor once = product_of(given, Dtype::f32, few, size, wanted);
  Tensor repeated = Tensor::empty(Shape(many, size.k), Dtype::f32);
  const std::span<float> rows = repeated.span<float>(), block = given.a.span<float>();
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = block[i % block.size()];
  given.a = std::move(repeated);
  const Tensor c = product_of(given, Dtype::f32, many, size, wanted);
  const std::span<const float> all = c.span<float>(), first = once.span<float>();
  for (std::size_t i = 0; i < all.size(); i += first.size())
    ASSERT_EQ(std::memcmp(&all[i], first.data(), std::min(first.size(), all.size() - i) * sizeof(float)), 0) << i;
}

TEST_F(cuda_products, have_every_epilogue) {
  for (const Dtype dtype : storage_types)
    for (const Size size : {Size{64, 40}, Size{32, 136}})
      for (int bits = 0; bits < 128; ++bits) {
        const auto bit = [&](int i) { return (bits >> i & 1) != 0; };
        const Wanted wanted{bit(0), bit(1), bit(2), bit(3), bit(4), bit(5), bit(6)};
        ASSERT_NO_FATAL_FAILURE(expect_product(dtype, 45, size, wanted, Operands(dtype, 45, size, wanted)));
      }
}

TEST_F(cuda_products, are_as_exact_as_f32_however_values_are_scaled) {
  const std::int64_t m = 100;
  for (const Size size : {Size{256, 64}, Size{128, 128}}) {
    Operands given(Dtype::f32, m, size, {});
    Random random(7);
    const auto any_scale = [&] { return std::exp2(random.uniform(-30, 30)) * (random.next() % 2 == 0 ? 1 : -1); };
    given.a = filled(Shape(m, size.k), Dtype::f32, any_scale);
    given.b = filled(Shape(size.k, size.n), Dtype::f32, any_scale);
    ASSERT_NO_FATAL_FAILURE(expect_product(Dtype::f32, m, size, {}, given));
    // Sums of one sign, where what is cut off would add up.
    given.a = random_tensor(Shape(m, size.k), Dtype::f32, 8, 1, 2);
    given.b = random_tensor(Shape(size.k, size.n), Dtype::f32, 9, 1, 2);
    ASSERT_NO_FATAL_FAILURE(expect_product(Dtype::f32, m, size, {}, given));
  }
}

TEST_F(cuda_products, pass_nan_on_and_saturate_where_asked) {
  const Size size{16, 16};
  Wanted wanted;
  wanted.relu = true;
  for (const Dtype dtype : storage_types) {
    Operands given(dtype, 3, size, wanted);
    given.a = constant(Shape(3, 16), dtype, 1);
    with_floating(dtype, "a", [&](auto tag) {
      using T = typename decltype(tag)::type;
      given.a.span<T>()[16] = convert<T>(std::nan(""));
    });
    const std::vector<double> out = doubles(product_of(given, dtype, 3, size, wanted));
    for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(std::isnan(out[i]), i / 16 == 1) << name(dtype) << " " << i;
  }
  const Tensor a = constant(Shape(2, 16), Dtype::f16, 200).to(gpu),
               b = constant(Shape(16, 16), Dtype::f16, -200).to(gpu);
  for (const bool saturates : {false, true}) {
    Tensor c = Tensor::zeros(Shape(2, 16), Dtype::f16, "c", gpu);
    ProductArgs args{Dtype::f16, 2, 16, 16, a.view().data, b.view().data, false, c.view().mutable_data(),
                     Dtype::f16, {}};
    args.epilogue.saturates = saturates;
    run(args, gpu, nullptr);
    for (const double value : doubles(c.to(Device{}))) EXPECT_EQ(value, saturates ? -65504 : -INFINITY);
  }
}

TEST_F(cuda_products, say_what_they_cannot_do) {
  const Tensor any = Tensor::zeros(Shape(1024), Dtype::f32, "any", gpu);
  const auto* const data = static_cast<const char*>(any.view().data);
  const auto can = [&](Dtype dtype, std::int64_t k, std::int64_t n, int offset = 0) {
    const ProductArgs product{dtype, 2, n, k, data + offset, data, false, const_cast<char*>(data), dtype, {}};
    const OuterArgs outer{dtype, 2, n, k, data + offset, data, nullptr, nullptr, nullptr};
    EXPECT_EQ(supported(product, gpu), supported(outer, gpu));
    return supported(product, gpu);
  };
  EXPECT_TRUE(can(Dtype::f32, 4, 256));
  EXPECT_TRUE(can(Dtype::f16, 8, 256));
  EXPECT_FALSE(can(Dtype::f16, 4, 64));
  EXPECT_FALSE(can(Dtype::f32, 5, 64));
  EXPECT_FALSE(can(Dtype::f32, 64, 260));
  EXPECT_FALSE(can(Dtype::f64, 64, 64));
  EXPECT_FALSE(can(Dtype::f32, 64, 64, 4));
}

struct Outer {
  Tensor out, sums;
};

Outer outer_of(const Tensor& a, const Tensor& g, bool with_sums) {
  const std::int64_t m = a.shape().rows, k = a.shape().width, n = g.shape().width;
  const Tensor there = a.to(gpu), grad = g.to(gpu);
  Tensor out = constant(Shape(k, n), Dtype::f32, std::nan("")).to(gpu);
  Tensor sums = constant(Shape(n), Dtype::f32, std::nan("")).to(gpu);
  OuterArgs args{a.dtype(),
                 m,
                 n,
                 k,
                 there.view().data,
                 grad.view().data,
                 out.view().as<float>(),
                 with_sums ? sums.view().as<float>() : nullptr,
                 nullptr};
  EXPECT_TRUE(supported(args, gpu));
  const DeviceBuffer workspace(gpu, nullptr, workspace_bytes(args), "workspace");
  args.workspace = workspace.data();
  run(args, gpu, nullptr);
  return {out.to(Device{}), sums.to(Device{})};
}

void expect_outer(const Tensor& a, const Tensor& g) {
  const std::int64_t m = a.shape().rows, k = a.shape().width, n = g.shape().width;
  const Outer actual = outer_of(a, g, true);
  std::vector<double> sums(static_cast<std::size_t>((k + 1) * n)), absolute = sums;
  const std::vector<double> as = doubles(a), gs = doubles(g);
  for (std::int64_t r = 0; r < m; ++r)
    for (std::int64_t i = 0; i <= k; ++i) {
      const double factor = i < k ? as[static_cast<std::size_t>(r * k + i)] : 1;
      for (std::int64_t j = 0; j < n; ++j) {
        const double term = factor * gs[static_cast<std::size_t>(r * n + j)];
        sums[static_cast<std::size_t>(i * n + j)] += term;
        absolute[static_cast<std::size_t>(i * n + j)] += std::fabs(term);
      }
    }
  std::vector<double> out = doubles(actual.out);
  for (const double sum : doubles(actual.sums)) out.push_back(sum);
  for (std::size_t i = 0; i < sums.size(); ++i)
    ASSERT_TRUE(is_near(Dtype::f32, out[i], sums[i], bound * absolute[i]))
        << named(a.dtype(), m, {k, n}) << " element " << i << " of a^T g: " << out[i] << ", not " << sums[i] << " +- "
        << bound * absolute[i];
}

TEST_F(cuda_products, of_columns_are_right_for_every_size) {
  for (const Dtype dtype : storage_types)
    for (const Size size : sizes_of(dtype))
      for (const std::int64_t m : {1, 63, 300})
        ASSERT_NO_FATAL_FAILURE(
            expect_outer(random_tensor(Shape(m, size.k), dtype, 11), random_tensor(Shape(m, size.n), dtype, 12)));
}

TEST_F(cuda_products, of_columns_add_up_many_rows_of_one_sign) {
  for (const Dtype dtype : storage_types)
    ASSERT_NO_FATAL_FAILURE(expect_outer(random_tensor(Shape(70001, 16), dtype, 13, 1, 2),
                                         random_tensor(Shape(70001, 8), dtype, 14, 1, 2)));
}

TEST_F(cuda_products, have_the_same_bits_every_time) {
  for (const Dtype dtype : storage_types) {
    const Size size{64, 64};
    const std::int64_t m = 50021;
    const Wanted wanted;
    const Operands given(dtype, m, size, wanted);
    const Tensor first = product_of(given, dtype, m, size, wanted);
    const Outer outer = outer_of(given.a, first.to(dtype), true);
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(bitwise_equal(product_of(given, dtype, m, size, wanted), first)) << name(dtype);
      const Outer again = outer_of(given.a, first.to(dtype), i % 2 == 0);
      ASSERT_TRUE(bitwise_equal(again.out, outer.out)) << name(dtype);
      EXPECT_TRUE(i % 2 != 0 || bitwise_equal(again.sums, outer.sums)) << name(dtype);
    }
  }
}

}  // namespace
}  // namespace weft::test
