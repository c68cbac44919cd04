// What edges weigh in attention whose scores come from vectors: dot products, or GATv2's sums over leaky_relu.
//
// Weights are relative to the score of the row's first edge, which costs nothing where the row begins; a share that
// begins within a row computes it again, in the same way and so to the same bits. Its bias does not count, as that may
// be a mask. Only scores 27 above it are then too large, and only a row of which all are 20 below has a sum that is too
// small (see gat.cuh for what happens then).
#pragma once

#include "kernels/cuda/attention/gat.cuh"
#include "kernels/cuda/attention/head_sums.cuh"

namespace weft::cuda {

template <class Storage>
struct VectorScores {
  using Acc = AccumulatorOf<Storage>;
  const ScoreArgs<Storage>& args;
  const EdgeSplit& split;

  __device__ __forceinline__ bool is_dot() const { return args.score == Score::dot; }
  /// One feature's part of dot's scores, or of gatv2's, added to that of others.
  static __device__ __forceinline__ Acc with_product(Acc sum, Acc src, Acc dst) { return fma(src, dst, sum); }
  __device__ __forceinline__ Acc with_leaky(Acc sum, Acc src, Acc dst, Acc attn) const {
    const Acc z = src + dst;
    return fma(attn, z > 0 ? z : z * args.slope, sum);
  }
  /// An edge's score but for its bias, from the sum over its features.
  __device__ __forceinline__ Acc unbiased(Acc sum) const { return is_dot() ? sum * args.scale : sum; }
  /// The score of the k-th edge in the order of the work.
  __device__ __forceinline__ Acc with_bias(Acc score, EdgeId k, int head) const {
    if (args.bias.data == nullptr) return score;
    return score + args.bias[split.id_of(k) * args.bias_pitch + head * args.bias_head];
  }
  /// The first feature of a head in the vector of the k-th edge.
  __device__ __forceinline__ const Storage* edge_vector(EdgeId k, int head) const {
    return args.edge + split.id_of(k) * args.edge_pitch + head * args.edge_head;
  }
  /// The sum over all features of a head, by one thread.
  template <bool EdgeVectors>
  __device__ __forceinline__ Acc sum_of(std::uint32_t col, std::uint32_t row, EdgeId k, int head) const {
    const Storage* const src = row_at(args.src + head * args.src_head, col, args.src_pitch_bytes);
    const Storage* const dst = row_at(args.dst + head * args.dst_head, row, args.dst_pitch_bytes);
    const Storage* const attn = args.attn + head * args.attn_head;
    const Storage* const edge = EdgeVectors ? edge_vector(k, head) : nullptr;
    Acc sum = 0;
    for (int f = 0; f < args.score_width; ++f) {
      const Acc from = widen(load_element(src + f));
      Acc to = widen(load_element(dst + f));
      if constexpr (EdgeVectors) to += widen(load_element(edge + f));
      sum = is_dot() ? with_product(sum, from, to) : with_leaky(sum, from, to, widen(load_element(attn + f)));
    }
    return sum;
  }
};

/// What an edge without a vector adds: not even a zero, which would make -0 of the two ends +0.
struct NoTerm {
  template <class Acc>
  friend __device__ __forceinline__ Acc operator+(Acc ends, NoTerm) {
    return ends;
  }
};

/// The weights of a batch of edges for the heads of a lane's steps. One head: lanes share the sums of its scores out.
/// Shared heads: the same for each of them. Any heads: each lane computes what it needs, however heads lie and whatever
/// vectors they are compared over.
template <class Message, class S>
struct ScoredWeights : SenderBase<Message, S> {
  using Storage = typename Message::Storage;
  using Base = SenderBase<Message, S>;
  using typename Base::Acc, typename Base::X, typename Base::Edges, typename Base::Batch;
  using Weight = HeadWeight<Acc, S::steps>;
  static constexpr bool shared = S::head_map != HeadMap::any;
  // With one head, each edge of a batch is some lane's.
  static constexpr bool owned = S::head_map == HeadMap::one;
  static constexpr int lanes_an_edge = owned ? S::lanes / S::loads : 1;
  static_assert(!owned || S::lanes >= S::loads, "more edges than lanes");
  VectorScores<Storage> scores;
  int lane;  // of the group
  int heads[S::steps];
  bool leads[S::steps];   // this lane writes the statistics of the step's head
  unsigned has_features;  // bit s: this lane has some in step s
  const Storage* src_lane[S::steps];
  const Storage* dst_lane[S::steps];
  X attn[S::steps];
  Acc reference[S::steps];  // of the row of the last edge
  std::uint32_t last_row;
  Acc weights[owned ? 1 : S::loads][owned ? 1 : S::steps];  // of the batch; owned: of the edge that is this lane's

  template <class Lane>
  __device__ __forceinline__ ScoredWeights(const GatherArgs<Message>& all, const Lane& here, int of_group)
      : Base(all, here, of_group), scores{all.message, all.split}, lane(of_group), has_features(0) {
    const ScoreArgs<Storage>& args = all.message;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const int f = here.has(s) ? here.at(s) : 0, head = f / args.width, within = f - head * args.width;
      heads[s] = head;
      leads[s] = here.has(s) && within == 0;
      has_features |= static_cast<unsigned>(here.has(s)) << s;
      src_lane[s] = args.src + head * args.src_head + within;
      dst_lane[s] = args.dst + head * args.dst_head + within;
      attn[s] = X::all(Storage{});
      if (shared && !scores.is_dot()) attn[s] = X::load(args.attn + head * args.attn_head + within);
    }
  }

  /// Before the share's first edge, by the whole warp.
  __device__ __forceinline__ void begin_share(const EdgeShare& share) {
    last_row = static_cast<std::uint32_t>(share.carried);
    const auto row = static_cast<std::uint32_t>(max(share.carried, 0));
    const EdgeId first = share.carried >= 0 ? __ldg(scores.split.starts + row) : 0;
    const auto col = static_cast<std::uint32_t>(__ldg(scores.split.graph.cols + first));
    X key[1][S::steps], query[S::steps];
    load(src_lane, col, scores.args.src_pitch_bytes, key[0]);
    load(dst_lane, row, scores.args.dst_pitch_bytes, query);
    Acc sum[S::steps][1];
    add_up<1>(
        sum, [&](int) { return col; }, [&](int) { return row; }, [&](int) { return first; },
        key, [&](int) -> const auto& { return query; });
#pragma unroll
    for (int s = 0; s < S::steps; ++s) reference[s] = reference_of(scores.unbiased(sum[owned ? 0 : s][0]));
  }
  template <class BatchOf>
  __device__ __forceinline__ void weigh(BatchOf&, const EdgeShare& share, const Edges& edges, int j, bool usual) {
    const int at = edges.first;
    X key[shared ? S::loads : 1][S::steps];
    std::uint32_t cols[S::loads], rows[S::loads];
#pragma unroll
    for (int u = 0; u < S::loads; ++u) {
      cols[u] = edges.source(j + u);
      rows[u] = edges.destination(j + u);
      if constexpr (shared) load(src_lane, cols[u], scores.args.src_pitch_bytes, key[u]);
    }
    Acc sum[S::steps][S::loads];
    const auto by_rows = [&](const auto& query) __attribute__((always_inline)) {
      add_up<S::loads>(
          sum, [&](int u) { return cols[u]; }, [&](int u) { return rows[u]; },
          [&](int u) { return at + j + u < share.length ? share.begin + at + j + u : EdgeId{0}; }, key, query);
    };
    if (usual || !shared) {
      X query[S::steps];
      if constexpr (shared) load(dst_lane, rows[0], scores.args.dst_pitch_bytes, query);
      by_rows([&](int) -> const auto& { return query; });
    } else {
      X query[S::loads][S::steps];
#pragma unroll
      for (int u = 0; u < S::loads; ++u) load(dst_lane, rows[u], scores.args.dst_pitch_bytes, query[u]);
      by_rows([&](int u) -> const auto& { return query[u]; });
    }
    const auto there = [&](int u) { return at + j + u < share.length; };
    unsigned begins = 0;  // bit u: a row begins with edge u
#pragma unroll
    for (int u = 0; u < S::loads; ++u) {
      begins |= static_cast<unsigned>(there(u) && rows[u] != last_row) << u;
      last_row = there(u) ? rows[u] : last_row;
    }
    if constexpr (owned) {
      const int u = owned_sum<S::lanes, S::loads>(lane);
      const EdgeId k = share.begin + at + j + u;
      const Acc unbiased = scores.unbiased(sum[0][0]), score = there(u) ? scores.with_bias(unbiased, k, 0) : Acc(0);
      const unsigned up_to = begins & ((2u << u) - 1);
      const int first = up_to != 0 ? 31 - __clz(up_to) : u;  // of its row's edges in the batch
      const Acc of_first = __shfl_sync(~0u, unbiased, first * lanes_an_edge, S::lanes);
      const Acc own_reference = up_to != 0 ? reference_of(of_first) : reference[0];
      const std::uint32_t own_row = edges.destination(j + u);
      if ((begins >> u & 1u) != 0 && lane % lanes_an_edge == 0)
        scores.args.row_max[own_row * scores.args.max_pitch] = own_reference;
      weights[0][0] = there(u) ? relative(score, own_reference, k, 0) : Acc(0);
      reference[0] = __shfl_sync(~0u, own_reference, (S::loads - 1) * lanes_an_edge, S::lanes);
    } else {
#pragma unroll
      for (int u = 0; u < S::loads; ++u) {
        const EdgeId k = share.begin + at + j + u;
#pragma unroll
        for (int s = 0; s < S::steps; ++s) {
          weights[u][s] = 0;
          if (!there(u)) continue;
          const Acc unbiased = scores.unbiased(sum[s][u]), score = scores.with_bias(unbiased, k, heads[s]);
          if ((begins >> u & 1u) != 0) {
            reference[s] = reference_of(unbiased);
            if (leads[s]) scores.args.row_max[rows[u] * scores.args.max_pitch + heads[s]] = reference[s];
          }
          weights[u][s] = relative(score, reference[s], k, heads[s]);
        }
      }
    }
  }
  template <bool Dropping, class BatchOf>
  __device__ __forceinline__ Weight weight_of(const BatchOf&, int u) const {
    Weight m;
    Acc own = 0;
    if constexpr (owned) own = __shfl_sync(~0u, weights[0][0], u * lanes_an_edge, S::lanes);
#pragma unroll
    for (int s = 0; s < S::steps; ++s) m.template set<Dropping>(s, owned ? own : weights[owned ? 0 : u][owned ? 0 : s]);
    return m;
  }

 private:
  /// Where this lane's features of a step begin in their head. (Not kept: there is no register for it.)
  __device__ __forceinline__ std::int64_t within_head(int s) const {
    return dst_lane[s] - scores.args.dst - heads[s] * scores.args.dst_head;
  }
  /// Any finite score may do.
  static __device__ __forceinline__ Acc reference_of(Acc score) { return fabs(score) < Acc(INFINITY) ? score : Acc(0); }
  /// One that is dropped is negative, and NaN one that is too large for the reference: see HeadWeight.
  __device__ __forceinline__ Acc relative(Acc score, Acc of_row, EdgeId k, int head) const {
    const Acc w = exponential(score - of_row) * scores.args.margin;
    const Dropout& dropout = scores.args.dropout;
    const bool dropped = dropout.given() && is_dropped(dropout, scores.split.id_of(k), head);
    return !(w <= 1) ? Acc(NAN) : dropped ? -w : w;
  }
  static __device__ __forceinline__ void load(const Storage* const (&lanes)[S::steps], std::uint32_t row,
                                              std::uint32_t pitch_bytes, X (&to)[S::steps]) {
#pragma unroll
    for (int s = 0; s < S::steps; ++s)
      if constexpr (shared) to[s] = X::load(row_at(lanes[s], row, pitch_bytes));
  }
  /// The sums over the features of `Count` edges' heads, in all lanes that need them: sum[0][0] of the edge that is
  /// this lane's where they are owned.
  template <int Count, int Keys, class ColOf, class RowOf, class PlaceOf, class QueryOf>
  __device__ __forceinline__ void add_up(Acc (&sum)[S::steps][Count], const ColOf& col, const RowOf& row,
                                         const PlaceOf& place, const X (&key)[Keys][S::steps],
                                         const QueryOf& query) const {
    if constexpr (!shared) {
#pragma unroll
      for (int s = 0; s < S::steps; ++s)
#pragma unroll 1
        for (int u = 0; u < Count; ++u)
          sum[s][u] = scores.template sum_of<Message::reads_edges>(col(u), row(u), place(u), heads[s]);
    } else {
      const auto parts = [&](const auto& edge, const auto& with_term) __attribute__((always_inline)) {
#pragma unroll
        for (int u = 0; u < Count; ++u)
#pragma unroll
          for (int s = 0; s < S::steps; ++s) {
            const auto of_edge = edge(u, s);
            Acc part = 0;
#pragma unroll
            for (int i = 0; i < S::vector; ++i)
              part = with_term(part, widen(key[u][s].values[i]), widen(query(u)[s].values[i]) + of_edge(i),
                               widen(attn[s].values[i]));
            sum[s][u] = has_features >> s & 1u ? part : Acc(0);
          }
      };
      const auto no_edge = [](int, int) { return [](int) { return NoTerm{}; }; };
      const auto with_leaky = [&](Acc sum_so_far, Acc src, Acc dst, Acc a) {
        return scores.with_leaky(sum_so_far, src, dst, a);
      };
      if (scores.is_dot()) {
        parts(no_edge,
              [&](Acc sum_so_far, Acc src, Acc dst, Acc) { return scores.with_product(sum_so_far, src, dst); });
      } else if constexpr (!Message::reads_edges) {
        parts(no_edge, with_leaky);
      } else {
        const auto vector_of = [&](int u, int s) {
          const X own = X::load(scores.edge_vector(place(u), heads[s]) + within_head(s));
          return [own](int i) { return widen(own.values[i]); };
        };
        parts(vector_of, with_leaky);
      }
      if constexpr (owned) {
#pragma unroll
        for (int s = 1; s < S::steps; ++s)
#pragma unroll
          for (int u = 0; u < Count; ++u) sum[0][u] += sum[s][u];
        sum_over_lanes<S::lanes>(sum[0], lane);
      } else {
#pragma unroll
        for (int s = 0; s < S::steps; ++s) sum_over_head_lanes(sum[s], scores.args.head_lanes);
        sum_over_head_steps(sum, heads, has_features);
      }
    }
  }
};

template <class Storage, bool EdgeVectors, class S, Reduction Kind>
struct RowOf<ScoredByVectors<Storage, EdgeVectors>, S, Kind> : AttentionRow<ScoredByVectors<Storage, EdgeVectors>, S> {
};

template <class Storage, bool EdgeVectors, class S, Reduction Kind>
struct Sender<ScoredByVectors<Storage, EdgeVectors>, S, Kind>
    : AttentionSender<ScoredWeights<ScoredByVectors<Storage, EdgeVectors>, S>, S> {
  using AttentionSender<ScoredWeights<ScoredByVectors<Storage, EdgeVectors>, S>, S>::AttentionSender;
};

/// Vector scores need more registers per lane than other messages, except for one head in f16 and bf16.
template <class Storage, bool EdgeVectors, class S>
inline constexpr int blocks_of<ScoredByVectors<Storage, EdgeVectors>, S> =
    !EdgeVectors && StorageTraits<Storage>::is_half && S::head_map == HeadMap::one && S::count <= 4
        ? resident_blocks(StorageTraits<Storage>::bytes, S::value)
        : 2;

}  // namespace weft::cuda
