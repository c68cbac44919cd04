// Rows that the borders of shares have cut: within a block they meet in shared memory, between tasks in staging slots.
#pragma once

#include "kernels/cuda/gather/lane.cuh"

namespace weft::cuda {

/// What a share is remembered by while its edges are walked: registers are for what is in flight.
struct ShareEnds {
  std::int64_t task;
  NodeId head, last;
  std::int32_t runs_on;
};

/// What the groups of a block have of the rows that began before their shares.
template <class Acc, int Features, int Groups, Reduction Kind, int Totals = 0>
struct HeadSlots {
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
  using Slots = HeadSlots<Acc, Groups * S::tile, Groups, Kind, Groups * S::lanes * totals>;
  Slots& heads;
  int group;
  int lane;  // of the group

  /// Before the share's first edge.
  __device__ __forceinline__ void begin(const EdgeShare& share) const {
    if (lane == 0) heads.ends[group] = {share.task, share.head, share.last, share.runs_on};
    __syncwarp();
  }

  /// EdgeShare's, once the share has begun.
  __device__ __forceinline__ NodeId row_past_end() const {
    return heads.ends[group].runs_on ? heads.ends[group].last : -1;
  }

  /// Keeps a settled state of the row that began before the share.
  __device__ __forceinline__ void save_head(const State& state) const {
    if (here.args.split.joined) {
      const int slot = slot_of(group);
      here.save(state, heads.values + slot, places(slot));
#pragma unroll
      for (int s = 0; s < totals; ++s) heads.totals[total_of(group, s)] = state.value(S::count + s);
    } else {
      here.stage(state, heads.ends[group].task, 0);
    }
  }

  /// After the share's last edge, by all threads of the block: `state` is what the row that runs on has, settled.
  __device__ __forceinline__ void finish(State& state) const {
    const EdgeSplit& split = here.args.split;
    const ShareEnds share = heads.ends[group];
    const bool through = share.runs_on && share.last == share.head;
    if (through) save_head(state);
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
    if (group == 0 && share.head >= 0) {
      state.clear();
      unite(state, share.head, 0);
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
    return Kind == Reduction::winner ? heads.places + slot : nullptr;
  }
  __device__ __forceinline__ void unite(State& state, NodeId row, int from) const {
    // Eight slots are looked at together: a row through many groups would wait for each of them otherwise.
    constexpr int together = Groups < 8 ? Groups : 8;
    for (int base = from; base < Groups; base += together) {
      NodeId head[together];
#pragma unroll
      for (int i = 0; i < together; ++i) head[i] = base + i < Groups ? heads.ends[base + i].head : -1;
      int mine = 0;  // so many of them, the first ones, are the row's
#pragma unroll
      for (int i = 0; i < together; ++i) mine += mine == i && head[i] == row;
#pragma unroll
      for (int i = 0; i < together; ++i)
        if (i < mine) {
          here.absorb(state, heads.values + slot_of(base + i), places(slot_of(base + i)));
#pragma unroll
          for (int s = 0; s < totals; ++s) state.absorb(S::count + s, heads.totals[total_of(base + i, s)], 0);
        }
      state.settle();
      if (mine < together) break;
    }
    state.settle();
  }
};

}  // namespace weft::cuda
