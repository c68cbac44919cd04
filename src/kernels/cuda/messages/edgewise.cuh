// Messages of any operator between a source's features and an edge's own.
#pragma once

#include "kernels/cuda/messages/scalar.cuh"
#include "kernels/semantics.hpp"

namespace weft::cuda {

template <class Storage>
struct EdgeInput<Edgewise<Storage>> {
  using Loaded = AccumulatorOf<Storage>;
  const GatherArgs<Edgewise<Storage>>& args;

  __device__ __forceinline__ Loaded load(EdgeId, std::int32_t, NodeId col) const {
    return args.message.col_scale != nullptr ? __ldg(args.message.col_scale + col) : Loaded(1);
  }
  __device__ __forceinline__ Loaded value(const Loaded& loaded) const { return loaded; }
};

template <class Storage, class S, Reduction Kind>
struct Sender<Edgewise<Storage>, S, Kind> : ScalarWeights<Edgewise<Storage>, S, Kind> {
  using Message = Edgewise<Storage>;
  using Base = ScalarWeights<Message, S, Kind>;
  using Base::args, Base::x_lane;
  using typename Base::Acc, typename Base::X, typename Base::Edges;
  static constexpr RowEnds row_ends = RowEnds::one_by_one;
  std::int64_t edge_lane[S::steps];  // where this lane's values stand in an edge's row

  struct Batch : Base::Batch {
    Acc e[S::loads][S::count];
    Acc combined[S::loads][S::count];
  };

  template <class Lane>
  __device__ __forceinline__ Sender(const GatherArgs<Message>& all, const Lane& here, int lane)
      : Base(all, here, lane) {
    const auto& message = args.message;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const int f = here.has(s) ? here.at(s) : 0;
      const int head = f / message.width, within = f - head * message.width;
      x_lane[s] = args.x + head * message.x_head + (message.x_vector ? within : 0);
      edge_lane[s] = head * message.edge_head + (message.edge_vector ? within : 0);
    }
  }

  __device__ __forceinline__ void gather(Batch& batch, const EdgeShare& share, const Edges& edges, int j) {
    std::uint32_t cols[S::loads];
    EdgeId edge_row[S::loads];
#pragma unroll
    for (int u = 0; u < S::loads; ++u) {
      cols[u] = edges.source(j + u);
      const int p = edges.first + j + u;
      const EdgeId id = p < share.length ? args.split.id_of(share.begin + p) : 0;
      edge_row[u] = id * args.message.edge_pitch;
    }
    load_source(batch, cols);
    load_edge(batch, edge_row);
    combine(batch);
  }
  __device__ __forceinline__ Acc message(const Batch& batch, int u, Acc weight, int n) const {
    return weight * batch.combined[u][n];
  }
  template <class State>
  __device__ __forceinline__ void fold(State& state, const Batch& batch, int place, const EdgeShare&, const Edges&,
                                       int) const {
    fold_batch<S, 0>(
        *this, state, batch, place, [&](int u) __attribute__((always_inline)) { return this->weight(batch, u); });
  }

 private:
  /// f(u, s) for every pack of the batch.
  template <class F>
  static __device__ __forceinline__ void each_pack(const F& f) {
#pragma unroll
    for (int u = 0; u < S::loads; ++u)
#pragma unroll
      for (int s = 0; s < S::steps; ++s) f(u, s);
  }
  // One branch for all loads of an operand: where each load had its own they waited for one another.
  __device__ __forceinline__ void load_source(Batch& batch, const std::uint32_t (&cols)[S::loads]) const {
    const auto at = [&](int u, int s) { return row_at(x_lane[s], cols[u], args.x_pitch_bytes); };
    if (args.x == nullptr) {
      each_pack([&](int u, int s) { batch.x[u][s] = X::all(Storage{}); });
    } else if (args.message.x_vector) {
      each_pack([&](int u, int s) { batch.x[u][s] = X::load(at(u, s)); });
    } else {
      each_pack([&](int u, int s) { batch.x[u][s] = X::all(load_element(at(u, s))); });
    }
  }
  __device__ __forceinline__ void load_edge(Batch& batch, const EdgeId (&edge_row)[S::loads]) const {
    const auto& edge = args.message.edge;
    const auto set = [&](int u, int s, const auto& value) {
#pragma unroll
      for (int n = 0; n < S::vector; ++n) batch.e[u][s * S::vector + n] = value(n);
    };
    if (edge.data == nullptr) {
      each_pack([&](int u, int s) { set(u, s, [](int) { return Acc(0); }); });
    } else if (args.message.edge_vector) {
      const auto* const values = static_cast<const Storage*>(edge.data);
      X loaded[S::loads][S::steps];
      each_pack([&](int u, int s) { loaded[u][s] = X::load_once(values + edge_lane[s] + edge_row[u]); });
      each_pack([&](int u, int s) { set(u, s, [&](int n) { return widen(loaded[u][s].values[n]); }); });
    } else {
      each_pack([&](int u, int s) {
        const Acc one = edge[edge_lane[s] + edge_row[u]];  // for the whole head
        set(u, s, [&](int) { return one; });
      });
    }
  }
  /// The operator is the same for all lanes, and so is the path.
  __device__ __forceinline__ void combine(Batch& batch) const {
    const auto each = [&](const auto& f) {
#pragma unroll
      for (int u = 0; u < S::loads; ++u)
#pragma unroll
        for (int n = 0; n < S::count; ++n) {
          const Acc x = widen(batch.x[u][n / S::vector].values[n % S::vector]);
          const Acc e = batch.e[u][n];
          batch.combined[u][n] = f(x, e);
        }
    };
    const SpmmOp op = args.message.op;
    if (semantics::with_meaning(op, [](auto meaning) { return semantics::adds_edge<decltype(meaning)>; })) {
      // Copies, sums and differences are one path: a copy is a sum with 0.
      const Acc sign =
          semantics::with_meaning(op, [](auto meaning) { return decltype(meaning)::by_right.sign < 0; }) ? -1 : 1;
      return each([&](Acc x, Acc e) { return fma(sign, e, x); });
    }
    semantics::with_meaning(op, [&](auto meaning) {
      using Meaning = decltype(meaning);
      if constexpr (!semantics::adds_edge<Meaning>) each([](Acc x, Acc e) { return Meaning::Value::of(x, e); });
    });
  }
};

}  // namespace weft::cuda
