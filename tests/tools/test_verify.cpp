// The bound a result is held to, the comparison that applies it, and the sample of rows it looks at.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "bench/sample.hpp"
#include "bench/verify.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

Verification compare(const std::vector<double>& expected, const std::vector<float>& got) {
  const std::vector<double> absolute(expected.size(), 1.0);
  return Comparison({expected, absolute, 1}, got.data(), Dtype::f32, "all rows")
      .run([](std::int64_t i) { return i; }, [](std::int64_t) { return sum_factor(8); },
           [](std::int64_t) { return std::int64_t{8}; });
}

TEST(verify, factor_grows_with_the_logarithm_of_the_terms) {
  EXPECT_EQ(sum_factor(0), 4);
  EXPECT_EQ(sum_factor(1), 4);
  EXPECT_EQ(sum_factor(2), 5);
  EXPECT_EQ(sum_factor(32), 9);
  EXPECT_EQ(sum_factor(33), 10);
}

TEST(verify, accepts_what_lies_within_the_bound_and_nothing_beyond) {
  const double bound = error_bound(Dtype::f32, sum_factor(8), 8, 0.25, 1.0);
  const auto inside = compare({0.25}, {static_cast<float>(0.25 + 0.9 * bound)});
  EXPECT_TRUE(inside.right);
  EXPECT_GT(inside.worst, 0.8);
  EXPECT_LE(inside.worst, 1.0);
  const auto outside = compare({0.25}, {static_cast<float>(0.25 + 1.1 * bound)});
  EXPECT_FALSE(outside.right);
  EXPECT_GT(outside.worst, 1.0);
  EXPECT_NE(outside.first_wrong.find("row 0"), std::string::npos) << outside.first_wrong;
}

TEST(verify, refuses_what_is_not_a_number) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(compare({0.25, 0.5}, {0.25f, nan}).right);
  EXPECT_FALSE(compare({0.25, 0.5}, {inf, 0.5f}).right);
}

TEST(verify, half_storage_may_add_one_rounding) {
  const double half = error_bound(Dtype::f16, 4, 1, 1.0, 1.0), single = error_bound(Dtype::f32, 4, 1, 1.0, 1.0);
  EXPECT_GT(half, 0x1p-11);
  EXPECT_LT(half, 0x1p-11 + 2 * single);
  // An overflow that the storage type demands is right; one it does not demand is wrong.
  const std::vector<double> expected{70000.0, 60000.0}, absolute{70000.0, 60000.0};
  const std::vector<Half> got{Half(70000.0f), Half(70000.0f)};
  const auto result = Comparison({expected, absolute, 1}, got.data(), Dtype::f16, "all rows")
                          .run([](std::int64_t i) { return i; }, [](std::int64_t) { return 4.0; },
                               [](std::int64_t) { return std::int64_t{1}; });
  EXPECT_FALSE(result.right);
  EXPECT_NE(result.first_wrong.find("row 1"), std::string::npos) << result.first_wrong;
}

TEST(verify, roundings_to_halves_on_the_way_count_once_each) {
  const double once = error_bound(Dtype::f16, 4, 1, 0.0, 1.0);
  const double nine = error_bound(Dtype::f16, 4 + storage_factor(Dtype::f16, 9), 1, 0.0, 1.0);
  EXPECT_NEAR(nine - once, 9 * 0x1p-11, 0x1p-18);
  EXPECT_EQ(storage_factor(Dtype::f32, 9), 0);
}

TEST(verify, a_packed_result_has_only_the_compared_rows_and_errors_name_the_whole_ones) {
  const std::vector<double> expected{0.25, 0.5}, absolute{1.0, 1.0};
  const std::vector<float> packed{0.25f, 0.75f}, whole{9, 9, 9, 0.25f, 9, 9, 9, 0.5f};
  const auto origin = [](std::int64_t i) { return 3 + 4 * i; };
  const auto factor = [](std::int64_t) { return 4.0; };
  const auto terms = [](std::int64_t) { return std::int64_t{1}; };
  EXPECT_TRUE(Comparison({expected, absolute, 1}, whole.data(), Dtype::f32, "").run(origin, factor, terms).right);
  const auto result =
      Comparison({expected, absolute, 1}, packed.data(), Dtype::f32, "", true).run(origin, factor, terms);
  EXPECT_FALSE(result.right);
  EXPECT_NE(result.first_wrong.find("row 7, element 0 is 0.75"), std::string::npos) << result.first_wrong;
}

TEST(verify, fingerprint_sees_one_bit_and_the_order) {
  std::vector<std::uint8_t> bytes(37, 3);
  const auto before = fingerprint(bytes.data(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= 1;
    EXPECT_NE(fingerprint(bytes.data(), bytes.size()), before) << i;
    bytes[i] ^= 1;
  }
  EXPECT_EQ(fingerprint(bytes.data(), bytes.size()), before);
}

TEST(sample, a_small_graph_is_taken_whole) {
  const Graph graph = generate(StarSpec{.nodes = 50});
  const Sample sample = Sample::of(graph, 16);
  EXPECT_TRUE(sample.everything());
  EXPECT_EQ(sample.describe(), "all rows");
  EXPECT_EQ(sample.view().cols, graph.view().cols);
}

TEST(sample, a_large_graph_gives_rows_with_their_own_edges_and_operands) {
  PowerlawSpec spec;
  spec.nodes = 3000;
  spec.edges = 40000;
  const Graph graph = generate(spec);
  const Sample sample = Sample::of(graph, 8, 5e4, 1e4);
  ASSERT_FALSE(sample.everything());
  ASSERT_GT(sample.num_rows(), 2);
  ASSERT_LT(sample.num_rows(), graph.num_rows());
  EXPECT_EQ(sample.row(0), 0);
  EXPECT_EQ(sample.row(sample.num_rows() - 1), graph.num_rows() - 1);

  Tensor by_edge = Tensor::zeros(Shape(graph.num_edges()), Dtype::i64);
  for (std::int64_t i = 0; i < graph.num_edges(); ++i) by_edge.span<std::int64_t>()[static_cast<std::size_t>(i)] = i;
  Tensor keep;
  const ConstTensorView taken = sample.by_edge(by_edge, keep);
  const GraphView small = sample.view(), whole = graph.view();
  std::int64_t longest = 0, longest_taken = 0;
  for (std::int64_t v = 0; v < whole.num_rows; ++v)
    longest = std::max(longest, whole.offsets[v + 1] - whole.offsets[v]);
  for (std::int64_t i = 0; i < small.num_rows; ++i) {
    const std::int64_t v = sample.row(i);
    ASSERT_EQ(sample.degree(i), whole.offsets[v + 1] - whole.offsets[v]);
    ASSERT_EQ(small.offsets[i + 1] - small.offsets[i], sample.degree(i));
    longest_taken = std::max(longest_taken, sample.degree(i));
    for (std::int64_t k = 0; k < sample.degree(i); ++k) {
      ASSERT_EQ(small.cols[small.offsets[i] + k], whole.cols[whole.offsets[v] + k]);
      ASSERT_EQ(taken.as<std::int64_t>()[small.offsets[i] + k], whole.edge_id(whole.offsets[v] + k));
    }
  }
  EXPECT_EQ(longest_taken, longest);
  EXPECT_NE(sample.describe().find("the longest among them"), std::string::npos);
}

}  // namespace
}  // namespace weft::test
