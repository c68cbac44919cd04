// Sums of rows of few features: lanes lie along the edges, so that the index comes in whole lines.
//
// A warp walks its share in slabs of 32 edges, several of them in flight; a lane holds the whole row of X of its edge
// in each. Slabs in which no row ends, the common case of long rows, are added up lane by lane; where rows end, a scan
// along the lanes gives each of them its sum, and the lane of its last edge writes it.
#pragma once

#include "kernels/cuda/gather/cut_rows.cuh"
#include "kernels/cuda/messages/scalar.cuh"
#include "kernels/cuda/primitives/reduce.cuh"

namespace weft::cuda {

/// Of the rows a warp walks through, the one that is not over yet: what slabs without an end brought stays in the
/// lanes, as the sum over them is only needed once the row ends.
template <class Acc, int Count>
struct OpenRow {
  RowAccumulator<Reduction::sum, Acc, Count> lanes;
  bool in_lanes;     // whether anything is there
  Acc carry[Count];  // the rest, the same in every lane

  __device__ __forceinline__ void clear() {
    lanes.clear();
    in_lanes = false;
#pragma unroll
    for (int n = 0; n < Count; ++n) carry[n] = 0;
  }
  /// Afterwards all of it is in `carry`.
  __device__ __forceinline__ void collect(int lane) {
    if (!in_lanes) return;
    lanes.settle();
#pragma unroll
    for (int n = 0; n < Count; ++n) {
      Acc sum[1] = {lanes.value(n)};
      sum_over_lanes<32>(sum, lane);
      carry[n] += sum[0];
    }
    lanes.clear();
    in_lanes = false;
  }
};

/// Blocks a multiprocessor: what registers allow.
template <class Storage, int Count>
inline constexpr int narrow_blocks = StorageTraits<Storage>::is_double ? 2
                                     : Count > 2                       ? 3
                                                                       : 4;

/// S is the shape of one lane: it covers a row alone.
template <class Message, class S>
__global__ void __launch_bounds__(block_threads, narrow_blocks<typename Message::Storage, S::count>)
    gather_narrow(const GatherArgs<Message> args) {
  using Storage = typename Message::Storage;
  using Acc = AccumulatorOf<Storage>;
  using Row = Lane<Message, S, Reduction::sum>;
  using X = Pack<Storage, S::vector>;
  constexpr int warps = block_threads / narrow_lanes, slabs = S::loads;
  using Values = EdgeInput<Message>;
  using Chunk = EdgeChunk<narrow_lanes, slabs, typename Values::Loaded, true>;
  using Cut = CutRows<Message, S, Reduction::sum, warps>;
  constexpr bool multiplies = requires(Values input, typename Values::Loaded loaded) { input.value(loaded); };
  static_assert(S::lanes == 1 && narrow_lanes == 32);
  __shared__ typename Cut::Slots heads;

  const EdgeSplit& split = args.split;
  const int warp = threadIdx.x / narrow_lanes, lane = threadIdx.x % narrow_lanes;
  const EdgeShare share = EdgeShare::of<warps>(split, warp);
  const Row here(args, share.nominal, 0);
  const Cut cut{here, heads, warp, lane};
  const Values edge_values{args};

  OpenRow<Acc, S::count> open;
  open.clear();
  Chunk next;
  next.start(split, share, lane);
  next.load(split, share, 0, lane, edge_values, share.row_past_end());
  cut.begin(share);
  for (int first = 0; first < share.length; first += Chunk::size) {
    X x[slabs][S::steps];
    NodeId rows[slabs];
    Acc values[slabs];
    unsigned ends[slabs], any = 0;
#pragma unroll
    for (int i = 0; i < slabs; ++i) {
      const Storage* const from = row_at(args.x, static_cast<std::uint32_t>(next.col[i]), args.x_pitch_bytes);
      const bool there = first + i * narrow_lanes + lane < share.length;
#pragma unroll
      for (int s = 0; s < S::steps; ++s)
        x[i][s] = there && here.has(s) ? X::load(from + here.at(s)) : X::all(Storage{});
    }
#pragma unroll
    for (int i = 0; i < slabs; ++i) {
      rows[i] = next.row[i];
      if constexpr (multiplies) values[i] = edge_values.value(next.value[i]);
      ends[i] = next.ends_of(i, lane);
      any |= ends[i];
    }
    if (first + Chunk::size < share.length)
      next.load(split, share, first + Chunk::size, lane, edge_values, share.row_past_end());

    // Edges past the share's end send 0.
    const auto message = [&](int i, int n) -> Acc {
      const Acc value = widen(x[i][n / S::vector].values[n % S::vector]);
      if constexpr (multiplies) return values[i] * value;
      return value;
    };
    if (any == 0) {
      open.lanes.template fold_batch<slabs>(0, [&](int i, const auto& take) {
#pragma unroll
        for (int n = 0; n < S::count; ++n) take(n, message(i, n));
      });
      open.in_lanes = true;
    } else {
#pragma unroll
      for (int i = 0; i < slabs; ++i) {
        if (ends[i] == 0) {
#pragma unroll
          for (int n = 0; n < S::count; ++n) open.lanes.fold(n, message(i, n), 0);
          open.in_lanes = true;
          continue;
        }
        open.collect(lane);
        const unsigned before = ends[i] & ((1u << lane) - 1);
        Acc sum[S::count];
#pragma unroll
        for (int n = 0; n < S::count; ++n) sum[n] = message(i, n);
        sum_segments(sum, lane, before == 0 ? 0 : 32 - __clz(before));
        if (ends[i] >> lane & 1u) {
          typename Row::State ended;
          ended.clear();
#pragma unroll
          for (int n = 0; n < S::count; ++n) ended.fold(n, before == 0 ? sum[n] + open.carry[n] : sum[n], 0);
          ended.settle();
          if (rows[i] == share.carried) {
            cut.save_carried(ended);
          } else {
            here.write(ended, rows[i]);
          }
        }
        const bool runs_on = ends[i] >> 31 == 0;
#pragma unroll
        for (int n = 0; n < S::count; ++n) {
          const Acc rest = __shfl_sync(~0u, sum[n], 31);
          open.carry[n] = runs_on ? rest : Acc(0);
        }
      }
    }
    if (first / Chunk::size % 8 == 7) open.lanes.settle();
  }
  open.collect(lane);
  typename Row::State last;
  last.clear();
#pragma unroll
  for (int n = 0; n < S::count; ++n) last.fold(n, open.carry[n], 0);
  last.settle();
  // All lanes know the sum; the first one speaks for them, the others have no features to write.
  const Row speaker(args, here.nominal, lane == 0 ? 0 : args.features);
  Cut{speaker, heads, warp, lane}.finish(last);
}

}  // namespace weft::cuda
