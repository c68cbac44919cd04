// GATv2's gradients: what an edge sends is its own gradient times leaky_relu of the sum of its two ends, or times attn
// and leaky_relu's derivative there.
#pragma once

#include "kernels/cuda/primitives/pack.cuh"
#include "kernels/cuda/spmm/head_weights.cuh"

namespace weft::cuda {

template <class Storage, class S, class Chunk>
struct HeadLeans {
  using Acc = AccumulatorOf<Storage>;
  using Message = HeadMessage<Acc, S::steps>;
  using X = Pack<Storage, S::vector>;
  const SpmmKernelArgs<Storage>& all;
  const LeanedArgs<Storage>& args;
  int heads[S::steps];
  const Storage* row_lane[S::steps];
  X attn[S::steps];
  X of_row[S::loads][S::steps];
  Acc gradient[S::loads][S::steps];

  template <class Lane>
  __device__ __forceinline__ HeadLeans(const SpmmKernelArgs<Storage>& given, const Lane& here, int)
      : all(given), args(given.leaned) {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const int f = here.has(s) ? here.at(s) : 0, head = f / all.width, within = f - head * all.width;
      heads[s] = head;
      row_lane[s] = args.row + head * args.row_head + within;
      attn[s] = args.attn != nullptr ? X::load(args.attn + head * args.attn_head + within) : X::all(Storage(0));
    }
  }
  __device__ __forceinline__ void load(const NodeId (&)[S::each], const NodeId (&)[S::each]) {}
  template <class ColOf, class RowOf>
  __device__ __forceinline__ void begin_batch(const EdgeShare& share, int at, int j, bool, const ColOf&,
                                              const RowOf& row) {
#pragma unroll
    for (int u = 0; u < S::loads; ++u) {
      const std::uint32_t r = row(u);  // by the whole warp
      const bool there = at + j + u < share.length;
      const EdgeId id = there ? all.split.id_of(share.begin + at + j + u) : 0;
#pragma unroll
      for (int s = 0; s < S::steps; ++s) {
        of_row[u][s] = X::load(row_at(row_lane[s], r, args.row_pitch_bytes));
        gradient[u][s] = there ? all.edge[id * all.edge_pitch + heads[s] * all.edge_head] : Acc(0);
      }
    }
  }
  __device__ __forceinline__ Message message(int, int u) const {
    Message m;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) m.weight[s] = gradient[u][s];
    return m;
  }
  /// What becomes of the source's n-th feature in the message of edge u.
  __device__ __forceinline__ Acc feature(int u, int n, Acc value) const {
    const Acc z = value + widened(of_row[u][n / S::vector].values[n % S::vector]);
    if (args.attn == nullptr) return z > 0 ? z : z * args.slope;
    return widened(attn[n / S::vector].values[n % S::vector]) * (z > 0 ? Acc(1) : args.slope);
  }
};

}  // namespace weft::cuda
