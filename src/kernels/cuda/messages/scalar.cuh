// Messages that are a source's row, as it is or times one number: an edge's value, the source's scale, or their
// product.
#pragma once

#include "kernels/cuda/gather/half_pairs.cuh"
#include "kernels/cuda/gather/sender.cuh"

namespace weft::cuda {

// In two steps, as whoever computes with what was loaded waits for it: `load` when the edge's chunk is fetched, `value`
// when the chunk is worked on.

template <class Storage>
struct EdgeInput<Weighted<Storage>> {
  using Loaded = typename MaybeWide<Storage>::Loaded;
  const GatherArgs<Weighted<Storage>>& args;

  __device__ __forceinline__ Loaded load(EdgeId k, std::int32_t id, NodeId) const {
    return args.message.edge.load(args.split.ids != nullptr ? id : k);
  }
  __device__ __forceinline__ AccumulatorOf<Storage> value(const Loaded& loaded) const {
    return args.message.edge.value(loaded);
  }
};

template <class Storage>
struct EdgeInput<Scaled<Storage>> {
  using Acc = AccumulatorOf<Storage>;
  struct Loaded {
    typename MaybeWide<Storage>::Loaded value = {};
    Acc scale = {};
  };
  const GatherArgs<Scaled<Storage>>& args;

  __device__ __forceinline__ Loaded load(EdgeId k, std::int32_t, NodeId col) const {
    const auto& message = args.message;
    Loaded loaded;
    loaded.scale = message.col_scale != nullptr ? __ldg(message.col_scale + col) : Acc(1);
    if (message.edge.data != nullptr) loaded.value = message.edge.load(args.split.id_of(k) * message.edge_pitch);
    return loaded;
  }
  __device__ __forceinline__ Acc value(const Loaded& loaded) const {
    Acc value = loaded.scale;
    if (args.message.edge.data != nullptr) value *= args.message.edge.value(loaded.value);
    return value;
  }
};

/// One number per edge, which the lanes that loaded it hand round by shuffles.
template <class Message, class S, Reduction Kind>
struct ScalarWeights : SenderBase<Message, S> {
  using Base = SenderBase<Message, S>;
  using Base::args;
  using typename Base::Acc, typename Base::Edges;
  // Eight edges' values would take eight registers: each is shuffled when it is its turn, unless lanes make several
  // steps, which have fewer edges in flight.
  static constexpr bool ahead = S::steps > 1;
  Acc values[S::each];

  struct Batch : Base::Batch {
    Acc weight[ahead ? S::loads : 1];
    int j;
  };
  using Base::Base;

  template <class Loaded>
  __device__ __forceinline__ void begin_chunk(const Edges&, const Loaded (&loaded)[S::each]) {
    const EdgeInput<Message> input{args};
#pragma unroll
    for (int i = 0; i < S::each; ++i) {
      const Acc value = input.value(loaded[i]);
      values[i] = Kind != Reduction::sum && args.epilogue.negated ? -value : value;
    }
  }
  template <class BatchOf>
  __device__ __forceinline__ void weigh(BatchOf& batch, const EdgeShare&, const Edges&, int j, bool) {
    batch.j = j;
    if constexpr (ahead) {
#pragma unroll
      for (int u = 0; u < S::loads; ++u) batch.weight[u] = Edges::from_lane(values, j + u);
    }
  }
  template <class BatchOf>
  __device__ __forceinline__ Acc weight(const BatchOf& batch, int u) const {
    if constexpr (ahead) return batch.weight[u];
    return Edges::from_lane(values, batch.j + u);
  }
};

/// x[u] alone.
template <class Message, class S>
struct Unweighted : SenderBase<Message, S> {
  using Base = SenderBase<Message, S>;
  using Base::Base;
  template <class BatchOf>
  __device__ __forceinline__ typename Base::Acc weight(const BatchOf&, int) const {
    return 1;
  }
};

/// The senders of all messages here: `Weights` says what a source's row is multiplied by.
template <class Weights, class S, bool Multiplies>
struct ScalarSender : Weights {
  using typename Weights::Acc, typename Weights::Edges;
  using Weights::Weights;

  template <class BatchOf>
  __device__ __forceinline__ Acc message(const BatchOf& batch, int u, Acc weight, int n) const {
    const Acc value = widen(batch.x[u][n / S::vector].values[n % S::vector]);
    return Multiplies ? weight * value : value;
  }
  template <class State, class BatchOf>
  __device__ __forceinline__ void fold(State& state, const BatchOf& batch, int place, const EdgeShare&, const Edges&,
                                       int) const {
    const auto weight = [&](int u) __attribute__((always_inline)) { return this->weight(batch, u); };
    if constexpr (S::in_pairs) {
      fold_pairs(state, batch.x, weight);
    } else {
      fold_batch<S, 0>(*this, state, batch, place, weight);
    }
  }
};

template <class Storage, class S, Reduction Kind>
struct Sender<Source<Storage>, S, Kind> : ScalarSender<Unweighted<Source<Storage>, S>, S, false> {
  using Base = ScalarSender<Unweighted<Source<Storage>, S>, S, false>;
  using Base::Base;
  // Wide groups of eights spill with both ways of collecting (bench/records/h200/half-spmm.json: reddit, 128 features).
  static constexpr bool collects_in_one_way = S::vector >= 8 && S::lanes >= 16;
};

template <class Storage, class S, Reduction Kind>
struct Sender<Averaged<Storage>, S, Kind> : ScalarSender<Unweighted<Averaged<Storage>, S>, S, false> {
  using ScalarSender<Unweighted<Averaged<Storage>, S>, S, false>::ScalarSender;
};

template <class Storage, class S, Reduction Kind>
struct Sender<Weighted<Storage>, S, Kind> : ScalarSender<ScalarWeights<Weighted<Storage>, S, Kind>, S, true> {
  using ScalarSender<ScalarWeights<Weighted<Storage>, S, Kind>, S, true>::ScalarSender;
};

template <class Storage, class S, Reduction Kind>
struct Sender<Scaled<Storage>, S, Kind> : ScalarSender<ScalarWeights<Scaled<Storage>, S, Kind>, S, true> {
  using ScalarSender<ScalarWeights<Scaled<Storage>, S, Kind>, S, true>::ScalarSender;
  static constexpr RowEnds row_ends = Kind == Reduction::sum ? RowEnds::in_rounds
                                      : Kind == Reduction::extremum && !StorageTraits<Storage>::is_double
                                          ? RowEnds::either
                                          : RowEnds::one_by_one;
};

}  // namespace weft::cuda
