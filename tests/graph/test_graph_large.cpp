// More than 2^31 edges: by type and by arithmetic everywhere, for real where there is memory for it.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cmath>
#include <fstream>
#include <string>
#include <type_traits>

#include "graph/naive_graph.hpp"
#include "graph/scan.hpp"

namespace weft {
namespace {

static_assert(std::is_same_v<EdgeId, std::int64_t> && std::is_same_v<NodeId, std::int32_t>);
static_assert(std::is_same_v<decltype(GraphView::num_edges), std::int64_t>);
static_assert(std::is_same_v<decltype(GraphView::offsets), const std::int64_t*>);
static_assert(std::is_same_v<decltype(GraphView::edge_ids), const std::int64_t*>);
static_assert(std::is_same_v<decltype(std::declval<Graph>().num_edges()), std::int64_t>);
static_assert(std::is_same_v<decltype(std::declval<Graph&>().offsets()), std::span<const std::int64_t>>);
static_assert(std::is_same_v<decltype(std::declval<Graph&>().edge_ids()), std::span<const std::int64_t>>);
static_assert(std::is_same_v<decltype(std::declval<EdgeOrigin&>().ids()), std::span<const std::int64_t>>);
static_assert(std::is_same_v<decltype(std::declval<GraphView>().edge_id(0)), std::int64_t>);
static_assert(std::is_same_v<decltype(DegreeStats::max), std::int64_t>);

constexpr EdgeId billion = 1'000'000'000;

TEST(graph_large, edge_arithmetic_passes_32_bits) {
  // Rows of 3, 0, 4 and 1 billion edges: only the offsets exist.
  const std::vector<EdgeId> offsets{0, 3 * billion, 3 * billion, 7 * billion, 8 * billion};
  const GraphView view{4, 10, 8 * billion, offsets.data(), nullptr, nullptr, nullptr};
  EXPECT_EQ(view.edge_id(5 * billion), 5 * billion);
  EXPECT_EQ(row_of_edge(offsets.data(), 4, 3 * billion - 1), 0);
  EXPECT_EQ(row_of_edge(offsets.data(), 4, 3 * billion), 2);
  EXPECT_EQ(row_of_edge(offsets.data(), 4, 8 * billion - 1), 3);

  std::vector<std::array<EdgeId, 3>> runs;
  for_each_run(offsets.data(), 4, billion, 8 * billion - 1, [&](NodeId row, EdgeId first, EdgeId last) {
    runs.push_back({row, first, last});
  });
  EXPECT_EQ(runs, (std::vector<std::array<EdgeId, 3>>{
                      {0, billion, 3 * billion}, {2, 3 * billion, 7 * billion}, {3, 7 * billion, 8 * billion - 1}}));

  std::vector<EdgeId> counts{-1, 3 * billion, 0, 4 * billion, billion};
  EXPECT_EQ(counts_to_offsets(counts), 8 * billion);
  EXPECT_EQ(counts, offsets);
}

TEST(graph_large, degree_statistics_pass_32_bits) {
  // A trusted graph whose columns are never read; the span only carries their number.
  const std::vector<EdgeId> offsets{0, 3 * billion, 3 * billion, 7 * billion, 8 * billion};
  const NodeId nothing = 0;
  const Graph graph =
      Graph::adopt(4, 10, offsets, std::span<const NodeId>(&nothing, static_cast<std::size_t>(8 * billion)), {}, {},
                   Validate::trusted);
  EXPECT_EQ(graph.num_edges(), 8 * billion);
  const Tensor degrees = graph.degrees();
  EXPECT_EQ(degrees.span<std::int64_t>()[2], 4 * billion);
  EXPECT_THROW(graph.degrees(Dtype::i32), Error);
  const DegreeStats stats = graph.degree_stats();
  EXPECT_EQ(stats.max, 4 * billion);
  EXPECT_EQ(stats.mean, 2e9);
  EXPECT_NEAR(stats.stddev, std::sqrt((1 + 4 + 4 + 1) / 4.0) * 1e9, 1);
  EXPECT_EQ(stats.histogram.size(), 33u);
  EXPECT_EQ(graph.bytes(), static_cast<std::size_t>(8 * billion) * 4 + 5 * 8);
}

TEST(graph_large, row_ranges_visit_every_row_once_past_32_bits) {
  const std::vector<EdgeId> offsets{0, 3 * billion, 3 * billion, 7 * billion, 8 * billion};
  std::vector<std::int64_t> visited;
  const test::ThreadsRestored restored;
  set_default_threads(1);
  parallel_row_ranges(offsets.data(), 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) visited.push_back(row);
  });
  EXPECT_EQ(visited, (std::vector<std::int64_t>{0, 1, 2, 3}));
}

std::int64_t available_gib() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    std::int64_t kib = 0;
    if (key == "MemAvailable:" && file >> kib) return kib >> 20;
    file.ignore(256, '\n');
  }
  return 0;
}

constexpr EdgeId more_than_32_bits = (EdgeId{1} << 31) + 1000;

// Pages nobody has written to all show the same zeros, so 8 GiB of columns cost next to nothing.
struct ZeroColumns {
  std::size_t count = static_cast<std::size_t>(more_than_32_bits);
  NodeId* data = nullptr;

  ZeroColumns() {
    void* memory = mmap(nullptr, count * sizeof(NodeId), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    madvise(memory, count * sizeof(NodeId), MADV_HUGEPAGE);  // 4 thousand page faults instead of 2 million
    data = static_cast<NodeId*>(memory);
  }
  ~ZeroColumns() {
    if (data != nullptr) munmap(data, count * sizeof(NodeId));
  }
  ZeroColumns(const ZeroColumns&) = delete;
  ZeroColumns& operator=(const ZeroColumns&) = delete;
};

TEST(graph_large, validates_more_than_2_to_31_edges_to_the_last) {
  const ZeroColumns cols;
  if (cols.data == nullptr) GTEST_SKIP() << "no address space for " << more_than_32_bits << " columns";
  const std::vector<EdgeId> offsets{0, 5, more_than_32_bits};
  const Graph graph = Graph::adopt(2, 1, offsets, {cols.data, cols.count}, {}, {}, Validate::trusted);
  EXPECT_EQ(graph.num_edges(), more_than_32_bits);
  EXPECT_EQ(graph.degree_stats().max, more_than_32_bits - 5);
  cols.data[more_than_32_bits - 1] = 1;
  EXPECT_EQ(test::message_of([&] { validate(graph.view()); }),
            "cols[2147484647] is 1, in row 1: expected a node id from 0 to 0 (the graph has 1 columns)");
}

TEST(graph_large, takes_a_sorted_list_of_more_than_2_to_31_edges) {
  // 16 GiB of input, 8 of columns, 8 of rows.
  constexpr std::int64_t needed_gib = 40;
  if (const std::int64_t free = available_gib(); free < needed_gib)
    GTEST_SKIP() << "needs " << needed_gib << " GiB of free memory, this machine has " << free;
  constexpr std::int64_t nodes = 1000, degree = more_than_32_bits / nodes + 1;
  std::vector<NodeId> destinations(static_cast<std::size_t>(more_than_32_bits)), sources(destinations.size());
  parallel_ranges(default_threads(), more_than_32_bits, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
    for (EdgeId e = begin; e < end; ++e) {
      destinations[static_cast<std::size_t>(e)] = static_cast<NodeId>(e / degree);
      sources[static_cast<std::size_t>(e)] = static_cast<NodeId>(e % degree);
    }
  });
  const Graph graph = Graph::from_edges({.num_sources = degree, .num_destinations = nodes},
                                        {.sources = sources, .destinations = destinations});
  ASSERT_EQ(graph.num_edges(), more_than_32_bits);
  EXPECT_FALSE(graph.has_edge_ids());
  EXPECT_EQ(graph.offsets()[nodes - 1], degree * (nodes - 1));
  EXPECT_EQ(graph.offsets()[nodes], more_than_32_bits);
  EXPECT_NO_THROW(validate(graph.view_with_rows()));
}

TEST(graph_large, sorts_and_transposes_more_than_2_to_31_edges) {
  // 17 GiB of input, 61 GiB while it is sorted, 77 GiB with the transpose.
  constexpr std::int64_t needed_gib = 110;
  if (const std::int64_t free = available_gib(); free < needed_gib)
    GTEST_SKIP() << "needs " << needed_gib << " GiB of free memory, this machine has " << free;
  constexpr EdgeId edges = more_than_32_bits;
  constexpr std::int64_t nodes = 1'000'000;
  std::vector<NodeId> destinations(static_cast<std::size_t>(edges)), sources(static_cast<std::size_t>(edges));
  const auto source_of = [](EdgeId e) {
    return static_cast<NodeId>(static_cast<std::uint64_t>(e) * 2654435761u % nodes);
  };
  const auto destination_of = [](EdgeId e) {
    return static_cast<NodeId>(static_cast<std::uint64_t>(e) * 40503u % nodes);
  };
  parallel_ranges(default_threads(), edges, 1 << 20, [&](std::int64_t begin, std::int64_t end) {
    for (EdgeId e = begin; e < end; ++e) {
      destinations[static_cast<std::size_t>(e)] = destination_of(e);
      sources[static_cast<std::size_t>(e)] = source_of(e);
    }
  });
  const Graph graph = Graph::from_edges(nodes, {.sources = sources, .destinations = destinations});
  ASSERT_EQ(graph.num_edges(), edges);
  EXPECT_NO_THROW(validate(graph.view()));
  const Graph transpose = graph.transpose();
  EXPECT_NO_THROW(validate(transpose.view()));
  const auto check = [&](const Graph& which, auto row_of, auto col_of) {
    const GraphView view = which.view();
    const EdgeId wrong = find_first(nodes, [&](std::int64_t row) {
      bool bad = false;
      for (EdgeId k = view.offsets[row]; k < view.offsets[row + 1]; ++k) {
        bad |= row_of(view.edge_id(k)) != row || col_of(view.edge_id(k)) != view.cols[k];
        if (k > view.offsets[row]) bad |= view.cols[k - 1] > view.cols[k];
      }
      return bad;
    });
    EXPECT_EQ(wrong, nodes);
  };
  check(graph, destination_of, source_of);
  check(transpose, source_of, destination_of);
}

}  // namespace
}  // namespace weft
