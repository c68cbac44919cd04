// What building graphs costs, what it gives back, and what happens when memory runs out.
#include <gtest/gtest.h>

#include "core/memory.hpp"
#include "graph/counting_sort.hpp"
#include "graph/naive_graph.hpp"
#include "weft/context.hpp"

namespace weft {
namespace {

battery::GrowingEdges random_list(std::int64_t rows, std::int64_t cols, std::int64_t edges, std::uint64_t seed) {
  battery::SmallRandom random(seed);
  battery::GrowingEdges list;
  for (std::int64_t k = 0; k < edges; ++k) {
    const std::int64_t source = random.below(cols);
    list.add(source, random.below(rows));
  }
  return list;
}

// Peak of weft's own memory while `build` runs, over the bytes of what it returns.
template <class Build>
double peak_ratio(const Build& build) {
  const std::size_t before = memory_stats().live_bytes;
  reset_memory_peak();
  const Graph graph = build();
  const std::size_t peak = memory_stats().peak_bytes - before;
  EXPECT_EQ(memory_stats().live_bytes - before, graph.bytes());
  return static_cast<double>(peak) / static_cast<double>(graph.bytes());
}

TEST(graph_memory, from_edges_peaks_below_two_and_a_half_times_the_result) {
  const test::ThreadsRestored restored;
  struct Size {
    std::int64_t rows, cols, edges;
  };
  for (const Size size : {Size{20'000, 20'000, 400'000}, Size{20'000, 20'000, 60'000}, Size{1000, 1000, 400'000},
                          Size{10, 100'000, 100'000}, Size{10, 50'000, 100'000}, Size{100'000, 10, 100'000},
                          Size{300'000, 300'000, 100'000}, Size{10, 1'000'000'000, 100'000}, Size{10, 40'000, 40'000}})
    for (const int threads : {1, 2, 5, 64}) {
      SCOPED_TRACE(std::to_string(size.rows) + " x " + std::to_string(size.cols) + ", " + std::to_string(size.edges) +
                   " edges, " + std::to_string(threads) + " threads");
      set_default_threads(threads);
      const battery::GrowingEdges list = random_list(size.rows, size.cols, size.edges, 31);
      EXPECT_LT(peak_ratio([&] { return list.graph(size.rows, size.cols); }), 2.5);
    }
}

TEST(graph_memory, from_edges_copies_a_sorted_list_without_further_memory) {
  battery::GrowingEdges list;
  for (std::int64_t k = 0; k < 100'000; ++k) list.add(k % 7, k / 7);
  EXPECT_EQ(peak_ratio([&] { return list.graph(20'000, 7); }), 1.0);
}

TEST(graph_memory, the_transpose_peaks_below_two_and_a_half_times_itself) {
  const Graph graph = random_list(20'000, 30'000, 400'000, 32).graph(20'000, 30'000);
  const std::size_t before = memory_stats().live_bytes, bytes_before = graph.bytes();
  reset_memory_peak();
  const Graph transpose = graph.transpose();
  const std::size_t added = graph.bytes() - bytes_before;
  EXPECT_EQ(memory_stats().live_bytes - before, added);
  EXPECT_LT(static_cast<double>(memory_stats().peak_bytes - before), 2.5 * static_cast<double>(added));
}

// The code for more than 2^31 edges, on a list that a test can hold.
TEST(graph_memory, sorting_with_64_bit_ids_gives_the_same_arrays_and_keeps_the_bound) {
  const test::ThreadsRestored restored;
  constexpr std::int64_t rows = 3000, cols = 5000;
  const battery::GrowingEdges list = random_list(rows, cols, 200'000, 33);
  const Graph expected = list.graph(rows, cols);
  const Graph expected_transpose = expected.transpose();
  const auto same = [](const EdgeArrays& arrays, const Graph& graph) {
    return std::equal(arrays.offsets.begin(), arrays.offsets.end(), graph.offsets().begin(), graph.offsets().end()) &&
           std::equal(arrays.nodes.begin(), arrays.nodes.end(), graph.cols().begin(), graph.cols().end()) &&
           std::equal(arrays.ids.begin(), arrays.ids.end(), graph.edge_ids().begin(), graph.edge_ids().end());
  };
  for (const int threads : {1, 3}) {
    set_default_threads(threads);
    const std::size_t before = memory_stats().live_bytes;
    reset_memory_peak();
    const EdgeArrays wide = sort_edges(rows, cols, list.destinations, list.sources, 0);
    const double result = static_cast<double>(memory_stats().live_bytes - before);
    EXPECT_LT(static_cast<double>(memory_stats().peak_bytes - before), 2.5 * result);
    EXPECT_TRUE(same(wide, expected));
    EXPECT_TRUE(same(reverse_edges(expected.view(), 0), expected_transpose));
  }
  const EdgeArrays sparse_wide = sort_edges(rows, 1'000'000, list.destinations, list.sources, 0);
  EXPECT_TRUE(same(sparse_wide, list.graph(rows, 1'000'000)));
}

TEST(graph_memory, a_graph_its_rows_and_its_transpose_give_everything_back) {
  const std::size_t before = memory_stats().live_bytes;
  {
    const Graph graph = battery::hub_graph();
    graph.rows();
    const Graph transpose = graph.transpose();
    transpose.rows();
    graph.transpose().transpose().transpose();
    EXPECT_EQ(memory_stats().live_bytes - before, graph.bytes());
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(graph_memory, a_transpose_outlives_its_graph_and_both_are_then_given_back) {
  const std::size_t before = memory_stats().live_bytes;
  {
    const Graph transpose = battery::hub_graph().transpose();
    const Graph back = transpose.transpose();
    EXPECT_EQ(test::stored_edges(back), test::stored_edges(battery::hub_graph()));
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(graph_memory, derived_graphs_give_everything_back) {
  const std::size_t before = memory_stats().live_bytes;
  {
    const Graph graph = battery::graph_with_duplicates();
    const Derived merged = simplify(graph, Duplicates::merge);
    const Derived looped = with_self_loops(merged.graph, SelfLoops::add);
    const Derived both = symmetrise(looped.graph);
    const Derived stored = in_stored_order(graph);
    const Tensor weights = gcn_weights(both.graph);
    EXPECT_GT(memory_stats().live_bytes, before);
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

// Lets every allocation of `call` fail in turn: each time an Error that says so, and nothing is left behind.
void survives_failing_allocations(const char* what, const std::function<void()>& call) {
  SCOPED_TRACE(what);
  const std::size_t before = memory_stats().live_bytes;
  for (std::size_t nth = 1; nth < 200; ++nth) {
    fail_allocation(nth);
    try {
      call();
      fail_allocation(0);
      EXPECT_GT(nth, 1u) << "nothing was allocated";
      EXPECT_EQ(memory_stats().live_bytes, before);
      return;
    } catch (const Error& error) {
      fail_allocation(0);
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << error.what();
      EXPECT_NE(std::string(error.what()).find("bytes asked for"), std::string::npos) << error.what();
      EXPECT_EQ(memory_stats().live_bytes, before) << "allocation " << nth;
    }
  }
  ADD_FAILURE() << "still failing";
}

TEST(graph_memory, every_failing_allocation_is_an_error_and_leaves_nothing_behind) {
  const battery::GrowingEdges list = random_list(50, 50, 500, 34);
  const Graph graph = list.graph(50, 50);
  const std::vector<NodeId> nodes{3, 1, 7};
  const std::vector<float> ones(500, 1.0f);
  survives_failing_allocations("from_edges", [&] { list.graph(50, 50); });
  survives_failing_allocations("from_csr", [&] { Graph::from_csr(50, 50, graph.offsets(), graph.cols()); });
  survives_failing_allocations("rows", [&] {
    const Graph fresh = list.graph(50, 50);
    fresh.rows();
  });
  survives_failing_allocations("transpose", [&] { list.graph(50, 50).transpose(); });
  survives_failing_allocations("validate", [&] { validate(graph.view()); });
  survives_failing_allocations("degrees", [&] { graph.degrees(); });
  survives_failing_allocations("degree_stats", [&] { graph.degree_stats(); });
  survives_failing_allocations("simplify", [&] { simplify(graph, Duplicates::merge); });
  survives_failing_allocations("with_self_loops", [&] { with_self_loops(graph, SelfLoops::add); });
  survives_failing_allocations("symmetrise", [&] { symmetrise(graph); });
  survives_failing_allocations("induced_subgraph", [&] { induced_subgraph(graph, nodes); });
  survives_failing_allocations("in_stored_order", [&] { in_stored_order(graph); });
  survives_failing_allocations("mean_weights", [&] { mean_weights(graph); });
  survives_failing_allocations("gcn_weights", [&] {
    gcn_weights(list.graph(50, 50), ConstTensorView(std::span<const float>(ones), Shape(500)));
  });
}

TEST(graph_memory, a_transpose_that_failed_can_be_asked_for_again) {
  const Graph graph = random_list(50, 50, 500, 35).graph(50, 50);
  fail_allocation(2);
  EXPECT_THROW(graph.transpose(), Error);
  fail_allocation(0);
  EXPECT_EQ(graph.transpose().num_edges(), 500);
  EXPECT_EQ(graph.transpose().transpose().identity(), graph.identity());
}

}  // namespace
}  // namespace weft
