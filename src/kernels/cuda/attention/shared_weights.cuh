// The weights of attention for several heads, in shared memory: lanes of a head share a chunk of edges out, each stores
// the weights of its own, and all read several at a time.
//
// Shuffles would hand round one value of one edge at a time: for one head they are faster, for four heads of 16
// features they are not (bench/records/h200/attention.json, attention-heads.json).
#pragma once

#include "kernels/cuda/attention/gat.cuh"

namespace weft::cuda {

/// At most shared_weights heads lie in a step, and a lane finds the weights of as many edges of a chunk.
template <class Storage, class S>
struct SharedWeights : SenderBase<Gat<Storage>, S> {
  using Base = SenderBase<Gat<Storage>, S>;
  using typename Base::Acc, typename Base::Edges;
  using Weight = HeadWeight<Acc, S::steps>;
  static_assert(S::head_map == HeadMap::shared && S::each == 1 && S::loads % 4 == 0, "reads are of four weights");
  static constexpr int steps = S::head_steps, chunk = Edges::size;
  struct Box {
    alignas(16) Acc weight[steps * shared_weights][chunk];
    alignas(16) std::uint32_t col[chunk];
    alignas(16) std::uint32_t row[chunk];
  };
  LaneWeights<Storage, S> of;
  Box& box;
  int lane;          // of the group
  int first;         // of the chunk's edges that this lane weighs
  int head_of_step;  // counted from the group's first
  Storage src[steps][shared_weights], dst[steps][shared_weights];

  struct Batch : Base::Batch {
    Acc weight[steps][S::loads];
  };

  template <class Lane>
  __device__ __forceinline__ SharedWeights(const GatherArgs<Gat<Storage>>& all, const Lane& here, int of_group)
      : Base(all, here, of_group),
        of(all, here),
        box(box_of_group()),
        lane(of_group),
        first((lane & (all.message.head_lanes - 1)) * shared_weights),
        head_of_step(lane / all.message.head_lanes) {}

  /// Stores the chunk's edges, one of which this lane holds, and loads what weights are computed from. (To compute them
  /// is to wait, and better done when the first rows of x are on their way, too.)
  template <class Loaded>
  __device__ __forceinline__ void begin_chunk(const Edges& edges, const Loaded (&)[1]) {
    __syncwarp();  // the last chunk is done with
    box.col[lane] = static_cast<std::uint32_t>(edges.col[0]);
    box.row[lane] = static_cast<std::uint32_t>(max(edges.row[0], 0));
    __syncwarp();
#pragma unroll
    for (int i = 0; i < shared_weights; ++i) {
      const bool held = first + i < chunk;
      const std::uint32_t col = held ? box.col[first + i] : 0, row = held ? box.row[first + i] : 0;
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        src[s][i] = of.source(col, s);
        dst[s][i] = of.destination(row, s);
      }
    }
  }
  template <class BatchOf>
  __device__ __forceinline__ void gather(BatchOf& batch, const EdgeShare&, const Edges&, int j) {
    std::uint32_t cols[S::loads];
    read_fours(box.col + j, cols);
#pragma unroll
    for (int u = 0; u < S::loads; ++u) this->gather_row(batch, u, cols[u]);
  }
  template <class BatchOf>
  __device__ __forceinline__ void weigh(BatchOf& batch, const EdgeShare& share, const Edges& edges, int j, bool) {
    const int at = edges.first;
    if (j == 0) {
#pragma unroll
      for (int i = 0; i < shared_weights; ++i) {
        const int q = first + i;
        if (q >= chunk) continue;
#pragma unroll
        for (int s = 0; s < steps; ++s)
          box.weight[s * shared_weights + head_of_step][q] =
              at + q < share.length ? of.weight(src[s][i], dst[s][i], share.begin + at + q, s) : Acc(0);
      }
      __syncwarp();
    }
#pragma unroll
    for (int s = 0; s < steps; ++s) read_fours(box.weight[s * shared_weights + head_of_step] + j, batch.weight[s]);
  }
  template <bool Dropping, class BatchOf>
  __device__ __forceinline__ Weight weight_of(const BatchOf& batch, int u) const {
    Weight m;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) m.template set<Dropping>(s, batch.weight[s < steps ? s : 0][u]);
    return m;
  }

 private:
  static __device__ __forceinline__ Box& box_of_group() {
    __shared__ Box boxes[S::groups];
    return boxes[threadIdx.x / S::lanes];
  }
};

template <class Storage, class S>
using GatWeights =
    std::conditional_t<S::head_map == HeadMap::shared, SharedWeights<Storage, S>, HeldWeights<Storage, S>>;

template <class Storage, class S, Reduction Kind>
struct Sender<Gat<Storage>, S, Kind> : AttentionSender<GatWeights<Storage, S>, S> {
  using AttentionSender<GatWeights<Storage, S>, S>::AttentionSender;
};

template <class Storage, class S>
inline constexpr int blocks_of<Gat<Storage>, S> = resident_blocks_of_attention(false, S::head_map == HeadMap::shared,
                                                                               StorageTraits<Storage>::bytes, S::value);

}  // namespace weft::cuda
