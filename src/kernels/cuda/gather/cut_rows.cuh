// Rows that the borders of shares have cut: within a block they meet in shared memory, between tasks in staging slots.
#pragma once

#include "kernels/cuda/gather/lane.cuh"

namespace weft::cuda {

/// What a share is remembered by while its edges are walked: registers are for what is in flight.
struct ShareEnds {
  std::int64_t task;
  NodeId carried, last;
  std::int32_t runs_on;
};

/// What the groups of a block have of the rows that began before their shares.
template <class Acc, int Features, int Groups, Reduction Kind, int Totals = 0>
struct CarriedSlots {
  alignas(16) Acc values[Features];
  Acc totals[Totals > 0 ? Totals : 1];  // attention: sums of weights, each lane its own
  alignas(16) std::int32_t places[Kind == Reduction::winner ? Features : 1];
  ShareEnds ends[Groups];
};

template <class Message, class S, Reduction Kind, int Groups>
struct CutRows {
  using Of = Lane<Message, S, Kind>;
  using State = typename Of::State;
  const Of& here;
  using Acc = typename Of::Acc;
  static constexpr int totals = Of::totals;
  using Slots = CarriedSlots<Acc, Groups * S::tile, Groups, Kind, Groups * S::lanes * totals>;
  Slots& carried;
  int group;
  int lane;  // of the group

  /// Before the share's first edge.
  __device__ __forceinline__ void begin(const EdgeShare& share) const {
    if (lane == 0) carried.ends[group] = {share.task, share.carried, share.last, share.runs_on};
    __syncwarp();
  }

  /// EdgeShare's, once the share has begun.
  __device__ __forceinline__ NodeId row_past_end() const {
    return carried.ends[group].runs_on ? carried.ends[group].last : -1;
  }

  /// Keeps a settled state of the row that began before the share.
  __device__ __forceinline__ void save_carried(const State& state) const {
    if (here.args.split.joined) {
      const int slot = slot_of(group);
      here.save(state, carried.values + slot, places(slot));
#pragma unroll
      for (int s = 0; s < totals; ++s) carried.totals[total_of(group, s)] = state.value(S::count + s);
    } else {
      here.stage(state, carried.ends[group].task, 0);
    }
  }

  /// After the share's last edge, by all threads of the block: `state` is what the row that runs on has, settled.
  __device__ __forceinline__ void finish(State& state) const {
    const EdgeSplit& split = here.args.split;
    const ShareEnds share = carried.ends[group];
    const bool through = share.runs_on && share.last == share.carried;
    if (through) save_carried(state);
    if (!split.joined) {
      if (share.runs_on && !through) here.stage(state, share.task, 1);
      return;
    }
    // The group in which a row begins unites it; the first group, the row that began before the block's task.
    __syncthreads();
    if (share.runs_on && !through) {
      unite(state, share.last, group + 1);
      if (EdgeShare::passes(split, share.task, share.last)) {
        here.stage(state, share.task, 1);
      } else {
        here.write(state, share.last);
      }
    }
    if (group == 0 && share.carried >= 0) {
      state.clear();
      unite(state, share.carried, 0);
      here.stage(state, share.task, 0);
    }
  }

 private:
  /// Where this lane's features stand in a group's slot.
  __device__ __forceinline__ int slot_of(int g) const {
    return g * S::tile + (S::lanes > 1 ? Of::first_of(here.args, lane) : 0);
  }
  __device__ __forceinline__ int total_of(int g, int step) const { return (g * S::lanes + lane) * totals + step; }
  __device__ __forceinline__ std::int32_t* places(int slot) const {
    return Kind == Reduction::winner ? carried.places + slot : nullptr;
  }
  __device__ __forceinline__ void unite(State& state, NodeId row, int from) const {
    // Eight slots are looked at together: a row through many groups would wait for each of them otherwise.
    constexpr int together = Groups < 8 ? Groups : 8;
    for (int base = from; base < Groups; base += together) {
      NodeId of[together];
#pragma unroll
      for (int i = 0; i < together; ++i) of[i] = base + i < Groups ? carried.ends[base + i].carried : -1;
      int mine = 0;  // so many of them, the first ones, are the row's
#pragma unroll
      for (int i = 0; i < together; ++i) mine += mine == i && of[i] == row;
#pragma unroll
      for (int i = 0; i < together; ++i)
        if (i < mine) {
          here.absorb(state, carried.values + slot_of(base + i), places(slot_of(base + i)));
#pragma unroll
          for (int s = 0; s < totals; ++s) state.absorb(S::count + s, carried.totals[total_of(base + i, s)], 0);
        }
      state.settle();
      if (mine < together) break;
    }
    state.settle();
  }
};

}  // namespace weft::cuda
