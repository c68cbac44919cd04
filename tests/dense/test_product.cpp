#include "dense/cpu/product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/dispatch.hpp"
#include "dense/cpu/product_cut.hpp"
#include "support/values.hpp"

namespace weft {
namespace {

struct Case {
  std::int64_t m, n, k;
};
// Tiles and vectors filled and not, one chunk of terms and several, sums cut into parts, rows 4 KiB apart, nothing.
constexpr Case cases[] = {{1, 1, 1},     {12, 32, 256},  {13, 33, 257}, {5, 7, 3},     {100, 17, 300}, {300, 64, 40},
                          {16, 7, 4000}, {64, 12, 9001}, {97, 5, 1024}, {3, 520, 513}, {4, 3, 0}};

struct Operands {
  Tensor a, b, c;
};

Operands operands(const Case& size, Dtype dtype, Dtype c_dtype, bool a_transposed, bool b_transposed) {
  const auto shape = [](std::int64_t rows, std::int64_t cols, bool transposed) {
    return transposed ? Shape(cols, rows) : Shape(rows, cols);
  };
  return {test::random_tensor(shape(size.m, size.k, a_transposed), dtype, 1),
          test::random_tensor(shape(size.k, size.n, b_transposed), dtype, 2),
          test::random_tensor(Shape(size.m, size.n), c_dtype, 3)};
}

Tensor multiplied(const Case& size, const Operands& x, bool a_transposed, bool b_transposed, bool adds, int threads) {
  Tensor c = x.c.clone();
  dense::cpu::ProductArgs args;
  args.dtype = x.a.dtype();
  args.m = size.m;
  args.n = size.n;
  args.k = size.k;
  args.a = {x.a.view().data, x.a.view().ld, a_transposed};
  args.b = {x.b.view().data, x.b.view().ld, b_transposed};
  args.c = c.view().mutable_data();
  args.c_ld = size.n;
  args.c_dtype = c.dtype();
  args.adds = adds;
  args.threads = threads;
  std::vector<std::byte> workspace(dense::cpu::product_workspace(args) + 256);
  auto* const base =
      reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(workspace.data()) + 255) & ~std::uintptr_t{255});
  dense::cpu::product(args, Arena(base, dense::cpu::product_workspace(args)));
  return c;
}

std::vector<double> values(const Tensor& t) {
  return with_floating(t.dtype(), "t", [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<double> wide;
    for (const T x : t.span<T>()) wide.push_back(static_cast<double>(static_cast<AccumulatorOf<T>>(x)));
    return wide;
  });
}

/// abs(c - c64) <= eps * (terms of a chunk + chunks) * sum(abs(a) * abs(b)), and one rounding to c's type.
void expect_right(const Case& size, const Operands& x, bool ta, bool tb, bool adds, const Tensor& c) {
  const double eps = x.a.dtype() == Dtype::f64 ? std::numeric_limits<double>::epsilon()
                                               : static_cast<double>(std::numeric_limits<float>::epsilon());
  const double rounding = c.dtype() == Dtype::f16 ? 0x1p-11 : c.dtype() == Dtype::bf16 ? 0x1p-8 : 0;
  const std::vector<double> a = values(x.a), b = values(x.b), before = values(x.c), after = values(c);
  const auto at = [](const std::vector<double>& matrix, std::int64_t i) { return matrix[static_cast<std::size_t>(i)]; };
  for (std::int64_t i = 0; i < size.m; ++i)
    for (std::int64_t j = 0; j < size.n; ++j) {
      double sum = adds ? at(before, i * size.n + j) : 0, magnitude = std::fabs(sum);
      for (std::int64_t k = 0; k < size.k; ++k) {
        const double term = at(a, ta ? k * size.m + i : i * size.k + k) * at(b, tb ? j * size.k + k : k * size.n + j);
        sum += term;
        magnitude += std::fabs(term);
      }
      const double steps = static_cast<double>(std::min<std::int64_t>(size.k, 256) + size.k / 256 + 1);
      ASSERT_NEAR(at(after, i * size.n + j), sum, eps * steps * magnitude + rounding * std::fabs(sum) + 1e-30)
          << size.m << " x " << size.n << " x " << size.k << " at " << i << ", " << j;
    }
}

TEST(product, is_near_that_in_f64_for_every_size_storage_and_orientation) {
  for (const Case& size : cases)
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16})
      for (const Dtype c_dtype : {dtype, dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32}) {
        const int variants = size.m * size.n * size.k > 1'000'000 ? 1 : 8;
        for (int variant = 0; variant < variants; ++variant) {
          const bool ta = variants == 1 || (variant & 1) != 0, tb = (variant & 2) != 0, adds = (variant & 4) != 0;
          const Operands x = operands(size, dtype, c_dtype, ta, tb);
          expect_right(size, x, ta, tb, adds, multiplied(size, x, ta, tb, adds, 2));
        }
      }
}

TEST(product, has_the_same_bits_for_any_number_of_threads) {
  for (const Case& size : {Case{2000, 33, 70}, Case{64, 16, 9001}, Case{700, 40, 3000}, Case{40, 600, 2000}})
    for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16, Dtype::bf16})
      for (const bool ta : {false, true}) {
        const Operands x = operands(size, dtype, dtype, ta, false);
        const Tensor once = multiplied(size, x, ta, false, true, 1);
        for (const int threads : {2, 3, 7}) {
          const Tensor again = multiplied(size, x, ta, false, true, threads);
          EXPECT_EQ(std::memcmp(once.view().data, again.view().data, once.bytes()), 0)
              << name(dtype) << ' ' << size.m << " x " << size.n << " x " << size.k << " by " << threads << " threads";
        }
      }
}

TEST(product, of_few_rows_and_long_sums_is_cut_into_partial_sums) {
  dense::cpu::ProductArgs args;
  args.m = 64;
  args.n = 64;
  args.k = 100'000;
  args.a.transposed = true;
  const dense::cpu::ProductCut cut(args);
  EXPECT_EQ(cut.blocks, 1);
  EXPECT_GT(cut.parts, 16);
  EXPECT_EQ(cut.terms % dense::cpu::chunk_terms, 0);
  args.threads = 64;
  EXPECT_EQ(dense::cpu::ProductCut(args).parts, cut.parts);
}

TEST(product, of_nothing_leaves_what_is_added_to_and_else_zeros) {
  const Case size{4, 3, 0};
  const Operands x = operands(size, Dtype::f32, Dtype::f32, false, false);
  const Tensor added = multiplied(size, x, false, false, true, 1),
               written = multiplied(size, x, false, false, false, 1);
  EXPECT_EQ(values(added), values(x.c));
  EXPECT_EQ(values(written), std::vector<double>(12, 0.0));
}

}  // namespace
}  // namespace weft
