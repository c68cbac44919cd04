// GATv2's backward: what an edge sends is its own gradient times leaky_relu of the sum of its two ends and its own
// vector, or times attn and leaky_relu's derivative there.
#pragma once

#include "kernels/cuda/attention/gat.cuh"

namespace weft::cuda {

template <class Storage, bool EdgeVectors, class S, Reduction Kind>
struct Sender<SumOfLeaky<Storage, EdgeVectors>, S, Kind> : SenderBase<SumOfLeaky<Storage, EdgeVectors>, S> {
  using Message = SumOfLeaky<Storage, EdgeVectors>;
  using Base = SenderBase<Message, S>;
  using Base::args;
  using typename Base::Acc, typename Base::X, typename Base::Edges;
  using Weight = HeadWeight<Acc, S::steps>;
  const typename Message::Args& terms;
  int heads[S::steps];
  const Storage* row_lane[S::steps];
  X attn[S::steps];

  struct Batch : Base::Batch {
    X of_row[S::loads][S::steps];
    X of_edge[EdgeVectors ? S::loads : 1][S::steps];
    Acc gradient[S::loads][S::steps];
  };

  template <class Lane>
  __device__ __forceinline__ Sender(const GatherArgs<Message>& all, const Lane& here, int lane)
      : Base(all, here, lane), terms(all.message) {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const int f = here.has(s) ? here.at(s) : 0, head = f / terms.width, within = f - head * terms.width;
      heads[s] = head;
      row_lane[s] = terms.row + head * terms.row_head + within;
      attn[s] = terms.attn != nullptr ? X::load(terms.attn + head * terms.attn_head + within) : X::all(Storage{});
    }
  }
  __device__ __forceinline__ void weigh(Batch& batch, const EdgeShare& share, const Edges& edges, int j, bool) {
    const int at = edges.first;
#pragma unroll
    for (int u = 0; u < S::loads; ++u) {
      const std::uint32_t r = edges.destination(j + u);
      const bool there = at + j + u < share.length;
      const EdgeId id = there ? args.split.id_of(share.begin + at + j + u) : 0;
#pragma unroll
      for (int s = 0; s < S::steps; ++s) {
        batch.of_row[u][s] = X::load(row_at(row_lane[s], r, terms.row_pitch_bytes));
        if constexpr (EdgeVectors) batch.of_edge[u][s] = edge_vector(id, s);
        batch.gradient[u][s] = there ? terms.factor[id * terms.factor_pitch + heads[s] * terms.factor_head] : Acc(0);
      }
    }
  }
  __device__ __forceinline__ Weight weight(const Batch& batch, int u) const {
    Weight m;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) m.weight[s] = batch.gradient[u][s];
    return m;
  }
  __device__ __forceinline__ Acc message(const Batch& batch, int u, const Weight& weight, int n) const {
    const int s = n / S::vector, i = n % S::vector;
    Acc to = widen(batch.of_row[u][s].values[i]);
    if constexpr (EdgeVectors) to += widen(batch.of_edge[u][s].values[i]);
    const Acc z = widen(batch.x[u][s].values[i]) + to;
    if (terms.attn == nullptr) return weight.weight[s] * (z > 0 ? z : z * terms.slope);
    return weight.weight[s] * (widen(attn[s].values[i]) * (z > 0 ? Acc(1) : terms.slope));
  }
  /// This lane's part of it.
  __device__ __forceinline__ X edge_vector(EdgeId id, int s) const {
    const std::int64_t within = row_lane[s] - terms.row - heads[s] * terms.row_head;
    return X::load(terms.edge + id * terms.edge_pitch + heads[s] * terms.edge_head + within);
  }
  template <class State>
  __device__ __forceinline__ void fold(State& state, const Batch& batch, int place, const EdgeShare&, const Edges&,
                                       int) const {
    fold_batch<S, 0>(
        *this, state, batch, place, [&](int u) __attribute__((always_inline)) { return weight(batch, u); });
  }
};

/// Two rows of features per edge are in flight.
template <class Storage, bool EdgeVectors, class S>
inline constexpr int blocks_of<SumOfLeaky<Storage, EdgeVectors>, S> = 2;

}  // namespace weft::cuda
