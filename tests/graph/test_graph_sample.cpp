// Sampled edges: which are kept, that each is kept once, and the graphs they make.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "graph/graph_internals.hpp"
#include "graph/sample/kept_rows.hpp"
#include "support/errors.hpp"
#include "weft/generate.hpp"
#include "weft/io.hpp"
#include "weft/sample.hpp"

namespace weft {
namespace {

constexpr EdgeSampling methods[] = {EdgeSampling::bucket, EdgeSampling::fastrand, EdgeSampling::strata,
                                    EdgeSampling::fresh};

std::vector<std::int64_t> places(const EdgeChoice& choice, std::int64_t row, std::int64_t degree) {
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < choice.kept(degree); ++i) kept.push_back(choice.place(row, degree, i));
  return kept;
}

/// One row with that many edges, from sources 0, 1, 2, ...
Graph one_row(std::int64_t degree) {
  std::vector<NodeId> cols(static_cast<std::size_t>(degree));
  for (std::size_t i = 0; i < cols.size(); ++i) cols[i] = static_cast<NodeId>(i);
  const EdgeId offsets[] = {0, degree};
  return Graph::from_csr(1, degree, offsets, cols);
}

TEST(edge_choice, keeps_no_edge_twice_in_rows_of_1_to_5000_edges) {
  std::vector<char> seen(5001);
  for (const EdgeSampling method : methods)
    for (const std::int64_t width : {1, 16, 512}) {
      const EdgeChoice choice({method, width, 11, 3});
      for (std::int64_t degree = 1; degree <= 5000; ++degree) {
        std::fill(seen.begin(), seen.end(), 0);
        for (const std::int64_t place : places(choice, degree, degree)) {
          ASSERT_GE(place, 0);
          ASSERT_LT(place, degree);
          ASSERT_EQ(seen[static_cast<std::size_t>(place)]++, 0)
              << name(method) << " of " << degree << " edges keeps place " << place << " twice";
        }
      }
    }
}

TEST(edge_choice, tells_of_every_place_whether_it_is_kept) {
  for (const EdgeSampling method : methods)
    for (const std::int64_t width : {1, 5, 16, 64}) {
      const EdgeChoice choice({method, width, 5, 9});
      for (const std::int64_t degree : {1, 2, 16, 17, 63, 64, 65, 576, 577, 578, 1009, 1154, 4999}) {
        const std::vector<std::int64_t> kept = places(choice, 2, degree);
        const std::set<std::int64_t> wanted(kept.begin(), kept.end());
        for (std::int64_t place = 0; place < degree; ++place)
          ASSERT_EQ(choice.keeps(2, degree, place), wanted.contains(place))
              << name(method) << " width " << width << " degree " << degree << " place " << place;
      }
    }
}

TEST(edge_choice, by_fastrand_takes_another_prime_where_577_divides_the_degree) {
  EXPECT_EQ(places(EdgeChoice({EdgeSampling::fastrand, 4}), 0, 1000), (std::vector<std::int64_t>{0, 577, 154, 731}));
  EXPECT_EQ(places(EdgeChoice({EdgeSampling::fastrand, 4}), 0, 577), (std::vector<std::int64_t>{0, 432, 287, 142}));
  EXPECT_EQ(sampling_prime(577 * 1009), 2003u);
  EXPECT_EQ(sampling_prime(577u * 1009 * 2003), 4001u);
}

TEST(edge_choice, by_strata_ascends_and_takes_one_of_each_part) {
  EXPECT_EQ(places(EdgeChoice({EdgeSampling::strata, 4}), 0, 10), (std::vector<std::int64_t>{0, 2, 5, 7}));
  EXPECT_EQ(places(EdgeChoice({EdgeSampling::bucket, 4}), 0, 10), (std::vector<std::int64_t>{0, 1, 2, 3}));
}

TEST(edge_choice, of_fresh_keeps_each_edge_with_the_same_probability) {
  constexpr std::int64_t degree = 37, width = 8, steps = 10000;
  std::vector<double> counts(degree);
  for (std::int64_t step = 0; step < steps; ++step)
    for (const std::int64_t place : places(EdgeChoice({EdgeSampling::fresh, width, 1, step}), 4, degree))
      ++counts[static_cast<std::size_t>(place)];
  const double p = static_cast<double>(width) / degree, error = std::sqrt(p * (1 - p) / steps);
  for (const double count : counts) EXPECT_NEAR(count / steps, p, 4 * error);
}

TEST(edge_choice, of_fresh_has_a_mean_and_a_scaled_sum_without_bias) {
  constexpr std::int64_t degree = 61, width = 8, steps = 10000;
  std::vector<double> values(degree);
  double whole = 0;
  for (std::size_t i = 0; i < values.size(); ++i) whole += values[i] = std::sin(0.7 * static_cast<double>(i)) + 0.1;
  double sum = 0, squares = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    double kept = 0;
    for (const std::int64_t place : places(EdgeChoice({EdgeSampling::fresh, width, 6, step}), 0, degree))
      kept += values[static_cast<std::size_t>(place)];
    const double scaled = kept * degree / width;
    sum += scaled;
    squares += scaled * scaled;
  }
  const double mean = sum / steps, deviation = std::sqrt((squares / steps - mean * mean) / steps);
  EXPECT_GT(deviation, 0);
  EXPECT_NEAR(mean, whole, 4 * deviation) << "of sums";
  EXPECT_NEAR(mean / degree, whole / degree, 4 * deviation / degree) << "of means";
}

TEST(edge_choice, of_fresh_differs_from_step_to_step_and_row_to_row_and_repeats_with_its_seed) {
  const EdgeChoice first({EdgeSampling::fresh, 8, 1, 0});
  EXPECT_EQ(places(first, 3, 500), places(EdgeChoice({EdgeSampling::fresh, 8, 1, 0}), 3, 500));
  EXPECT_NE(places(first, 3, 500), places(first, 4, 500));
  EXPECT_NE(places(first, 3, 500), places(EdgeChoice({EdgeSampling::fresh, 8, 1, 1}), 3, 500));
  EXPECT_NE(places(first, 3, 500), places(EdgeChoice({EdgeSampling::fresh, 8, 2, 0}), 3, 500));
}

TEST(sampled_graph, holds_the_chosen_edges_in_their_order_with_their_ids) {
  const Graph graph = generate("powerlaw:nodes=300,edges=9000").graph.transpose();  // whose ids are not in order
  for (const EdgeSampling method : methods) {
    const EdgeSample sample{method, 9, 4, 2};
    const Derived derived = sample_edges(graph, sample);
    const EdgeChoice choice(sample);
    EdgeId at = 0;
    for (std::int64_t v = 0; v < graph.num_rows(); ++v) {
      const EdgeId first = graph.offsets()[static_cast<std::size_t>(v)],
                   degree = graph.offsets()[static_cast<std::size_t>(v) + 1] - first;
      ASSERT_EQ(derived.graph.offsets()[static_cast<std::size_t>(v)], at);
      for (std::int64_t i = 0; i < choice.kept(degree); ++i, ++at) {
        const auto from = static_cast<std::size_t>(first + choice.place(v, degree, i));
        ASSERT_EQ(derived.graph.cols()[static_cast<std::size_t>(at)], graph.cols()[from]);
        ASSERT_EQ(derived.origin.ids()[static_cast<std::size_t>(at)], graph.edge_ids()[from]);
      }
    }
    EXPECT_EQ(derived.graph.num_edges(), at);
    EXPECT_EQ(derived.graph.num_cols(), graph.num_cols());
    validate(derived.graph.view());
  }
}

TEST(sampled_graph, of_a_width_as_large_as_the_largest_degree_is_the_graph) {
  const Graph graph = generate("powerlaw:nodes=200,edges=3000").graph;
  for (const EdgeSampling method : methods) {
    const Derived derived = sample_edges(graph, {method, graph.degree_stats().max, 1, 1});
    EXPECT_TRUE(std::ranges::equal(derived.graph.offsets(), graph.offsets()));
    EXPECT_TRUE(std::ranges::equal(derived.graph.cols(), graph.cols()));
  }
}

TEST(sampled_graph, of_few_nodes_none_or_no_edges_is_as_small) {
  EXPECT_EQ(sample_edges(Graph(), {EdgeSampling::fresh, 3}).graph.num_edges(), 0);
  EXPECT_EQ(sample_edges(one_row(0), {EdgeSampling::fastrand, 3}).graph.num_rows(), 1);
  EXPECT_EQ(sample_edges(one_row(577), {EdgeSampling::fastrand, 512}).graph.num_edges(), 512);
  EXPECT_EQ(sampling_rate(Graph(), 3), 1);
}

TEST(sampled_graph, counts_what_rows_keep_once_and_tells_its_bytes) {
  const Graph graph = generate("powerlaw:nodes=500,edges=9000").graph;
  const std::size_t before = graph.bytes();
  EXPECT_EQ(GraphInternals::kept_rows(graph, 8), GraphInternals::kept_rows(graph, 8));
  EXPECT_EQ(graph.bytes() - before, 501 * sizeof(EdgeId));
  sample_edges(graph, {EdgeSampling::fresh, 8, 1, 1});
  sample_edges(graph, {EdgeSampling::strata, 8});
  EXPECT_EQ(graph.bytes() - before, 501 * sizeof(EdgeId));
}

TEST(sampled_graph, of_pubmed_has_the_rates_that_es_spmm_prints) {
  Graph graph;
  try {
    graph = read_graph(WEFT_SHARED_DATA "/graphs/pubmed.mtx").graph;
  } catch (const Error&) {
    GTEST_SKIP() << "no copy of PubMed here";
  }
  const double printed[] = {84.9, 95.8, 99.3, 99.9, 100.0, 100.0};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(std::round(1000 * sampling_rate(graph, 16 << i)) / 10, printed[i]) << "width " << (16 << i);
}

TEST(sampled_graph, of_no_width_or_method_is_refused) {
  const Graph graph = one_row(4);
  const auto refused = [&](const EdgeSample& sample, const std::string& text) {
    const std::string message = test::refusal_of([&] { sample_edges(graph, sample); });
    EXPECT_NE(message.find(text), message.npos) << message;
  };
  refused({EdgeSampling::bucket, 0}, "sample width is 0: expected 1 or more");
  refused({EdgeSampling::bucket, -3}, "sample width is -3");
  refused({static_cast<EdgeSampling>(9), 3}, "sample method is 9");
  refused({EdgeSampling::fresh, 3, 0, -1}, "sample step is -1");
  EXPECT_NE(test::refusal_of([] { parse_edge_sampling("fastrnd"); }).find("did you mean fastrand"), std::string::npos);
}

}  // namespace
}  // namespace weft
