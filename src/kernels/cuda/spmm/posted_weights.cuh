// The weights of attention for several heads, in shared memory: lanes of a head share a chunk of edges out, each posts
// the weights of its own, and all read several at a time.
//
// Shuffles would hand round one value of one edge at a time. For one head they are faster (reddit, 64 features on an
// H200: 3081 us so, 3009 with shuffles; in f16 2556 and 2073), for four heads of 16 features they are not (4034 and
// 4202 us; in f16 3121 and 3752).
#pragma once

#include "kernels/cuda/primitives/pack.cuh"
#include "kernels/cuda/spmm/head_weights.cuh"

namespace weft::cuda {

/// At most S::held heads stand in a step, and a lane finds the weights of as many edges of a chunk.
template <class Storage, class S, class Chunk>
struct PostedWeights {
  static_assert(S::held > 1 && S::each == 1 && S::loads % 4 == 0, "reads are of four weights");
  static constexpr bool posts = true;
  static constexpr int steps = S::head_steps;
  using Acc = AccumulatorOf<Storage>;
  using Message = HeadMessage<Acc, S::steps>;
  struct Box {
    alignas(16) Acc weight[steps * S::held][Chunk::size];
    alignas(16) std::uint32_t col[Chunk::size];
    alignas(16) std::uint32_t row[Chunk::size];
  };
  LaneWeights<Storage, S> of;
  Box& box;
  int lane;          // of the group
  int first;         // of the chunk's edges that this lane weighs
  int head_of_step;  // counted from the group's first
  Storage src[steps][S::held], dst[steps][S::held];
  Acc weight[steps][S::loads];  // of a batch

  template <class Lane>
  __device__ __forceinline__ PostedWeights(const SpmmKernelArgs<Storage>& args, const Lane& here, int of_group)
      : of(args, here),
        box(box_of_group()),
        lane(of_group),
        first((lane & (args.attended.head_lanes - 1)) * S::held),
        head_of_step(lane / args.attended.head_lanes) {}

  /// Posts the chunk's edges, one of which this lane holds, and loads what weights are computed from. (To compute them
  /// is to wait, and better done when the first rows of X are on their way, too.)
  __device__ __forceinline__ void load(const NodeId (&cols)[1], const NodeId (&rows)[1]) {
    __syncwarp();  // the last chunk is done with
    box.col[lane] = static_cast<std::uint32_t>(cols[0]);
    box.row[lane] = static_cast<std::uint32_t>(max(rows[0], 0));
    __syncwarp();
#pragma unroll
    for (int i = 0; i < S::held; ++i) {
      const bool held = first + i < Chunk::size;
      const std::uint32_t col = held ? box.col[first + i] : 0, row = held ? box.row[first + i] : 0;
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        src[s][i] = of.source(col, s);
        dst[s][i] = of.destination(row, s);
      }
    }
  }
  /// The columns of batch j.
  __device__ __forceinline__ void read_cols(int j, std::uint32_t (&to)[S::loads]) const {
    read_posted(box.col + j, to);
  }
  /// See HeadWeights.
  template <class ColOf, class RowOf>
  __device__ __forceinline__ void begin_batch(const EdgeShare& share, int at, int j, bool, const ColOf&, const RowOf&) {
    if (j == 0) {
#pragma unroll
      for (int i = 0; i < S::held; ++i) {
        const int q = first + i;
        if (q >= Chunk::size) continue;
#pragma unroll
        for (int s = 0; s < steps; ++s)
          box.weight[s * S::held + head_of_step][q] =
              at + q < share.length ? of.weight(src[s][i], dst[s][i], share.begin + at + q, s) : Acc(0);
      }
      __syncwarp();
    }
#pragma unroll
    for (int s = 0; s < steps; ++s) read_posted(box.weight[s * S::held + head_of_step] + j, weight[s]);
  }
  template <bool Dropping = true>
  __device__ __forceinline__ Message message(int, int u) const {
    Message m;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) m.template set<Dropping>(s, weight[s < steps ? s : 0][u]);
    return m;
  }

 private:
  static __device__ __forceinline__ Box& box_of_group() {
    __shared__ Box boxes[S::groups];
    return boxes[threadIdx.x / S::lanes];
  }
};

}  // namespace weft::cuda
