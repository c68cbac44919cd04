// What the walk asks of a message.
//
//   EdgeInput<Message>         what is loaded for an edge beside its two ends, one chunk ahead of its use
//   Sender<Message, S, Kind>   what a lane of shape S knows of its message: it gathers rows, weighs edges and sends
//   RowOf<Message, S, Kind>    what is accumulated beside the features, and how a reduced row is stored
//
// For each chunk of edges the walk calls begin_chunk (loads that the weights depend on) and weigh_chunk (once the next
// chunk is on its way), for each batch of a chunk gather (rows of x on their way) and weigh; then fold, where no row
// ends in the batch, or weigh_ends and edge by edge weight and message. All of them are called by whole warps.
#pragma once

#include "core/pack.hpp"
#include "kernels/cuda/gather/accumulator.cuh"
#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/messages/messages.hpp"
#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/schedule/edge_chunk.cuh"
#include "kernels/cuda/schedule/shape.hpp"

namespace weft::cuda {

/// Messages that need nothing of an edge but its ends.
template <class Message>
struct EdgeInput {
  struct Loaded {};
  const GatherArgs<Message>& args;
  /// Of the k-th edge in the order of the work, with `id` where edges have ids.
  __device__ __forceinline__ Loaded load(EdgeId, std::int32_t, NodeId) const { return {}; }
};

struct NothingBeside {};

/// Rows without anything beside their features.
template <class Message, class S, Reduction Kind>
struct RowOf {
  static constexpr int totals = 0;
  static constexpr bool total_in_parts = false;
  static constexpr bool averages = Message::result == RowResult::mean;

  /// What a row is stored with, loaded ahead.
  using Beside = std::conditional_t<Message::result == RowResult::with_epilogue,
                                    RowFactors<AccumulatorOf<typename Message::Storage>>, NothingBeside>;
  static __device__ __forceinline__ Beside beside(const GatherArgs<Message>& args, NodeId row, bool stored) {
    if constexpr (Message::result == RowResult::with_epilogue) return row_factors(args.epilogue, row, stored);
    return {};
  }

  template <int Count, class Acc>
  static __device__ __forceinline__ void write(const GatherArgs<Message>& args, NodeId row, EdgeId degree, int feature,
                                               Acc (&value)[Count], const Beside& beside) {
    if constexpr (Message::result == RowResult::with_epilogue)
      return apply_epilogue<Count, Count>(args.epilogue, beside, row, degree, feature, value);
    if constexpr (averages) average(value, degree);
    store_row<Count>(args.epilogue, row, feature, value);
  }
};

/// How the walk closes rows that end within a batch. `collected`: all lanes of a warp add the same edges and select
/// what counts, and no group waits for another's store. `in_rounds`: see Walk::fold_in_rounds, for sums with the whole
/// epilogue. `one_by_one`: each edge by itself, for winners, and for messages that take long to find. `either`:
/// collected or one by one, whichever the call allows.
enum class RowEnds { collected, in_rounds, one_by_one, either };

/// The hooks with nothing to do, and rows of x.
template <class Message, class S>
struct SenderBase {
  using Storage = typename Message::Storage;
  using Acc = AccumulatorOf<Storage>;
  using X = Pack<Storage, S::vector>;
  using Edges = HeldEdges<S::lanes, S::each>;
  static constexpr RowEnds row_ends = RowEnds::collected;
  static constexpr bool collects_in_one_way = false;  // see Walk::fold_over_ends

  struct Batch {
    X x[S::loads][S::steps];
  };
  const GatherArgs<Message>& args;
  const Storage* x_lane[S::steps];  // lanes past the last feature load the first ones again, and write nothing

  template <class Lane>
  __device__ __forceinline__ SenderBase(const GatherArgs<Message>& all, const Lane& here, int) : args(all) {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const int f = here.has(s) ? here.at(s) : 0;
      if constexpr (requires { args.message.width; }) {
        const int head = f / args.message.width;
        x_lane[s] = args.x + head * args.message.x_head + (f - head * args.message.width);
      } else {
        x_lane[s] = args.x + f;
      }
    }
  }
  __device__ __forceinline__ void begin_share(const EdgeShare&) {}
  template <class Loaded>
  __device__ __forceinline__ void begin_chunk(const Edges&, const Loaded (&)[S::each]) {}
  __device__ __forceinline__ void weigh_chunk(const EdgeShare&, const Edges&) {}
  template <class BatchOf>
  __device__ __forceinline__ void gather(BatchOf& batch, const EdgeShare&, const Edges& edges, int j) {
#pragma unroll
    for (int u = 0; u < S::loads; ++u) gather_row(batch, u, edges.source(j + u));
  }
  template <class BatchOf>
  __device__ __forceinline__ void weigh(BatchOf&, const EdgeShare&, const Edges&, int, bool) {}
  template <class BatchOf>
  __device__ __forceinline__ void weigh_ends(BatchOf&, const EdgeShare&, const Edges&, int) {}

 protected:
  template <class BatchOf>
  __device__ __forceinline__ void gather_row(BatchOf& batch, int u, std::uint32_t col) const {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) batch.x[u][s] = X::load(row_at(x_lane[s], col, args.x_pitch_bytes));
  }
};

/// Calls take(i, message) for the features of the batch's u-th edge, and for its totals after them.
template <class S, int Totals, class SenderOf, class Batch, class Weight, class Take>
__device__ __forceinline__ void send(const SenderOf& sender, const Batch& batch, int u, const Weight& weight,
                                     const Take& take) {
#pragma unroll
  for (int n = 0; n < S::count; ++n) take(n, sender.message(batch, u, weight, n));
  if constexpr (Totals > 0) {
#pragma unroll
    for (int s = 0; s < Totals; ++s) take(S::count + s, weight.total[s]);
  }
}

/// Adds a batch in which no row ends; weight(u) is that of its u-th edge, `place` the first edge's.
template <class S, int Totals, class SenderOf, class State, class Batch, class WeightOf>
__device__ __forceinline__ void fold_batch(const SenderOf& sender, State& state, const Batch& batch, int place,
                                           const WeightOf& weight) {
  state.template fold_batch<S::loads>(
      place, [&](int u, const auto& take)
                 __attribute__((always_inline)) { send<S, Totals>(sender, batch, u, weight(u), take); });
}

template <class Message, class S, Reduction Kind>
struct Sender;

/// Blocks a multiprocessor: what the registers of a message's lanes allow.
template <class Message, class S>
inline constexpr int blocks_of = bounded_blocks(StorageTraits<typename Message::Storage>::bytes, S::value);

}  // namespace weft::cuda
