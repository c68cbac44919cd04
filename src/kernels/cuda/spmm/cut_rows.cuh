// Rows that the borders of shares have cut: within a block they meet in shared memory, between tasks in staging slots.
#pragma once

#include "kernels/cuda/spmm/lane.cuh"

namespace weft::cuda {

/// What the groups of a block have of the rows that began before their shares.
template <class Acc, int Features, int Groups, Reduction Kind>
struct HeadSlots {
  alignas(16) Acc values[Features];
  alignas(16) std::int32_t places[Kind == Reduction::winner ? Features : 1];
  NodeId rows[Groups];
};

template <class Storage, class S, Message Sent, Reduction Kind, int Groups>
struct CutRows {
  using Of = Lane<Storage, S, Sent, Kind>;
  using State = typename Of::State;
  const Of& here;
  HeadSlots<AccumulatorOf<Storage>, Groups * S::tile, Groups, Kind>& heads;
  int group;
  int lane;  // of the group

  /// Keeps a settled state of the row that began before the share.
  __device__ __forceinline__ void save_head(const State& state) const {
    if (here.args.split.joined) {
      const int slot = slot_of(group);
      here.save(state, heads.values + slot, places(slot));
    } else {
      here.stage(state, 0);
    }
  }

  /// After the share's last edge, by all threads of the block: `state` is what the row that runs on has, settled.
  __device__ __forceinline__ void finish(State& state) const {
    const EdgeShare& share = here.share;
    const bool through = share.runs_on && share.last == share.head;
    if (through) save_head(state);
    if (!here.args.split.joined) {
      if (share.runs_on && !through) here.stage(state, 1);
      return;
    }
    // The group in which a row begins unites it; the first group, the row that began before the block's task.
    if (lane == 0) heads.rows[group] = share.head;
    __syncthreads();
    if (share.runs_on && !through) {
      unite(state, share.last, group + 1);
      if (share.passes(here.args.split, share.last)) {
        here.stage(state, 1);
      } else {
        here.write(state, share.last);
      }
    }
    if (group == 0 && share.head >= 0) {
      state.clear();
      unite(state, share.head, 0);
      here.stage(state, 0);
    }
  }

 private:
  /// Where this lane's features stand in a group's slot.
  __device__ __forceinline__ int slot_of(int g) const { return g * S::tile + (S::lanes > 1 ? lane * S::vector : 0); }
  __device__ __forceinline__ std::int32_t* places(int slot) const {
    return Kind == Reduction::winner ? heads.places + slot : nullptr;
  }
  __device__ __forceinline__ void unite(State& state, NodeId row, int from) const {
    for (int g = from; g < Groups && heads.rows[g] == row; ++g) {
      here.absorb(state, heads.values + slot_of(g), places(slot_of(g)));
      if ((g - from) % 8 == 7) state.settle();
    }
    state.settle();
  }
};

}  // namespace weft::cuda
