#include <atomic>
#include <chrono>
#include <random>

#include "core/check.hpp"
#include "core/memory.hpp"
#include "core/mix.hpp"
#include "graph/graph_impl.hpp"
#include "graph/scan.hpp"

namespace weft {
namespace {

void check_offsets(const GraphView& graph) {
  const EdgeId* offsets = graph.offsets;
  WEFT_CHECK(offsets[0] == 0, invalid_graph, "offsets[0] is {}: expected 0", offsets[0]);
  const std::int64_t row =
      find_first(graph.num_rows, [offsets](std::int64_t i) { return offsets[i + 1] < offsets[i]; });
  if (row < graph.num_rows)
    fail(ErrorCode::invalid_graph, "offsets[{}] is {}, below offsets[{}] = {}: expected offsets that never fall",
         row + 1, offsets[row + 1], row, offsets[row]);
  WEFT_CHECK(offsets[graph.num_rows] == graph.num_edges, invalid_graph,
             "offsets[{}] is {}: expected the number of edges, {}", graph.num_rows, offsets[graph.num_rows],
             graph.num_edges);
}

void check_cols(const GraphView& graph) {
  const EdgeId k =
      find_first(graph.num_edges, [cols = graph.cols, bound = static_cast<std::uint32_t>(graph.num_cols)](
                                      std::int64_t i) { return static_cast<std::uint32_t>(cols[i]) >= bound; });
  if (k == graph.num_edges) return;
  fail(ErrorCode::invalid_graph,
       "cols[{}] is {}, in row {}: expected a node id from 0 to {} (the graph has {} columns)", k, graph.cols[k],
       row_of_edge(graph.offsets, graph.num_rows, k), graph.num_cols - 1, graph.num_cols);
}

void check_rows(const GraphView& graph) {
  std::atomic<EdgeId> first{graph.num_edges};
  parallel_runs(graph.offsets, graph.num_rows, graph.num_edges, [&](NodeId row, EdgeId begin, EdgeId end) {
    for (EdgeId k = begin; k < end; ++k) {
      if (graph.rows[k] == row) continue;
      EdgeId seen = first.load(std::memory_order_relaxed);
      while (k < seen && !first.compare_exchange_weak(seen, k, std::memory_order_relaxed)) {
      }
      return;
    }
  });
  const EdgeId k = first.load();
  if (k == graph.num_edges) return;
  fail(ErrorCode::invalid_graph, "rows[{}] is {}: expected {}, the row whose offsets enclose edge {}", k, graph.rows[k],
       row_of_edge(graph.offsets, graph.num_rows, k), k);
}

// Every id from 0 to E - 1 once. One bit an edge says whether its id was seen.
void check_edge_ids(const GraphView& graph) {
  const EdgeId* ids = graph.edge_ids;
  const EdgeId count = graph.num_edges;
  const EdgeId outside = find_first(count, [=](std::int64_t k) { return ids[k] < 0 || ids[k] >= count; });
  if (outside < count)
    fail(ErrorCode::invalid_graph, "edge_ids[{}] is {}, in row {}: expected an edge id from 0 to {}", outside,
         ids[outside], row_of_edge(graph.offsets, graph.num_rows, outside), count - 1);

  const auto words = static_cast<std::size_t>((count + 63) / 64);
  Buffer<std::uint64_t> seen(words, "marks of the edge ids seen");
  std::fill(seen.begin(), seen.end(), 0);
  const auto word_of = [](EdgeId id) { return static_cast<std::size_t>(id / 64); };
  const auto bit_of = [](EdgeId id) { return std::uint64_t{1} << (id % 64); };
  std::atomic<bool> twice{false};
  parallel_ranges(default_threads(), count, scan_grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      const std::uint64_t bit = bit_of(ids[k]);
      if (std::atomic_ref(seen[word_of(ids[k])]).fetch_or(bit, std::memory_order_relaxed) & bit)
        twice.store(true, std::memory_order_relaxed);
    }
  });
  if (!twice.load()) return;
  std::fill(seen.begin(), seen.end(), 0);  // which thread met it first is chance: walk again to name the first
  for (EdgeId k = 0; k < count; ++k) {
    std::uint64_t& word = seen[word_of(ids[k])];
    if (word & bit_of(ids[k]))
      fail(ErrorCode::invalid_graph,
           "edge_ids[{}] is {}, in row {}: an earlier edge has that id, expected each id once", k, ids[k],
           row_of_edge(graph.offsets, graph.num_rows, k));
    word |= bit_of(ids[k]);
  }
}

// Drawn once a process: the mixed sums of a file cannot be known when it is made.
std::uint64_t secret_key() {
  static const std::uint64_t key = [] {
    try {
      std::random_device device;
      return std::uint64_t{device()} << 32 | device();
    } catch (const std::exception&) {  // a machine without a source of randomness
      return mix(static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()));
    }
  }();
  return key;
}

// Whether all ids are in range and their mixed sum is that of 0 to E - 1: one pass that streams, where the
// bitmap above is met in random order. Ids that are no permutation have that sum by chance once in 2^64, and
// the key keeps anyone from choosing such ids: which ones they are differs from process to process.
bool edge_ids_add_up(const GraphView& graph) {
  const std::uint64_t key = secret_key();
  std::atomic<bool> outside{false};
  std::atomic<std::uint64_t> surplus{0};
  const auto count = static_cast<std::uint64_t>(graph.num_edges);
  parallel_ranges(default_threads(), graph.num_edges, scan_grain, [&](std::int64_t begin, std::int64_t end) {
    std::uint64_t sum = 0;
    bool any = false;
    for (std::int64_t k = begin; k < end; ++k) {
      const auto id = static_cast<std::uint64_t>(graph.edge_ids[k]);
      any |= id >= count;
      sum += mix(id ^ key) - mix(static_cast<std::uint64_t>(k) ^ key);
    }
    surplus.fetch_add(sum, std::memory_order_relaxed);
    if (any) outside.store(true, std::memory_order_relaxed);
  });
  return !outside.load() && surplus.load() == 0;
}

}  // namespace

void validate(const GraphView& graph) { validate(graph, EdgeIdCheck::exact); }

void validate(const GraphView& graph, EdgeIdCheck ids) {
  check_node_count(graph.num_rows, "num_rows");
  check_node_count(graph.num_cols, "num_cols");
  WEFT_CHECK(graph.num_edges >= 0, invalid_argument, "num_edges is {}: expected 0 or more", graph.num_edges);
  if (graph.offsets == nullptr && graph.num_rows == 0 && graph.num_edges == 0) return;
  WEFT_CHECK(graph.offsets != nullptr, invalid_argument, "offsets is null: expected num_rows + 1 = {} entries",
             graph.num_rows + 1);
  WEFT_CHECK(graph.cols != nullptr || graph.num_edges == 0, invalid_argument, "cols is null: expected {} entries",
             graph.num_edges);
  check_offsets(graph);
  check_cols(graph);
  if (graph.rows != nullptr) check_rows(graph);
  if (graph.edge_ids == nullptr || (ids == EdgeIdCheck::mixed_sum && edge_ids_add_up(graph))) return;
  check_edge_ids(graph);
}

}  // namespace weft
