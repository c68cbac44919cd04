// What stands behind a Graph. A graph and its transpose live and die together: both are halves of one
// pair, and every Graph that shows either half owns the whole pair. Neither half owns the other, so
// there is no cycle, and the transpose of the transpose is the first half itself.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "core/memory.hpp"
#include "graph/counting_sort.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/graph_internals.hpp"
#include "weft/graph.hpp"

namespace weft {

enum class WindowLayout : std::uint8_t;

struct Graph::Impl {
  struct Pair;

  std::int64_t num_rows = 0, num_cols = 0;
  std::span<const EdgeId> offsets;
  std::span<const NodeId> cols;
  std::span<const EdgeId> edge_ids;     // empty where edge k's id is k, or where they are made on demand
  std::shared_ptr<const void> keeper;   // of the three arrays
  Device device;                        // where they are
  CUstream_st* stream = nullptr;        // that they were made in, on a device
  Buffer<NodeId> rows;                  // built on demand
  const NodeId* device_rows = nullptr;  // of a graph on a device: always there
  bool rows_built = false;
  bool redrawn = false;                                            // edges change in place (RedrawnGraph)
  bool ids_on_demand = false;                                      // of the transpose on a device
  mutable DeviceBuffer made_ids;                                   // those, once somebody reads them
  EdgeId longest_row = -1;                                         // of a graph on a device, where it is known
  std::int64_t empty_rows = -1;                                    //
  mutable std::shared_ptr<const RowOrder> communities;             // of a graph on a device, built on demand
  mutable std::shared_ptr<const RowOrder> loa;                     // likewise, by LOA
  mutable std::shared_ptr<EdgeOrder> clustered;                    // likewise
  mutable std::shared_ptr<const EdgePlaces> places[2][2];          // likewise, by whether either walk is clustered
  mutable std::vector<std::shared_ptr<KeptRows>> kept_rows;        // one for each width of a sample
  mutable std::vector<std::shared_ptr<const RowWindows>> windows;  // of a graph on a device, one for each shape
  Pair* pair = nullptr;
  std::uint64_t identity = next_identity();

  /// Of a half whose ids are made on demand, without them.
  GraphView view() const;
  std::size_t bytes() const;

  // Of a half whose ids are made on demand, under the pair's lock:

  /// The ids that are kept; null: none yet.
  const EdgeId* kept_ids() const { return reinterpret_cast<const EdgeId*>(made_ids.data()); }
  /// Makes and keeps them, for work in any stream.
  void keep_ids() const;
  /// Ids for work in the half's stream: those kept, or else made, and `temporary` holds them.
  const EdgeId* ids_for_now(DeviceBuffer& temporary) const;
  /// Of samples of that width, where they are there; under the pair's lock.
  std::shared_ptr<KeptRows> kept_rows_of(std::int64_t width) const;
  /// The order of rows by community, built on first use in the half's stream and kept (4 bytes per row); under the
  /// pair's lock.
  std::shared_ptr<const RowOrder> rows_by_community() const;
  /// The order that windows of that layout list rows in, kept likewise; null: they stand in sequence.
  std::shared_ptr<const RowOrder> rows_in(WindowLayout layout) const;
  /// This half; an Error where its arrays are not the host's to read.
  const Impl& on_host() const;

  /// Never the same twice, where an address would come back with the next graph.
  static std::uint64_t next_identity();

  /// Takes over arrays on a device.
  void hold(std::int64_t num_rows, std::int64_t num_cols, std::int64_t num_edges, cuda::EdgeBuffers arrays,
            Device device, CUstream_st* stream);
  /// Becomes a half over tensors that stand where their shapes say, with rows of their own on a device.
  void take(const RowTensors& from, std::shared_ptr<const void> kept_for, std::int64_t num_rows, std::int64_t num_cols,
            CUstream_st* stream);
  /// Finds longest_row and empty_rows of a half on a device; waits for the answer.
  void look_at_rows();
  /// Becomes a copy of `from` on a device.
  void copy(const Impl& from, Device device, CUstream_st* stream);

  /// The half `graph` shows; one without nodes for a Graph that was moved from.
  static const Impl& of(const Graph& graph);
  static Graph make(std::int64_t num_rows, std::int64_t num_cols, std::span<const EdgeId> offsets,
                    std::span<const NodeId> cols, std::span<const EdgeId> edge_ids, std::shared_ptr<const void> keeper);
  /// The same over arrays on a device; waits for the stream.
  static Graph make_on(Device device, CUstream_st* stream, std::int64_t num_rows, std::int64_t num_cols,
                       std::span<const EdgeId> offsets, std::span<const NodeId> cols, const NodeId* rows,
                       std::span<const EdgeId> edge_ids, std::shared_ptr<const void> keeper);
};

struct Graph::Impl::Pair {
  std::mutex lock;  // over everything built on demand in both halves
  bool reversed_built = false;
  Impl given, reversed;

  /// Builds the reversed half of a graph on a device, there. Ids of few edges come with it, as the sort has them at
  /// hand; of more (128 MiB and up) they are made when somebody reads them, by another sort.
  void reverse_on_device();
  static constexpr std::size_t ids_at_once = std::size_t{1} << 24;  // edges
};

/// A graph over arrays built inside weft, taken to be right.
Graph own(std::int64_t num_rows, std::int64_t num_cols, EdgeArrays arrays);

/// How sure a check is that edge ids are 0 to E - 1, each once. A mixed sum misses one error in 2^64, whether it
/// came about by mistake or on purpose (the mixing has a key that differs from process to process), in a quarter
/// of the time. Either way every id is in range, and an error names the first id that is wrong.
enum class EdgeIdCheck { exact, mixed_sum };
void validate(const GraphView& graph, EdgeIdCheck ids);

/// Whether the ids are 0, 1, 2, ... and so can be left out.
bool in_sequence(std::span<const EdgeId> edge_ids);

/// An Error unless node counts fit a node id and there are as many destinations as sources.
void check_edge_list_sizes(std::int64_t num_destinations, std::int64_t num_sources, std::size_t destinations,
                           std::size_t sources);
/// An Error unless the end of edge k, of `argument`, is a node of so many.
void check_end(std::string_view argument, std::string_view bound_name, std::int64_t id, std::int64_t bound,
               std::int64_t k);
/// An Error that names the end of edge k of a list that is out of range.
void check_edge_ends(const GraphView& list, std::int64_t k, NodeId destination, NodeId source);

/// An Error unless the count fits the 32 bits of a node id.
void check_node_count(std::int64_t count, std::string_view argument);

}  // namespace weft
