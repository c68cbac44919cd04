// A lane's part of a row: its place, and the way from registers to staging slots and the output.
#pragma once

#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/schedule/edge_split.cuh"
#include "kernels/cuda/spmm/head_weights.cuh"
#include "kernels/cuda/spmm/row_finish.cuh"

namespace weft::cuda {

/// Where a lane's features stand, and how its state moves between registers, staging slots and the output.
template <class Storage, class S, Message Sent, Reduction Kind>
struct Lane {
  using Acc = AccumulatorOf<Storage>;
  static constexpr bool attended = attends<Sent>, returned = Sent == Message::returned;
  // After the features': sums of weights, or gradients of the row's part of its edges' scores.
  static constexpr int totals = attended || returned ? S::head_steps : 0;
  static constexpr bool folded = S::held > 1 && S::head_steps < S::steps;  // a lane's steps stand in one of the heads
  using State = RowState<Kind, Acc, S::count + totals>;
  const SpmmKernelArgs<Storage>& args;
  EdgeId nominal;  // where the share's task would begin if no border stepped back: places of winners count from there
  int feature;     // the first one; those of the next step stand `stride` further on
  int leads[totals > 0 ? totals : 1] = {};  // attention: the head whose first feature is this lane's in a step, or -1

  /// From a group's first feature to those of one of its lanes.
  static __device__ __forceinline__ int first_of(const SpmmKernelArgs<Storage>& args, int lane) {
    if constexpr (!folded) return lane * S::vector;
    const int head_lanes = args.attended.head_lanes;
    return lane / head_lanes * args.width + lane % head_lanes * S::vector;
  }
  __device__ __forceinline__ int stride() const { return (folded ? args.attended.head_lanes : S::lanes) * S::vector; }
  __device__ __forceinline__ int at(int step) const { return feature + step * stride(); }
  __device__ __forceinline__ bool has(int step) const { return at(step) < args.features; }

  __device__ __forceinline__ int head(int step) const { return at(step) / args.width; }
  /// Once, as divisions take some twenty instructions.
  __device__ __forceinline__ void find_heads() {
#pragma unroll
    for (int s = 0; s < totals; ++s) leads[s] = has(s) && head(s) * args.width == at(s) ? head(s) : -1;
  }
  __device__ __forceinline__ int leading(int step) const {
    return S::held == 1 ? (at(step) == 0 ? 0 : -1) : leads[step];
  }

  /// Whether a row's total is the sum of what the lanes of its head have, instead of each having all of it.
  static constexpr bool in_parts = returned && shares_totals<S>;
  /// Then all of it, by the lanes of `mask`: the group's, or more.
  __device__ __forceinline__ Acc whole_total(Acc part, unsigned mask) const {
    if constexpr (in_parts)
      for (int step = (S::held == 1 ? S::lanes : args.attended.head_lanes) / 2; step > 0; step /= 2)
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
  /// A row of `degree` edges.
  __device__ __forceinline__ void write(const State& state, NodeId row, EdgeId degree) const {
    const RowFinish<Storage>& finish = args.finish;
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
        for (int i = 0; i < S::vector; ++i) value[i] = finish.negated ? -value[i] : value[i];
      }
      if constexpr (Kind == Reduction::winner) {
        write_winners<S::vector>(finish, args.split, args.features, row, at(s), [&](int i) -> EdgeId {
          const int place = state.place(s * S::vector + i);
          return place == State::nowhere ? __ldg(args.split.starts + row) : nominal + place;
        });
      }
      if constexpr (totals > 0) {
        write_with_total(s, row, value, total);
      } else if constexpr (Sent == Message::averaged) {
        const Acc share = reciprocal(static_cast<Acc>(degree));
#pragma unroll
        for (int i = 0; i < S::vector; ++i) value[i] *= share;
        write_plain<S::vector>(finish, row, at(s), value);
      } else if constexpr (Sent == Message::source || Sent == Message::weighted) {
        write_plain<S::vector>(finish, row, at(s), value);
      } else {
        write_finished<S::vector>(finish, row, degree, at(s), value);
      }
    }
  }
  /// By the whole warp: a row that is `over` and gathered, and has so many `edges`.
  __device__ __forceinline__ void write_gathered(const State& state, NodeId row, bool over, int edges) const {
    Acc total = 0;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      Acc value[S::vector];
#pragma unroll
      for (int i = 0; i < S::vector; ++i) {
        value[i] = state.gathered(s * S::vector + i);
        if constexpr (Kind != Reduction::sum) value[i] = args.finish.negated ? -value[i] : value[i];
      }
      if constexpr (totals > 0) {
        if (s < totals) {
          total = state.gathered(S::count + s);
          if (in_parts && __any_sync(~0u, over)) total = whole_total(total, ~0u);
        }
        if (over && has(s)) write_with_total(s, row, value, total);
        continue;
      }
      if (!over || !has(s)) continue;
      if constexpr (Sent == Message::averaged) {  // here, as few edges are the last of a row
        const Acc share = reciprocal(static_cast<Acc>(edges));
#pragma unroll
        for (int i = 0; i < S::vector; ++i) value[i] *= share;
      }
      write_plain<S::vector>(args.finish, row, at(s), value);
    }
  }
  /// A step's features of a row, and attention's sum of weights, which they are divided by, or gradient.
  __device__ __forceinline__ void write_with_total(int s, NodeId row, Acc (&value)[S::vector], Acc total) const {
    if constexpr (attended) {
      const Acc share = reciprocal(total) * args.attended.kept;
#pragma unroll
      for (int i = 0; i < S::vector; ++i) value[i] *= share;
    }
    write_plain<S::vector>(args.finish, row, at(s), value);
    if (s >= totals || leading(s) < 0) return;
    if constexpr (attended) {
      args.attended.row_sum[row * args.attended.sum_pitch + leading(s)] = total * args.attended.per_margin;
    } else {
      args.returned.src_grad[row * args.returned.src_grad_pitch + leading(s)] = static_cast<Storage>(total);
    }
  }
  /// A row that was cut: only the graph knows its degree.
  __device__ __forceinline__ void write(const State& state, NodeId row) const {
    const EdgeId* offsets = args.split.graph.offsets + row;
    write(state, row, args.finish.mean ? __ldg(offsets + 1) - __ldg(offsets) : 1);
  }
};

}  // namespace weft::cuda
