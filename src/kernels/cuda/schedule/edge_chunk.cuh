// The edges of a share as a group of threads visits them: chunk by chunk, each loaded into the lanes' registers while
// the group works on the one before, and within a chunk batch by batch. (GNNOne and HP-SpMM stage edges in shared
// memory. Where a lane holds one and shuffles hand it round, no barrier is needed, and an H200 is faster unless so few
// threads cover a row that the index comes in small pieces: see gather/staged.cuh.)
#pragma once

#include "kernels/cuda/schedule/edge_split.cuh"

namespace weft::cuda {

/// A chunk that is worked on. Edge i * Lanes + l of it is lane l's i-th.
template <int Lanes, int Each>
struct HeldEdges {
  static constexpr int size = Lanes * Each;
  NodeId col[Each], row[Each];
  unsigned ends;  // bit q, of this group's: a row ends with edge q
  int first;      // of the share's edges

  /// The lane and the register that hold edge q.
  static constexpr __device__ int lane_of(int q) { return Each == 1 ? q : q % Lanes; }
  static constexpr __device__ int place_of(int q) { return Each == 1 ? 0 : q / Lanes; }

  // By whole warps; where Each > 1, q must be known when this is compiled.
  /// What the lane that has edge q holds for it.
  template <class T>
  static __device__ __forceinline__ T from_lane(const T (&held)[Each], int q) {
    return __shfl_sync(~0u, held[place_of(q)], lane_of(q), Lanes);
  }
  /// The same for an edge that each group names when the kernel runs.
  template <class T>
  static __device__ __forceinline__ T from_any_lane(const T (&held)[Each], int q) {
    T found = __shfl_sync(~0u, held[0], q % Lanes, Lanes);
#pragma unroll
    for (int i = 1; i < Each; ++i) {
      const T other = __shfl_sync(~0u, held[i], q % Lanes, Lanes);
      found = q / Lanes == i ? other : found;
    }
    return found;
  }
  __device__ __forceinline__ std::uint32_t source(int q) const { return static_cast<std::uint32_t>(from_lane(col, q)); }
  /// Past the share's end: one that there is.
  __device__ __forceinline__ std::uint32_t destination(int q) const {
    return static_cast<std::uint32_t>(max(from_lane(row, q), 0));
  }
};

/// The chunk after that. Edge i * Lanes + l of it is lane l's i-th. `Value` is what is loaded for it beside its row and
/// column. `EdgesAsSources`: without columns (sums of edges' own values) an edge's source is the edge itself.
template <int Lanes, int Each, class Value, bool EdgesAsSources = false>
struct EdgeChunk {
  static constexpr int size = Lanes * Each;
  NodeId col[Each];
  NodeId row[Each];
  NodeId behind;  // the row of the edge after the chunk, so that nothing here waits for the next one
  Value value[Each];
  std::int32_t ahead[Each];  // where edges have ids: those of the chunk after this one

  /// Before the first load.
  __device__ __forceinline__ void start(const EdgeSplit& split, const EdgeShare& share, int lane) {
    if (split.ids == nullptr) return;
#pragma unroll
    for (int i = 0; i < Each; ++i)
      ahead[i] = i * Lanes + lane < share.length ? split.id_at(share.begin + i * Lanes + lane) : 0;
  }
  /// Edges [first, first + size) of the share, with values.load(k, id, column) for the k-th edge of all, `id` only
  /// being one where edges have ids; those past the share's end become edges of source 0 and row `past_end` with an
  /// empty value. Ids are loaded a chunk earlier than what they lead to, so that nothing waits for them.
  template <class Values>
  __device__ __forceinline__ void load(const EdgeSplit& split, const EdgeShare& share, int first, int lane,
                                       const Values& values, NodeId past_end) {
    const GraphView& g = split.graph;
    behind = first + size < share.length ? __ldg(g.rows + share.begin + first + size) : past_end;
#pragma unroll
    for (int i = 0; i < Each; ++i) {
      const int p = first + i * Lanes + lane;
      col[i] = 0;
      row[i] = past_end;
      value[i] = Value{};
      if (p >= share.length) continue;
      const EdgeId k = share.begin + p;
      if (g.cols != nullptr) {  // segments have none
        col[i] = __ldg(g.cols + k);
      } else if (EdgesAsSources) {
        col[i] = split.ids != nullptr ? ahead[i] : static_cast<NodeId>(k);
      }
      row[i] = __ldg(g.rows + k);
      value[i] = values.load(k, ahead[i], col[i]);
      if (split.ids != nullptr && p + size < share.length) ahead[i] = split.id_at(k + size);
    }
  }

  /// Bit l of the warp's, for each of its lanes: a row ends with that lane's i-th edge. The share's last one is
  /// followed by row_past_end.
  __device__ __forceinline__ unsigned ends_of(int i, int lane) const {
    NodeId follower = __shfl_down_sync(~0u, row[i], 1, Lanes);
    const NodeId wrapped = i + 1 < Each ? __shfl_sync(~0u, row[i + 1 < Each ? i + 1 : i], 0, Lanes) : behind;
    if (lane == Lanes - 1) follower = wrapped;
    return __ballot_sync(~0u, row[i] != follower);
  }

  /// Bit k of this group's, in chunks of up to 32 edges: a row ends with edge k.
  __device__ __forceinline__ unsigned ends(int lane, int shift) const {
    static_assert(size <= 32);
    constexpr unsigned lanes = Lanes >= 32 ? ~0u : (1u << (Lanes & 31)) - 1;
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < Each; ++i) bits |= (ends_of(i, lane) >> shift & lanes) << (i * Lanes & 31);
    return bits;
  }
};

/// For chunks of edges that bring nothing along but their ends.
struct NoValues {
  struct Loaded {};
  __device__ __forceinline__ Loaded load(EdgeId, std::int32_t, NodeId) const { return {}; }
};

/// What for_each_batch calls, all of it by whole warps, with nothing to do. `edges` are the chunk's.
template <class S>
struct BatchVisitor {
  using Edges = HeldEdges<S::lanes, S::each>;
  /// The row of edges past the share's end: of the first chunk, and then, which a visitor that needs registers may find
  /// elsewhere.
  __device__ __forceinline__ NodeId row_past_end(const EdgeShare& share) const { return share.row_past_end(); }
  /// While the first chunk is on its way.
  __device__ __forceinline__ void begin_share() {}
  /// Before the next chunk is asked for: `loaded` is what `Values` loaded for this lane's edges.
  template <class Loaded>
  __device__ __forceinline__ void begin_chunk(Edges&, const Loaded (&)[S::each]) {}
  __device__ __forceinline__ void begin_batches(const Edges&) {}
  /// Edges j to j + S::loads of the chunk.
  __device__ __forceinline__ void batch(const Edges&, int) {}
  __device__ __forceinline__ void end_chunk(const Edges&) {}
};

/// Visits the edges of a share. Every group of a warp makes the same steps, so that shuffles meet.
template <class S, class Values, class Visitor>
__device__ __forceinline__ void for_each_batch(const EdgeSplit& split, const EdgeShare& share, int lane,
                                               const Values& values, Visitor& visitor) {
  using Chunk = EdgeChunk<S::lanes, S::each, typename Values::Loaded>;
  const int shift = threadIdx.x % 32 / S::lanes * S::lanes;
  Chunk next;
  next.start(split, share, lane);
  next.load(split, share, 0, lane, values, visitor.row_past_end(share));
  visitor.begin_share();
  for (int first = 0; first < share.most; first += Chunk::size) {
    HeldEdges<S::lanes, S::each> edges;
    edges.first = first;
#pragma unroll
    for (int i = 0; i < S::each; ++i) {
      edges.col[i] = next.col[i];
      edges.row[i] = next.row[i];
    }
    visitor.begin_chunk(edges, next.value);
    edges.ends = next.ends(lane, shift);
    if (first + Chunk::size < share.most)
      next.load(split, share, first + Chunk::size, lane, values, visitor.row_past_end());
    visitor.begin_batches(edges);
    if constexpr (S::each == 1) {
      int j = 0;
#pragma unroll 1
      do {  // a chunk has a batch: what does not change from batch to batch is found once
        visitor.batch(edges, j);
        j += S::loads;
      } while (j < Chunk::size && first + j < share.most);
    } else {  // which register holds an edge must be known when this is compiled
#pragma unroll
      for (int j = 0; j < Chunk::size; j += S::loads) visitor.batch(edges, j);
    }
    visitor.end_chunk(edges);
  }
}

}  // namespace weft::cuda
