// A lane's part of a row: its features, and the way from registers to staging slots and the output.
#pragma once

#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/gather/sender.cuh"
#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/schedule/edge_split.cuh"

namespace weft::cuda {

/// Which features of a row are a lane's.
template <class Message, class S>
struct LaneFeatures {
  // A lane's steps lie within one head.
  static constexpr bool folded = S::head_map == HeadMap::shared && S::head_steps < S::steps;
  const GatherArgs<Message>& args;
  int feature;  // the first one; those of the next step stand `stride` further on

  /// From a group's first feature to those of one of its lanes.
  static __device__ __forceinline__ int first_of(const GatherArgs<Message>& args, int lane) {
    if constexpr (!folded) {
      return lane * S::vector;
    } else {
      const int head_lanes = args.message.head_lanes;
      return lane / head_lanes * args.message.width + lane % head_lanes * S::vector;
    }
  }
  __device__ __forceinline__ int stride() const {
    if constexpr (folded) return args.message.head_lanes * S::vector;
    return S::lanes * S::vector;
  }
  __device__ __forceinline__ int at(int step) const { return feature + step * stride(); }
  __device__ __forceinline__ bool has(int step) const { return at(step) < args.features; }
  __device__ __forceinline__ int head(int step) const { return at(step) / args.message.width; }
};

/// How a lane's accumulator moves between registers, staging slots and the output.
template <class Message, class S, Reduction Kind>
struct Lane : LaneFeatures<Message, S> {
  using Storage = typename Message::Storage;
  using Acc = AccumulatorOf<Storage>;
  using Row = RowOf<Message, S, Kind>;
  using Features = LaneFeatures<Message, S>;
  using Features::args, Features::feature, Features::at, Features::has, Features::head, Features::stride;
  // Accumulators after the features': sums of weights, or gradients of the row's part of its edges' scores.
  static constexpr int totals = Row::totals;
  using State = RowAccumulator<Kind, Acc, S::count + totals>;
  EdgeId nominal;  // where the share's task would begin if no border stepped back: places of winners count from there
  int leads[totals > 0 ? totals : 1] = {};  // the head whose first feature is this lane's in a step, or -1

  __device__ __forceinline__ Lane(const GatherArgs<Message>& all, EdgeId begin, int first)
      : Features{all, first}, nominal(begin) {
    // Once, as divisions take some twenty instructions.
    if constexpr (totals > 0) {
#pragma unroll
      for (int s = 0; s < totals; ++s) leads[s] = has(s) && head(s) * args.message.width == at(s) ? head(s) : -1;
    }
  }
  __device__ __forceinline__ int leading(int step) const {
    return S::head_map == HeadMap::one ? (at(step) == 0 ? 0 : -1) : leads[step];
  }

  /// A row's total, where each lane of its head has a part of it, from all of them: by the lanes of `mask`, which are
  /// the group's or more.
  __device__ __forceinline__ Acc whole_total(Acc part, unsigned mask) const {
    if constexpr (Row::total_in_parts)
      for (int step = (S::head_map == HeadMap::one ? S::lanes : args.message.head_lanes) / 2; step > 0; step /= 2)
        part += __shfl_xor_sync(mask, part, step);
    return part;
  }
  static __device__ __forceinline__ unsigned group_mask() {
    if constexpr (S::lanes == 32) return ~0u;
    return ((1u << (S::lanes & 31)) - 1) << (threadIdx.x % 32 / S::lanes * S::lanes);
  }

  /// Into (or out of) slot values `to` and their places, which point at this lane's first feature.
  __device__ __forceinline__ void save(const State& state, Acc* to, std::int32_t* places) const {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      if (!has(s)) continue;
      Pack<Acc, S::vector> pack;
      Pack<std::int32_t, S::vector> place;
#pragma unroll
      for (int i = 0; i < S::vector; ++i) {
        pack.values[i] = state.value(s * S::vector + i);
        place.values[i] = state.place(s * S::vector + i);
      }
      pack.store(to + s * stride());
      if constexpr (Kind == Reduction::winner) place.store(places + s * stride());
    }
  }
  __device__ __forceinline__ void absorb(State& state, const Acc* from, const std::int32_t* places) const {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
#pragma unroll
      for (int i = 0; i < S::vector; ++i) {
        const int f = s * stride() + i;
        state.absorb(s * S::vector + i, from[f], Kind == Reduction::winner ? places[f] : 0);
      }
    }
  }
  /// A task's slot in global memory: 0 for the row that began before it, 1 for the one that runs on.
  __device__ __forceinline__ void stage(const State& state, std::int64_t task, int slot) const {
    const std::int64_t to = (2 * task + slot) * args.staging.pitch;
    save(state, args.staging.values + to + feature, args.staging.places + to + feature);
#pragma unroll
    for (int s = 0; s < totals; ++s) {
      const Acc total = whole_total(state.value(S::count + s), group_mask());
      if (leading(s) >= 0) args.staging.values[to + args.features + leading(s)] = total;
    }
  }
  /// What a row is stored with, loaded ahead of write if it is `stored`.
  __device__ __forceinline__ auto beside(NodeId row, bool stored) const {
    if constexpr (totals > 0) {
      return NothingBeside{};
    } else {
      return Row::beside(args, row, stored);
    }
  }
  /// A row of `degree` edges to the output.
  template <class Beside>
  __device__ __forceinline__ void write(const State& state, NodeId row, EdgeId degree, const Beside& beside) const {
    Acc total = 0;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      if constexpr (totals > 0)
        if (s < totals) total = whole_total(state.value(S::count + s), group_mask());
      if (!has(s)) continue;
      Acc value[S::vector];
#pragma unroll
      for (int i = 0; i < S::vector; ++i) value[i] = state.value(s * S::vector + i);
      if constexpr (Kind != Reduction::sum) {
#pragma unroll
        for (int i = 0; i < S::vector; ++i) value[i] = args.epilogue.negated ? -value[i] : value[i];
      }
      if constexpr (Kind == Reduction::winner) {
        store_winners<S::vector>(args.epilogue, args.split, args.features, row, at(s), [&](int i) -> EdgeId {
          const int place = state.place(s * S::vector + i);
          return place == State::nowhere ? __ldg(args.split.starts + row) : nominal + place;
        });
      }
      if constexpr (totals > 0) {
        Row::write(args, row, at(s), value, total, s < totals ? leading(s) : -1);
      } else {
        Row::write(args, row, degree, at(s), value, beside);
      }
    }
  }
  /// By the whole warp: a row that is `over` and collected, and has so many `edges`.
  __device__ __forceinline__ void write_collected(const State& state, NodeId row, bool over, int edges) const {
    Acc total = 0;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      Acc value[S::vector];
#pragma unroll
      for (int i = 0; i < S::vector; ++i) {
        value[i] = state.collected(s * S::vector + i);
        if constexpr (Kind != Reduction::sum) value[i] = args.epilogue.negated ? -value[i] : value[i];
      }
      if constexpr (totals > 0) {
        if (s < totals) {
          total = state.collected(S::count + s);
          if (Row::total_in_parts && __any_sync(~0u, over)) total = whole_total(total, ~0u);
        }
        if (over && has(s)) Row::write(args, row, at(s), value, total, s < totals ? leading(s) : -1);
        continue;
      }
      if (!over || !has(s)) continue;
      if constexpr (Row::averages) average(value, edges);  // here, as few edges are the last of a row
      store_row<S::vector>(args.epilogue, row, at(s), value);
    }
  }
  /// A row that was cut: only the graph knows its degree.
  __device__ __forceinline__ void write(const State& state, NodeId row) const {
    const EdgeId* offsets = args.split.graph.offsets + row;
    write(state, row, args.epilogue.mean ? __ldg(offsets + 1) - __ldg(offsets) : 1, beside(row, true));
  }
};

}  // namespace weft::cuda
