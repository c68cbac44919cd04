#include <gtest/gtest.h>

#include <cmath>

#include "graph/naive_graph.hpp"
#include "support/errors.hpp"

namespace weft {
namespace {

using battery::graph_of_degrees;

TEST(graph_degrees, count_incoming_edges_in_every_dtype) {
  const Graph graph = graph_of_degrees({0, 3, 1, 0, 33}, 40, 1);
  const Tensor counts = graph.degrees();
  EXPECT_EQ(counts.dtype(), Dtype::i64);
  EXPECT_EQ(counts.shape(), Shape(5));
  EXPECT_EQ(std::vector<std::int64_t>(counts.span<std::int64_t>().begin(), counts.span<std::int64_t>().end()),
            (std::vector<std::int64_t>{0, 3, 1, 0, 33}));
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::f64, Dtype::i32}) {
    const Tensor other = graph.degrees(dtype);
    EXPECT_EQ(other.dtype(), dtype);
    const Tensor back = other.to(Dtype::i64);
    EXPECT_TRUE(std::equal(back.span<std::int64_t>().begin(), back.span<std::int64_t>().end(),
                           counts.span<std::int64_t>().begin()))
        << name(dtype);
  }
}

TEST(graph_degrees, refuse_a_dtype_that_cannot_hold_them) {
  const Graph fits = graph_of_degrees({1, 65504}, 3, 2), passes = graph_of_degrees({1, 65505}, 3, 2);
  EXPECT_NO_THROW(fits.degrees(Dtype::f16));
  test::expect_refused([&] { passes.degrees(Dtype::f16); }, "dtype");
  EXPECT_EQ(test::message_of([&] { passes.degrees(Dtype::f16); }),
            "dtype f16 holds counts up to 65504, but row 1 has degree 65505: ask for f32 or i64");
  EXPECT_NO_THROW(passes.degrees(Dtype::bf16));
  EXPECT_NO_THROW(passes.degrees(Dtype::i32));
}

TEST(graph_degree_stats, of_a_graph_without_rows_are_zero) {
  const DegreeStats stats = Graph().degree_stats();
  EXPECT_EQ(stats.max, 0);
  EXPECT_EQ(stats.mean, 0);
  EXPECT_EQ(stats.empty, 0);
  EXPECT_TRUE(stats.histogram.empty());
}

TEST(graph_degree_stats, of_a_graph_without_edges_count_empty_rows) {
  const DegreeStats stats = battery::GrowingEdges{}.graph(5, 5).degree_stats();
  EXPECT_EQ(stats.min, 0);
  EXPECT_EQ(stats.max, 0);
  EXPECT_EQ(stats.stddev, 0);
  EXPECT_EQ(stats.empty, 5);
  EXPECT_EQ(stats.histogram, (std::vector<std::int64_t>{5}));
}

TEST(graph_degree_stats, bin_degrees_by_powers_of_two) {
  const DegreeStats stats = graph_of_degrees({0, 1, 1, 2, 3, 4, 7, 8, 0, 0}, 20, 3).degree_stats();
  EXPECT_EQ(stats.histogram, (std::vector<std::int64_t>{3, 2, 2, 2, 1}));
  EXPECT_EQ(stats.empty, 3);
  EXPECT_EQ(stats.min, 0);
  EXPECT_EQ(stats.max, 8);
  EXPECT_DOUBLE_EQ(stats.mean, 2.6);
}

TEST(graph_degree_stats, take_percentiles_by_nearest_rank) {
  std::vector<std::int64_t> degrees;
  for (std::int64_t d = 100; d >= 1; --d) degrees.push_back(d);
  const DegreeStats stats = graph_of_degrees(degrees, 50, 4).degree_stats();
  EXPECT_EQ(stats.median, 50);
  EXPECT_EQ(stats.p90, 90);
  EXPECT_EQ(stats.p99, 99);
  const DegreeStats one = graph_of_degrees({7}, 50, 4).degree_stats();
  EXPECT_EQ(one.median, 7);
  EXPECT_EQ(one.p90, 7);
  EXPECT_EQ(one.p99, 7);
}

TEST(graph_degree_stats, agree_with_a_naive_count_for_any_number_of_threads) {
  const test::ThreadsRestored restored;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    battery::SmallRandom random(seed);
    std::vector<std::int64_t> degrees;
    const std::int64_t rows = seed == 0 ? 200'000 : 1 + random.below(40);
    for (std::int64_t v = 0; v < rows; ++v) degrees.push_back(random.below(random.below(9) == 0 ? 90 : 3));
    const Graph graph = graph_of_degrees(degrees, 10, seed);
    std::sort(degrees.begin(), degrees.end());
    double sum = 0, squares = 0;
    for (const std::int64_t d : degrees) sum += static_cast<double>(d);
    const double mean = sum / static_cast<double>(rows);
    for (const std::int64_t d : degrees) squares += (static_cast<double>(d) - mean) * (static_cast<double>(d) - mean);
    const auto at = [&](double share) {
      return degrees[static_cast<std::size_t>(std::ceil(share * static_cast<double>(rows) - 1e-9)) - 1];
    };
    double first_stddev = 0;
    for (int threads = 1; threads <= 5; ++threads) {
      set_default_threads(threads);
      const DegreeStats stats = graph.degree_stats();
      EXPECT_EQ(stats.min, degrees.front());
      EXPECT_EQ(stats.max, degrees.back());
      EXPECT_EQ(stats.median, at(0.5));
      EXPECT_EQ(stats.p90, at(0.9));
      EXPECT_EQ(stats.p99, at(0.99));
      EXPECT_DOUBLE_EQ(stats.mean, mean);
      EXPECT_NEAR(stats.stddev, std::sqrt(squares / static_cast<double>(rows)), 1e-9);
      if (threads == 1) first_stddev = stats.stddev;
      EXPECT_EQ(stats.stddev, first_stddev);
      std::int64_t counted = 0;
      for (const std::int64_t c : stats.histogram) counted += c;
      EXPECT_EQ(counted, rows);
    }
  }
}

}  // namespace
}  // namespace weft
