// Messages of edges reduced by rows, over equal shares of the edges: the one walk of SpMM and attention.
//
// A group of threads covers a row of x and walks the edges of its share, several rows of x in flight at any time. What
// an edge sends is the message's matter (sender.cuh); how rows begin, end and are cut is this file's. Batches of edges
// without a row's end, the common case, take a path without branches.
#pragma once

#include "kernels/cuda/gather/cut_rows.cuh"
#include "kernels/cuda/gather/sender.cuh"

namespace weft::cuda {

template <class Message, class S, Reduction Kind>
struct Walk : BatchVisitor<S> {
  using Here = Lane<Message, S, Kind>;
  using Send = Sender<Message, S, Kind>;
  using State = typename Here::State;
  using Acc = typename Here::Acc;
  using Edges = HeldEdges<S::lanes, S::each>;
  using Cut = CutRows<Message, S, Kind, S::groups>;
  static constexpr int loads = S::loads, totals = Here::totals, settle_every = 8 * loads;

  // Share, lane and sender by value: locals behind a reference cost registers.
  const GatherArgs<Message>& args;
  typename Cut::Slots& slots;
  const EdgeShare share;
  const Here here;
  Send sender;
  State state;
  // Places of edges are counted from where the task would begin if no border stepped back.
  const int origin;
  bool carried_open;        // the row that began before the share has not ended yet
  bool one_by_one = false;  // the last batch was added up so
  int begun = 0;            // where in the share the current row begins, unless it was carried in

  __device__ __forceinline__ Walk(const GatherArgs<Message>& all, typename Cut::Slots& shared)
      : args(all),
        slots(shared),
        share(EdgeShare::of<S::groups>(all.split, group())),
        here(all, share.nominal, static_cast<int>(blockIdx.y) * S::tile + Here::first_of(all, lane())),
        sender(all, here, lane()),
        origin(static_cast<int>(share.begin - here.nominal)),
        carried_open(share.carried >= 0) {
    state.clear();
  }
  // From the thread's index where they are needed: members would take registers throughout.
  static __device__ __forceinline__ int group() { return threadIdx.x / S::lanes; }
  static __device__ __forceinline__ int lane() { return threadIdx.x % S::lanes; }
  __device__ __forceinline__ Cut cut() const { return {here, slots, group(), lane()}; }

  using BatchVisitor<S>::row_past_end;
  __device__ __forceinline__ NodeId row_past_end() const { return cut().row_past_end(); }
  __device__ __forceinline__ void begin_share() {
    cut().begin(share);  // what it keeps is waited for: the edges are on their way
    sender.begin_share(share);
  }
  template <class Loaded>
  __device__ __forceinline__ void begin_chunk(Edges& edges, const Loaded (&loaded)[S::each]) {
    sender.begin_chunk(edges, loaded);
  }
  __device__ __forceinline__ void begin_batches(const Edges& edges) { sender.weigh_chunk(share, edges); }
  __device__ __forceinline__ void end_chunk(const Edges& edges) {
    if ((edges.first + Edges::size) % settle_every == 0) state.settle();
  }

  __device__ __forceinline__ void batch(const Edges& edges, int j) {
    add(edges, j);
    if constexpr (S::each == 1 && settle_every < Edges::size)
      if ((j + loads) % settle_every == 0) state.settle();
  }

  __device__ __forceinline__ void add(const Edges& edges, int j) {
    typename Send::Batch batch;
    sender.gather(batch, share, edges, j);
    const int at = edges.first + j;
    const unsigned row_ends = edges.ends >> j & ((1u << loads) - 1);
    // The warp takes one path. The usual one: no row of any of its groups ends here, and no edge is missing.
    const bool whole = at + loads <= share.length || share.length == 0;  // without edges nothing is missing
    const bool usual = __all_sync(~0u, whole && row_ends == 0);
    sender.weigh(batch, share, edges, j, usual);
    if (usual) {
      if (one_by_one) state.settle();
      one_by_one = false;
      sender.fold(state, batch, origin + at, share, edges, j);
      return;
    }
    sender.weigh_ends(batch, share, edges, j);
    one_by_one = true;
    constexpr RowEnds ends = Send::row_ends;
    if constexpr (ends == RowEnds::in_rounds) return fold_in_rounds(edges, j, batch, row_ends);
    if constexpr (ends == RowEnds::collected || ends == RowEnds::either) {
      if (ends == RowEnds::collected || args.epilogue.none_but_mean) {
        // Where lanes have several steps, or the path below is compiled too, one must serve for both: two take more
        // registers than there are.
        if (S::steps == 1 && ends == RowEnds::collected && __all_sync(~0u, whole && (row_ends == 0 || !carried_open))) {
          fold_over_ends<false>(edges, j, batch, row_ends);
        } else {
          fold_over_ends<true>(edges, j, batch, row_ends);
        }
        return;
      }
    }
    if constexpr (ends == RowEnds::one_by_one || ends == RowEnds::either) fold_one_by_one(edges, j, batch, row_ends);
  }

  /// Rows end, or edges are missing. No group waits for another's rows, but `WithBorders`, where the row ends that
  /// began before the share, or the share does.
  template <bool WithBorders, class Batch>
  __device__ __forceinline__ void fold_over_ends(const Edges& edges, int j, const Batch& batch, unsigned row_ends) {
    const bool ending = row_ends != 0;
    if (!Send::collects_in_one_way && __all_sync(~0u, ending)) {
      state.collect();
    } else {
      state.collect(ending);
    }
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const int p = edges.first + j + u;
      const bool over = row_ends >> u & 1u;
      const NodeId row = Edges::from_lane(edges.row, j + u);
      const bool there = !WithBorders || p < share.length;
      send<S, totals>(
          sender, batch, u, sender.weight(batch, u), [&](int i, Acc message) __attribute__((always_inline)) {
            state.fold_if(there, i, message);
          });
      if constexpr (WithBorders)
        if (over && carried_open) cut().save_carried(state.settled());
      const bool written = over && !(WithBorders && carried_open);
      here.write_collected(state, row, written, p + 1 - begun);
      if constexpr (Here::Row::averages) begun = over ? p + 1 : begun;
      if constexpr (WithBorders) carried_open = carried_open && !over;
      state.clear_collected(over);
    }
  }

  template <class Batch>
  __device__ __forceinline__ void fold_one_by_one(const Edges& edges, int j, const Batch& batch, unsigned row_ends) {
    state.settle();
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      const int p = edges.first + j + u;
      const NodeId row = Edges::from_lane(edges.row, j + u);
      const auto weight = sender.weight(batch, u);
      if (p >= share.length) continue;
      send<S, totals>(
          sender, batch, u,
          weight, [&](int i, Acc message) __attribute__((always_inline)) { state.fold(i, message, origin + p); });
      if (!(row_ends >> u & 1u)) continue;
      state.settle();
      if (carried_open) {
        cut().save_carried(state);
        carried_open = false;
      } else {
        here.write(state, row, p + 1 - begun, here.beside(row, true));
      }
      begun = p + 1;
      state.clear();
    }
  }

  /// All groups of the warp add up edges as far as their next row's end, store that row, and go on behind it. The code
  /// that stores a row is there once: unrolled with the edges the whole epilogue would outgrow the instruction cache
  /// (bench/records/h200/row-ends.json).
  template <class Batch>
  __device__ __forceinline__ void fold_in_rounds(const Edges& edges, int j, const Batch& batch, unsigned row_ends) {
    state.settle();
    const int first = edges.first + j;
    const unsigned there = (1u << min(max(share.length - first, 0), loads)) - 1;
    int from = 0;  // the first edge that is not added up yet
#pragma unroll 1
    do {
      const bool over = row_ends != 0, stored = over && !carried_open;
      const int last = over ? __ffs(static_cast<int>(row_ends)) - 1 : loads - 1;
      const NodeId row = Edges::from_any_lane(edges.row, j + last);
      const auto beside = here.beside(row, stored);
      const unsigned round = (2u << last) - (1u << from) & there;
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const bool counts = round >> u & 1u;
        send<S, totals>(
            sender, batch, u, sender.weight(batch, u), [&](int i, Acc message) __attribute__((always_inline)) {
              if (counts) state.fold(i, message, origin + first + u);
            });
      }
      if (over) {
        state.settle();
        if (stored) {
          here.write(state, row, first + last + 1 - begun, beside);
        } else {
          cut().save_carried(state);
          carried_open = false;
        }
        begun = first + last + 1;
        state.clear();
      }
      from = last + 1;
      row_ends &= row_ends - 1;
    } while (__any_sync(~0u, from < loads));
  }
};

template <class Message, class S, Reduction Kind>
__global__ void __launch_bounds__(block_threads, blocks_of<Message, S>) gather_edges(const GatherArgs<Message> args) {
  using Walk = cuda::Walk<Message, S, Kind>;
  __shared__ typename Walk::Cut::Slots slots;
  Walk walk(args, slots);
  for_each_batch<S>(args.split, walk.share, Walk::lane(), EdgeInput<Message>{args}, walk);
  walk.state.settle();
  walk.cut().finish(walk.state);
}

}  // namespace weft::cuda
