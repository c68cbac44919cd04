// Louvain's method on a GPU: the passes over one level. Pointers are the device's; work goes into the stream, and only
// what returns a number waits for it. Sums are of whole numbers, so that the order of atomics does not matter.
#pragma once

#include "core/cuda/launcher.hpp"
#include "core/device.hpp"
#include "graph/order/louvain_rule.hpp"
#include "weft/graph.hpp"

namespace weft::louvain {

using Sum = unsigned long long;  // as CUDA's atomics have it

/// The graph of a level.
struct LevelGraph {
  std::int64_t nodes = 0, edges = 0;
  const EdgeId* offsets = nullptr;
  const NodeId *rows = nullptr, *cols = nullptr;
  const std::int64_t* weights = nullptr;  // null: 1 each
};

/// What nodes and communities are like while nodes move.
struct LevelState {
  NodeId *community = nullptr, *wish = nullptr;               // [nodes]
  std::int64_t *strength = nullptr, *of_community = nullptr;  // [nodes], [communities]
  std::int32_t* members = nullptr;                            // [communities]
  std::int32_t* changed = nullptr;                            // [nodes] when a neighbour last moved
  std::int64_t total = 0;
};

/// Nodes by bucket, and in a bucket by the size of the table that their neighbours' communities need.
struct DecisionList {
  static constexpr int sizes = 4;
  const NodeId* nodes = nullptr;
  std::int64_t starts[buckets * sizes + 1] = {};
  std::int64_t longest = 0;  // edges of a node

  std::int64_t first(int bucket, int size = 0) const { return starts[bucket * sizes + size]; }
  std::int64_t count(int bucket, int size) const { return first(bucket, size + 1) - first(bucket, size); }
};
/// Fills `nodes` [nodes] and gives the list over it.
WEFT_LAUNCHER(DecisionList list_decisions(Device device, CUstream_st* stream, const LevelGraph& graph, NodeId* nodes));

/// Memory of tables too large for a multiprocessor: those of nodes with many edges.
struct HubTables {
  std::int64_t slots = 0;  // of a table; 0: no node needs one
  int tables = 0;
  std::size_t bytes() const { return static_cast<std::size_t>(slots) * static_cast<std::size_t>(tables) * slot_bytes; }
  static constexpr std::size_t slot_bytes = sizeof(NodeId) + sizeof(Sum);
};
HubTables hub_tables(const DecisionList& list);

/// Every node starts on its own. `strength` and `total` are there.
WEFT_LAUNCHER(void start_alone(Device device, CUstream_st* stream, std::int64_t nodes, const LevelState& state));
/// The nodes of a bucket decide, then move; `now` counts buckets. Adds the number of those that did to `moved`.
WEFT_LAUNCHER(void move_bucket(Device device, CUstream_st* stream, const LevelGraph& graph, const LevelState& state,
                               const DecisionList& list, int bucket, std::int32_t now, HubTables tables, void* memory,
                               Sum* moved));

/// strength[v] = the sum of its edges' weights; gives that of all.
WEFT_LAUNCHER(std::int64_t add_strengths(Device device, CUstream_st* stream, const LevelGraph& graph,
                                         std::int64_t* strength));
/// Modularity of every node on its own, times 4m^2.
WEFT_LAUNCHER(Wide modularity_alone(Device device, CUstream_st* stream, const LevelGraph& graph,
                                    const std::int64_t* strength, std::int64_t total));
/// Numbers the communities that have members, in their order, and gives their count.
WEFT_LAUNCHER(std::int64_t number_by_members(Device device, CUstream_st* stream, std::int64_t nodes,
                                             const LevelState& state));

/// Whether two graphs have the same edges in the same order.
WEFT_LAUNCHER(bool same_edges(Device device, CUstream_st* stream, const LevelGraph& a, const LevelGraph& b));
/// Rows of the result: those of `a` with those of `b` behind them.
struct LevelArrays {
  DeviceBuffer offsets, rows, cols, weights;
  std::int64_t edges = 0;
};
WEFT_LAUNCHER(LevelArrays join_rows(Device device, CUstream_st* stream, const LevelGraph& a, const LevelGraph& b));
/// The graph whose nodes are communities 0 to `communities` - 1; weights of edges between the same two are added up, of
/// so many edges at once, which take 32 bytes each.
WEFT_LAUNCHER(LevelArrays contract_edges(Device device, CUstream_st* stream, const LevelGraph& graph,
                                         const NodeId* community, std::int64_t communities,
                                         std::int64_t edges_at_once = std::int64_t{1} << 27));

}  // namespace weft::louvain
