#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "graph/naive_graph.hpp"
#include "support/errors.hpp"

namespace weft {
namespace {

using test::expect_refused;
using test::message_of;
using test::NaiveEdges;
using test::stored_edges;

constexpr std::int64_t too_many_nodes = std::int64_t{1} << 31;

TEST(graph_default, has_neither_nodes_nor_edges) {
  const Graph graph;
  EXPECT_EQ(graph.num_rows(), 0);
  EXPECT_EQ(graph.num_cols(), 0);
  EXPECT_EQ(graph.num_edges(), 0);
  ASSERT_EQ(graph.offsets().size(), 1u);
  EXPECT_EQ(graph.offsets()[0], 0);
  EXPECT_TRUE(graph.is_square());
  EXPECT_FALSE(graph.has_edge_ids());
  EXPECT_NO_THROW(validate(graph.view()));
}

TEST(graph_default, is_what_a_moved_from_graph_shows) {
  Graph graph = battery::grid_graph(3);
  const Graph taken = std::move(graph);
  EXPECT_EQ(taken.num_rows(), 9);
  EXPECT_EQ(graph.num_rows(), 0);  // NOLINT: on purpose
  EXPECT_EQ(graph.transpose().num_edges(), 0);
  EXPECT_EQ(graph.rows().size(), 0u);
}

TEST(graph_from_edges, stores_by_destination_then_source_then_id) {
  const std::vector<NodeId> destinations{2, 0, 2, 0, 2};
  const std::vector<NodeId> sources{1, 3, 0, 3, 1};
  const Graph graph =
      Graph::from_edges({.num_sources = 4, .num_destinations = 3}, {.sources = sources, .destinations = destinations});
  EXPECT_EQ(stored_edges(graph), (NaiveEdges{{0, 3, 1}, {0, 3, 3}, {2, 0, 2}, {2, 1, 0}, {2, 1, 4}}));
  EXPECT_EQ(std::vector<EdgeId>(graph.offsets().begin(), graph.offsets().end()), (std::vector<EdgeId>{0, 2, 2, 5}));
}

TEST(graph_from_edges, keeps_duplicates_in_callers_order) {
  const std::vector<NodeId> destinations{1, 0, 1, 1};
  const std::vector<NodeId> sources{0, 0, 0, 0};
  const Graph graph =
      Graph::from_edges({.num_sources = 1, .num_destinations = 2}, {.sources = sources, .destinations = destinations});
  EXPECT_EQ(stored_edges(graph), (NaiveEdges{{0, 0, 1}, {1, 0, 0}, {1, 0, 2}, {1, 0, 3}}));
}

TEST(graph_from_edges, takes_tensors_as_it_takes_spans) {
  const battery::GrowingEdges list = [] {
    battery::GrowingEdges edges;
    for (const auto& [source, destination] : {std::pair{3, 2}, {1, 0}, {3, 2}, {0, 1}}) edges.add(source, destination);
    return edges;
  }();
  const ConstTensorView destinations(std::span<const NodeId>(list.destinations), Shape(4));
  const ConstTensorView sources(std::span<const NodeId>(list.sources), Shape(4));
  EXPECT_EQ(stored_edges(Graph::from_edges({.num_sources = 4, .num_destinations = 3},
                                           {.sources = sources, .destinations = destinations}, nullptr)),
            stored_edges(list.graph(3, 4)));
}

TEST(graph_from_edges, takes_one_number_of_nodes_where_both_sides_have_as_many) {
  const std::vector<NodeId> sources{1, 3, 0}, destinations{2, 0, 2};
  const NaiveEdges expected{{0, 3, 1}, {2, 0, 2}, {2, 1, 0}};
  const Graph square = Graph::from_edges(4, {.sources = sources, .destinations = destinations});
  EXPECT_EQ(square.num_rows(), 4);
  EXPECT_EQ(square.num_cols(), 4);
  EXPECT_EQ(stored_edges(square), expected);
  const ConstTensorView from(std::span<const NodeId>(sources), Shape(3));
  const ConstTensorView to(std::span<const NodeId>(destinations), Shape(3));
  EXPECT_EQ(stored_edges(Graph::from_edges(4, {.sources = from, .destinations = to}, nullptr)), expected);
}

TEST(graph_from_edges, names_the_tensor_that_is_no_list_of_ids) {
  const std::vector<NodeId> ids{0, 1, 2, 0};
  const ConstTensorView good(std::span<const NodeId>(ids), Shape(4)), wide(std::span<const NodeId>(ids), Shape(2, 2));
  const std::vector<EdgeId> long_ids{0, 1, 2, 0};
  ConstTensorView no_memory = good, apart = good, elsewhere = good;
  no_memory.data = nullptr;
  apart.ld = 2;
  elsewhere.device = {DeviceKind::cuda, 0};
  const ConstTensorView bad[] = {{}, wide, no_memory, apart, {std::span<const EdgeId>(long_ids), Shape(4)}, elsewhere};
  for (const ConstTensorView& view : bad) {
    expect_refused([&] { Graph::from_edges(3, {.sources = good, .destinations = view}, nullptr); }, "destinations");
    expect_refused([&] { Graph::from_edges(3, {.sources = view, .destinations = good}, nullptr); }, "sources");
  }
}

TEST(graph_from_edges, has_no_edge_ids_where_the_list_is_sorted) {
  const std::vector<NodeId> destinations{0, 0, 2, 2, 2};
  const std::vector<NodeId> sources{1, 1, 0, 3, 3};
  const Graph graph =
      Graph::from_edges({.num_sources = 4, .num_destinations = 5}, {.sources = sources, .destinations = destinations});
  EXPECT_FALSE(graph.has_edge_ids());
  EXPECT_EQ(graph.view().edge_ids, nullptr);
  EXPECT_EQ(std::vector<EdgeId>(graph.offsets().begin(), graph.offsets().end()),
            (std::vector<EdgeId>{0, 2, 2, 5, 5, 5}));
}

TEST(graph_from_edges, leaves_the_callers_arrays_as_they_were) {
  std::vector<NodeId> destinations{2, 0, 1}, sources{0, 1, 2};
  const auto destinations_before = destinations, sources_before = sources;
  const Graph graph = Graph::from_edges(3, {.sources = sources, .destinations = destinations});
  EXPECT_EQ(destinations, destinations_before);
  EXPECT_EQ(sources, sources_before);
  destinations.assign(3, 9);
  EXPECT_EQ(stored_edges(graph), (NaiveEdges{{0, 1, 1}, {1, 2, 2}, {2, 0, 0}}));
}

TEST(graph_from_edges, agrees_with_a_naive_sort_on_random_lists_for_any_number_of_threads) {
  const test::ThreadsRestored restored;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    set_default_threads(1 + static_cast<int>(seed % 5));
    const test::RandomCase input = test::random_case(seed, seed % 2 == 0);
    const Graph graph = input.list.graph(input.rows, input.cols);
    EXPECT_NO_THROW(validate(graph.view_with_rows()));
    const NaiveEdges expected = test::naive_from_edges(input.list);
    ASSERT_EQ(stored_edges(graph), expected);
    bool identity = true;
    for (std::size_t k = 0; k < expected.size(); ++k) identity &= expected[k].id == static_cast<EdgeId>(k);
    EXPECT_EQ(graph.has_edge_ids(), !identity);
  }
}

// Large enough for several chunks, several buckets and a bucket that all threads share.
TEST(graph_from_edges, is_the_same_for_any_number_of_threads_on_a_large_skewed_list) {
  const test::ThreadsRestored restored;
  battery::SmallRandom random(7);
  battery::GrowingEdges list;
  constexpr std::int64_t rows = 5000, cols = 9000;
  for (std::int64_t k = 0; k < 400'000; ++k) {
    const std::int64_t source = random.below(3) == 0 ? 4321 : random.below(cols);
    list.add(source, random.below(2) == 0 ? 1234 : random.below(rows));
  }
  const NaiveEdges expected = test::naive_from_edges(list);
  for (int threads = 1; threads <= 5; ++threads) {
    set_default_threads(threads);
    const Graph graph = list.graph(rows, cols);
    ASSERT_TRUE(stored_edges(graph) == expected) << threads << " threads";
  }
}

TEST(graph_from_edges, sorts_lists_with_more_sources_than_edges) {
  const test::ThreadsRestored restored;
  battery::SmallRandom random(8);
  battery::GrowingEdges list;
  constexpr std::int64_t cols = 2'000'000'000;
  for (std::int64_t k = 0; k < 100'000; ++k) {
    const std::int64_t source = k % 5 == 0 ? cols - 1 : random.below(cols);
    list.add(source, random.below(4) == 0 ? 3 : random.below(500));
  }
  const NaiveEdges expected = test::naive_from_edges(list);
  for (int threads = 1; threads <= 5; threads += 2) {
    set_default_threads(threads);
    ASSERT_TRUE(stored_edges(list.graph(500, cols)) == expected) << threads << " threads";
  }
}

TEST(graph_from_edges, refuses_node_counts_that_are_negative_or_pass_32_bits) {
  expect_refused([] { Graph::from_edges(-1, {}); }, "num_nodes");
  expect_refused([] { Graph::from_edges(too_many_nodes, {}); }, "num_nodes");
  expect_refused([] { Graph::from_edges(too_many_nodes, {}, nullptr); }, "num_nodes");
  expect_refused([] { Graph::from_edges({.num_sources = 1, .num_destinations = -1}, {}); }, "num_destinations");
  expect_refused([] { Graph::from_edges({.num_sources = -1, .num_destinations = 1}, {}); }, "num_sources");
  expect_refused([] { Graph::from_edges({.num_sources = 1, .num_destinations = too_many_nodes}, {}); },
                 "num_destinations");
  expect_refused([] { Graph::from_edges({.num_sources = too_many_nodes, .num_destinations = 1}, {}); }, "num_sources");
  expect_refused(
      [] { Graph::from_edges({.num_sources = std::numeric_limits<std::int64_t>::min(), .num_destinations = 1}, {}); },
      "num_sources");
}

TEST(graph_from_edges, takes_the_largest_number_of_sources_a_node_id_can_name) {
  const std::vector<NodeId> destinations{0, 0}, sources{std::numeric_limits<NodeId>::max() - 1, 5};
  const Graph graph = Graph::from_edges({.num_sources = too_many_nodes - 1, .num_destinations = 1},
                                        {.sources = sources, .destinations = destinations});
  EXPECT_EQ(stored_edges(graph), (NaiveEdges{{0, 5, 1}, {0, std::numeric_limits<NodeId>::max() - 1, 0}}));
}

TEST(graph_from_edges, refuses_lists_of_different_lengths) {
  const std::vector<NodeId> three{0, 0, 0}, two{0, 0};
  expect_refused([&] { Graph::from_edges(1, {.sources = two, .destinations = three}); }, "sources");
  expect_refused([&] { Graph::from_edges(1, {.sources = three, .destinations = two}); }, "destinations");
}

TEST(graph_from_edges, names_the_first_node_id_that_is_out_of_range) {
  const std::vector<NodeId> good{0, 1, 2, 1}, high{0, 1, 3, 7}, negative{0, -4, 9, 0};
  expect_refused([&] { Graph::from_edges(3, {.sources = good, .destinations = high}); }, "destinations",
                 ErrorCode::invalid_graph);
  expect_refused([&] { Graph::from_edges(3, {.sources = negative, .destinations = good}); }, "sources",
                 ErrorCode::invalid_graph);
  EXPECT_EQ(message_of([&] { Graph::from_edges(3, {.sources = good, .destinations = high}); }),
            "destinations[2] is 3: expected a node id from 0 to 2 (num_destinations is 3)");
  EXPECT_EQ(message_of([&] { Graph::from_edges(3, {.sources = negative, .destinations = high}); }),
            "sources[1] is -4: expected a node id from 0 to 2 (num_sources is 3)");
}

TEST(graph_from_edges, names_the_same_first_id_for_any_number_of_threads) {
  const test::ThreadsRestored restored;
  std::vector<NodeId> ids(300'000, 0);
  for (const std::size_t at : {70'001u, 70'002u, 180'000u, 299'999u}) ids[at] = 5;
  const std::vector<NodeId> zeros(ids.size(), 0);
  for (int threads = 1; threads <= 5; ++threads) {
    set_default_threads(threads);
    EXPECT_NE(
        message_of([&] { Graph::from_edges(1, {.sources = ids, .destinations = zeros}); }).find("sources[70001] is 5"),
        std::string::npos);
  }
}

TEST(graph_from_edges, refuses_edges_where_there_are_no_nodes) {
  const std::vector<NodeId> zero{0};
  expect_refused(
      [&] { Graph::from_edges({.num_sources = 1, .num_destinations = 0}, {.sources = zero, .destinations = zero}); },
      "destinations", ErrorCode::invalid_graph);
  expect_refused(
      [&] { Graph::from_edges({.num_sources = 0, .num_destinations = 1}, {.sources = zero, .destinations = zero}); },
      "sources", ErrorCode::invalid_graph);
}

TEST(graph_from_csr, keeps_rows_as_they_are) {
  const std::vector<EdgeId> offsets{0, 3, 3, 5};
  const std::vector<NodeId> cols{4, 0, 4, 2, 1};
  const Graph graph = Graph::from_csr(3, 5, offsets, cols);
  EXPECT_EQ(stored_edges(graph), (NaiveEdges{{0, 4, 0}, {0, 0, 1}, {0, 4, 2}, {2, 2, 3}, {2, 1, 4}}));
  EXPECT_FALSE(graph.has_edge_ids());
  EXPECT_NE(graph.cols().data(), cols.data());
}

TEST(graph_from_csr, refuses_arrays_that_do_not_describe_rows) {
  const std::vector<EdgeId> offsets{0, 2, 3};
  const std::vector<NodeId> cols{0, 1, 1};
  EXPECT_NO_THROW(Graph::from_csr(2, 2, offsets, cols));
  expect_refused([&] { Graph::from_csr(-1, 2, offsets, cols); }, "num_destinations");
  expect_refused([&] { Graph::from_csr(2, too_many_nodes, offsets, cols); }, "num_sources");
  expect_refused([&] { Graph::from_csr(3, 2, offsets, cols); }, "offsets");
  expect_refused([&] { Graph::from_csr(0, 0, {}, {}); }, "offsets");
  const std::vector<EdgeId> late{1, 2, 3}, falling{0, 4, 3}, short_end{0, 2, 2}, long_end{0, 2, 4}, negative{0, -1, 3};
  expect_refused([&] { Graph::from_csr(2, 2, late, cols); }, "offsets", ErrorCode::invalid_graph);
  expect_refused([&] { Graph::from_csr(2, 2, falling, cols); }, "offsets", ErrorCode::invalid_graph);
  expect_refused([&] { Graph::from_csr(2, 2, short_end, cols); }, "offsets", ErrorCode::invalid_graph);
  expect_refused([&] { Graph::from_csr(2, 2, long_end, cols); }, "offsets", ErrorCode::invalid_graph);
  expect_refused([&] { Graph::from_csr(2, 2, negative, cols); }, "offsets", ErrorCode::invalid_graph);
  const std::vector<NodeId> high{0, 2, 1}, below{0, 1, -1};
  expect_refused([&] { Graph::from_csr(2, 2, offsets, high); }, "cols", ErrorCode::invalid_graph);
  expect_refused([&] { Graph::from_csr(2, 2, offsets, below); }, "cols", ErrorCode::invalid_graph);
}

TEST(graph_adopt, reads_the_callers_arrays_and_holds_the_keeper) {
  auto offsets = std::make_shared<std::vector<EdgeId>>(std::vector<EdgeId>{0, 1, 2});
  const std::vector<NodeId> cols{1, 0};
  const std::vector<EdgeId> ids{1, 0};
  {
    Graph copy;
    {
      const Graph graph = Graph::adopt(2, 2, *offsets, cols, ids, offsets);
      EXPECT_EQ(graph.offsets().data(), offsets->data());
      EXPECT_EQ(graph.cols().data(), cols.data());
      EXPECT_EQ(stored_edges(graph), (NaiveEdges{{0, 1, 1}, {1, 0, 0}}));
      copy = graph;
    }
    EXPECT_EQ(offsets.use_count(), 2);
    copy = copy.transpose();
    EXPECT_EQ(offsets.use_count(), 2);
  }
  EXPECT_EQ(offsets.use_count(), 1);
}

TEST(graph_adopt, drops_edge_ids_that_are_the_stored_order) {
  const std::vector<EdgeId> offsets{0, 1, 2}, ids{0, 1};
  const std::vector<NodeId> cols{1, 0};
  EXPECT_FALSE(Graph::adopt(2, 2, offsets, cols, ids, {}).has_edge_ids());
}

TEST(graph_adopt, looks_at_contents_only_when_asked_to) {
  const std::vector<EdgeId> offsets{0, 1, 2};
  const std::vector<NodeId> bad_cols{1, 7};
  EXPECT_NO_THROW(Graph::adopt(2, 2, offsets, bad_cols, {}, {}, Validate::trusted));
  expect_refused([&] { Graph::adopt(2, 2, offsets, bad_cols, {}, {}, Validate::full); }, "cols",
                 ErrorCode::invalid_graph);
}

TEST(graph_adopt, refuses_arrays_that_cannot_be_a_graph) {
  const std::vector<EdgeId> offsets{0, 1, 2}, one_id{0}, twice{1, 1}, high{0, 2}, negative{-1, 0};
  const std::vector<NodeId> cols{1, 0};
  for (const Validate validation : {Validate::full, Validate::trusted}) {
    expect_refused([&] { Graph::adopt(-2, 2, offsets, cols, {}, {}, validation); }, "num_destinations");
    expect_refused([&] { Graph::adopt(2, -2, offsets, cols, {}, {}, validation); }, "num_sources");
    expect_refused([&] { Graph::adopt(1, 2, offsets, cols, {}, {}, validation); }, "offsets");
    expect_refused([&] { Graph::adopt(2, 2, offsets, cols, one_id, {}, validation); }, "edge_ids");
    expect_refused(
        [&] {
          Graph::adopt(2, 2, {offsets.data() + 1, 2}, {cols.data(), 1}, {}, {}, validation);
        },
        "offsets");
    expect_refused(
        [&] {
          Graph::adopt(2, 2, offsets, {cols.data(), 1}, {}, {}, validation);
        },
        "offsets", ErrorCode::invalid_graph);
  }
  expect_refused([&] { Graph::adopt(2, 2, offsets, cols, twice, {}); }, "edge_ids", ErrorCode::invalid_graph);
  expect_refused([&] { Graph::adopt(2, 2, offsets, cols, high, {}); }, "edge_ids", ErrorCode::invalid_graph);
  expect_refused([&] { Graph::adopt(2, 2, offsets, cols, negative, {}); }, "edge_ids", ErrorCode::invalid_graph);
}

}  // namespace
}  // namespace weft
