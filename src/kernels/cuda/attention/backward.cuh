// GAT's backward, over the transpose: the weights of edges, and the gradients of their terms.
#pragma once

#include "kernels/cuda/attention/gat.cuh"
#include "kernels/cuda/attention/head_sums.cuh"

namespace weft::cuda {

/// With one head, lanes that are at least as many as edges of a batch find a score gradient each. Sums of few features
/// leave the registers to add those up lane by lane, until the row ends.
template <class S>
inline constexpr bool owns_gradients = S::head_map == HeadMap::one&& S::lanes >= S::loads;
template <class S>
inline constexpr bool total_stays_in_lanes = owns_gradients<S>&& S::count <= 4;

/// A source's gradient of its part of the scores is accumulated beside that of its value.
template <class Storage, class S, Reduction Kind>
struct RowOf<GatBackward<Storage>, S, Kind> {
  static constexpr int totals = S::head_steps;
  static constexpr bool total_in_parts = total_stays_in_lanes<S>, averages = false;

  template <int Count, class Acc>
  static __device__ __forceinline__ void write(const GatherArgs<GatBackward<Storage>>& args, NodeId row, int feature,
                                               const Acc (&value)[Count], Acc total, int lead) {
    store_row<Count>(args.epilogue, row, feature, value);
    if (lead >= 0)
      store_once(args.message.src_grad, args.message.src_grad_wide, row * args.message.src_grad_pitch + lead, total);
  }
};

template <class Storage>
struct EdgeInput<GatBackward<Storage>> {
  using Loaded = std::int32_t;  // the place of its gradient, unless that is by id
  const GatherArgs<GatBackward<Storage>>& args;
  __device__ __forceinline__ Loaded load(EdgeId k, std::int32_t, NodeId) const {
    return args.message.places != nullptr ? __ldg(args.message.places + k) : static_cast<std::int32_t>(k);
  }
};

/// For a chunk of edges and the heads of a lane's steps: lanes that cover a head share the chunk out. The gradient of a
/// score is `steep * dot - base`, dot being that of out_grad and value. Lanes that cover a head are a power of two.
///
/// With several heads lanes of a whole warp put what they find in shared memory, before the first batch: registers
/// would hold it for as long as the chunk lasts, and shuffles hand round one value of one edge at a time. Smaller
/// groups share their shuffles with others and are faster with them (bench/records/h200/attention-8x32-backward.json,
/// attention-backward-heads.json).
template <class Storage, class S, Reduction Kind>
struct Sender<GatBackward<Storage>, S, Kind> : SenderBase<GatBackward<Storage>, S> {
  using Message = GatBackward<Storage>;
  using Base = SenderBase<Message, S>;
  using Base::args;
  using typename Base::Acc, typename Base::X, typename Base::Edges;
  using Weight = HeadWeight<Acc, S::steps>;
  static constexpr bool one_head = S::head_map == HeadMap::one, shared = S::head_map == HeadMap::shared,
                        any_heads = S::head_map == HeadMap::any;
  static constexpr bool in_box = shared && S::lanes == 32;  // what edges weigh stands in shared memory
  static constexpr bool owned = owns_gradients<S>, in_parts = total_stays_in_lanes<S>;
  // Where no row ends, a row of x serves for the product and the sum and makes room; but sums of more features take the
  // registers that products would need till then.
  static constexpr bool products_first = S::count > 4;
  static constexpr int steps = S::head_steps, each = shared ? shared_weights : S::each, chunk = Edges::size;
  static_assert(S::loads % (shared ? shared_weights : 1) == 0, "which register holds an edge must be known");
  struct Edge {
    Acc alpha = 0, steep = 0, base = 0;
  };
  struct Box {
    using OfHead = Acc[chunk];
    static constexpr int heads = in_box ? steps * shared_weights : 1;
    alignas(16) OfHead alpha[heads], steep[heads], base[heads];
  };
  const typename Message::Args& terms;
  Box* box = nullptr;  // where several heads of a whole warp have one
  int lane;            // of the group
  int heads[steps];
  const Storage* value_lane[S::steps];
  Storage src[steps][each];
  DestinationTerms<Acc> to[steps][each];
  Edge held[steps][each];                     // unless in_box
  Acc weights[in_box ? steps : 1][S::loads];  // of the batch, if in_box
  Edge by_lane[any_heads ? S::loads : 1][steps];
  std::int32_t places[S::each];           // of this lane's edges in score_grad, unless they are by id
  Acc dot[steps][S::loads];               // out_grad . value of the batch
  Acc grad[owned ? 1 : S::loads][steps];  // of the batch's scores; owned: of the edge that is this lane's, or 0
  unsigned has_features;                  // bit s: this lane has some in step s

  struct Batch : Base::Batch {
    int j;
  };

  template <class Lane>
  __device__ __forceinline__ Sender(const GatherArgs<Message>& all, const Lane& here, int of_group)
      : Base(all, here, of_group), terms(all.message), lane(of_group) {
#pragma unroll
    for (int s = 0; s < steps; ++s) heads[s] = !one_head && here.has(s) ? here.head(s) : 0;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const int f = here.has(s) ? here.at(s) : 0, head = f / terms.width;
      value_lane[s] = terms.value + head * terms.value_head + (f - head * terms.width);
    }
    if constexpr (in_box) box = &box_of_group();
    has_features = 0;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) has_features |= static_cast<unsigned>(here.has(s)) << s;
  }

  /// Loads what the weights of this lane's edges are computed from. Places come with the edges: whoever loaded a place
  /// when its gradient is stored would wait for it.
  __device__ __forceinline__ void begin_chunk(const Edges& edges, const std::int32_t (&loaded)[S::each]) {
    if constexpr (!any_heads) {
#pragma unroll
      for (int i = 0; i < each; ++i) {
        auto col = static_cast<std::uint32_t>(edges.col[one_head ? i : 0]);
        auto row = static_cast<std::uint32_t>(max(edges.row[one_head ? i : 0], 0));
        if constexpr (shared) {
          col = __shfl_sync(~0u, col, edge(i), S::lanes);
          row = __shfl_sync(~0u, row, edge(i), S::lanes);
        }
#pragma unroll
        for (int s = 0; s < steps; ++s) {
          src[s][i] = source(row, s);
          to[s][i] = destination(col, s);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < S::each; ++i) places[i] = loaded[i];
  }
  __device__ __forceinline__ void weigh_chunk(const EdgeShare& share, const Edges& edges) {
    if constexpr (in_box) weigh_own(share, edges.first);
  }
  __device__ __forceinline__ void weigh(Batch& batch, const EdgeShare& share, const Edges& edges, int j, bool usual) {
    batch.j = j;
    if constexpr (products_first) usual ? multiply_row(batch, edges, j) : multiply_each(batch, edges, j);
    weigh_batch(share, edges, j);
    if constexpr (products_first) find_gradients(share, edges.first, j);
  }
  __device__ __forceinline__ void weigh_ends(Batch& batch, const EdgeShare& share, const Edges& edges, int j) {
    if constexpr (!products_first) {
      multiply_each(batch, edges, j);
      find_gradients(share, edges.first, j);
    }
  }
  template <class State>
  __device__ __forceinline__ void fold(State& state, const Batch& batch, int place, const EdgeShare& share,
                                       const Edges& edges, int j) {
    if constexpr (!products_first) multiply_row(batch, edges, j);
    state.template fold_batch<S::loads, S::count>(
        place, [&](int u, const auto& take)
                   __attribute__((always_inline)) { send<S, 0>(*this, batch, u, weight_of<false>(batch, u), take); });
    if constexpr (!products_first) find_gradients(share, edges.first, j);
#pragma unroll
    for (int s = 0; s < steps; ++s) state.fold(S::count + s, total_of_batch(s), place);
  }
  __device__ __forceinline__ Weight weight(const Batch& batch, int u) const { return weight_of<true>(batch, u); }
  __device__ __forceinline__ Acc message(const Batch& batch, int u, const Weight& weight, int n) const {
    return weight.weight[n / S::vector] * widen(batch.x[u][n / S::vector].values[n % S::vector]);
  }

 private:
  /// Where this lane's head of a step stands in the box.
  __device__ __forceinline__ int boxed(int s) const { return s * shared_weights + lane / terms.head_lanes; }
  /// Of the k-th edge in the order of the work.
  __device__ __forceinline__ Edge edge_of(Storage from, const DestinationTerms<Acc>& destination, EdgeId k,
                                          int s) const {
    const Acc z = widen(from) + destination.dst;
    const bool rises = z > 0;
    const Acc alpha = exponential((rises ? z : z * terms.slope) - destination.reference) * destination.share;
    const Acc slope = rises ? Acc(1) : terms.slope;
    const bool dropped = terms.dropout.given() && is_dropped(terms.dropout, args.split.id_of(k), heads[s]);
    const Acc kept = dropped ? Acc(0) : terms.kept;
    return {alpha * kept, alpha * kept * slope, alpha * slope * destination.mean};
  }
  __device__ __forceinline__ Storage source(std::uint32_t row, int s) const {
    return load_element(row_at(terms.src + heads[s] * terms.src_head, row, terms.src_pitch_bytes));
  }
  __device__ __forceinline__ DestinationTerms<Acc> destination(std::uint32_t col, int s) const {
    const auto pack = Pack<Acc, 4>::load(
        reinterpret_cast<const Acc*>(terms.destinations + std::int64_t{col} * terms.heads + heads[s]));
    return {pack.values[0], pack.values[1], pack.values[2], pack.values[3]};
  }
  __device__ __forceinline__ int edge(int i) const {
    if constexpr (!shared) return i * S::lanes + lane;
    // (A mask would stand in a register of its own, for which smaller groups have no room.)
    return in_box ? i * terms.head_lanes + (lane & (terms.head_lanes - 1))
                  : lane % terms.head_lanes * shared_weights + i;
  }
  /// What this lane finds of the chunk at `at` of the share; by the whole warp.
  __device__ __forceinline__ void weigh_own(const EdgeShare& share, int at) {
    if constexpr (in_box) __syncwarp();  // the last chunk is done with
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int q = edge(i);
      const bool there = q < chunk && at + q < share.length;
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        const Edge found = there ? edge_of(src[s][i], to[s][i], share.begin + at + q, s) : Edge{};
        if constexpr (!in_box) {
          held[s][i] = found;
        } else if (q < chunk) {
          box->alpha[boxed(s)][q] = found.alpha;
          box->steep[boxed(s)][q] = found.steep;
          box->base[boxed(s)][q] = found.base;
        }
      }
    }
    if constexpr (in_box) __syncwarp();
  }
  /// Before a batch is added up, while its rows of out_grad are on their way.
  __device__ __forceinline__ void weigh_batch(const EdgeShare& share, const Edges& edges, int j) {
    const int at = edges.first;
    if constexpr (!any_heads) {
      if (!in_box && j == 0) weigh_own(share, at);
      if constexpr (in_box) {
#pragma unroll
        for (int s = 0; s < steps; ++s) read_fours(box->alpha[boxed(s)] + j, weights[s]);
      }
    } else {
#pragma unroll
      for (int u = 0; u < S::loads; ++u) {
        const std::uint32_t c = edges.source(j + u), r = edges.destination(j + u);
        const bool there = at + j + u < share.length;
#pragma unroll
        for (int s = 0; s < steps; ++s)
          by_lane[u][s] = there ? edge_of(source(r, s), destination(c, s), share.begin + at + j + u, s) : Edge{};
      }
    }
  }
  /// This lane's parts of the products of rows of out_grad and rows of values: the same row for the whole batch, or
  /// each edge's own.
  __device__ __forceinline__ void multiply_row(const Batch& batch, const Edges& edges, int j) {
    X value[S::steps];
    load_value(edges.destination(j), value);
#pragma unroll
    for (int u = 0; u < S::loads; ++u) multiply(u, batch.x[u], value);
  }
  __device__ __forceinline__ void multiply_each(const Batch& batch, const Edges& edges, int j) {
    X value[S::loads][S::steps];
#pragma unroll
    for (int u = 0; u < S::loads; ++u) load_value(edges.destination(j + u), value[u]);
#pragma unroll
    for (int u = 0; u < S::loads; ++u) multiply(u, batch.x[u], value[u]);
  }
  /// Adds the products up and keeps the gradients of the batch's scores; by the whole warp.
  __device__ __forceinline__ void find_gradients(const EdgeShare& share, int at, int j) {
    const auto there = [&](int u) { return at + j + u < share.length; };
    if constexpr (owned) {
      sum_over_lanes<S::lanes>(dot[0], lane);
      const int u = owned_sum<S::lanes, S::loads>(lane);
      const Acc steep = __shfl_sync(~0u, held[0][0].steep, j + u, S::lanes),
                base = __shfl_sync(~0u, held[0][0].base, j + u, S::lanes);
      const std::int32_t place = __shfl_sync(~0u, places[0], j + u, S::lanes);
      const bool counts = lane % (S::lanes / S::loads) == 0;  // of the lanes that have this sum
      grad[0][0] = if_counts(counts, steep * dot[0][0] - base);
      if (counts && there(u)) keep(share.begin + at + j + u, place, 0, grad[0][0]);
    } else {
      const int head_lanes = one_head ? S::lanes : terms.head_lanes;
#pragma unroll
      for (int s = 0; s < steps; ++s) sum_over_head_lanes(dot[s], head_lanes);
      if constexpr (steps > 1) sum_over_head_steps(dot, heads, has_features);
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        if constexpr (in_box) {
          Acc steep[S::loads], base[S::loads];
          read_fours(box->steep[boxed(s)] + j, steep);
          read_fours(box->base[boxed(s)] + j, base);
#pragma unroll
          for (int u = 0; u < S::loads; ++u) grad[u][s] = steep[u] * dot[s][u] - base[u];
        } else {
#pragma unroll
          for (int u = 0; u < S::loads; ++u)
            grad[u][s] = of(&Edge::steep, j, u, s) * dot[s][u] - of(&Edge::base, j, u, s);
        }
      }
      // Every lane of a head knows all of them, and keeps its part. With one head lanes past the last feature do, too.
      const auto keep_one = [&](int u, std::int32_t place, int s, Acc gradient) __attribute__((always_inline)) {
        const bool first_step = s == 0 || heads[s] != heads[s - 1];
        const bool writes = one_head || (has_features >> s & 1u) != 0;
        if (u < S::loads && there(u) && first_step && writes) keep(share.begin + at + j + u, place, s, gradient);
      };
      if constexpr (S::each == 1) {
        for (int first = 0; first < S::loads; first += head_lanes) {
          const int u = first + (lane & (head_lanes - 1));
          const std::int32_t place = __shfl_sync(~0u, places[0], j + u, S::lanes);
#pragma unroll
          for (int s = 0; s < steps; ++s) {
            Acc own = grad[0][s];
#pragma unroll
            for (int v = 1; v < S::loads; ++v) own = v == u ? grad[v][s] : own;
            keep_one(u, place, s, own);
          }
        }
      } else {  // which register holds a place must be known when this is compiled
#pragma unroll
        for (int u = 0; u < S::loads; ++u) {
          const std::int32_t place = __shfl_sync(~0u, places[Edges::place_of(j + u)], Edges::lane_of(j + u), S::lanes);
#pragma unroll
          for (int s = 0; s < steps; ++s)
            if (lane % head_lanes == u % head_lanes) keep_one(u, place, s, grad[u][s]);
        }
      }
    }
  }
  /// The sum of a batch's gradients, or this lane's part of it; by the whole warp.
  __device__ __forceinline__ Acc total_of_batch(int s) const {
    if constexpr (owned) {
      Acc sum[1] = {grad[0][s]};
      if constexpr (!in_parts) sum_over_lanes<S::lanes>(sum, lane);
      return sum[0];
    } else {
      Acc sum = grad[0][s];
#pragma unroll
      for (int u = 1; u < S::loads; ++u) sum += grad[u][s];
      return sum;
    }
  }
  /// Without Total, of the weight alone: nobody else would take the total's shuffles away.
  template <bool Total>
  __device__ __forceinline__ Weight weight_of(const Batch& batch, int u) const {
    Weight m;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const bool again = s >= steps;
      m.weight[s] = again ? m.weight[0] : alpha(batch.j, u, again ? 0 : s);
      if constexpr (!Total) {
        m.total[s] = 0;
      } else if constexpr (in_parts) {
        m.total[s] = again ? Acc(0) : if_counts(owned_sum<S::lanes, S::loads>(lane) == u, grad[0][0]);
      } else if constexpr (owned) {
        m.total[s] = again ? m.total[0] : __shfl_sync(~0u, grad[0][0], u * (S::lanes / S::loads), S::lanes);
      } else {
        m.total[s] = again ? m.total[0] : grad[u][again ? 0 : s];
      }
    }
    return m;
  }

  static __device__ __forceinline__ Box& box_of_group() {
    __shared__ Box boxes[S::groups];
    return boxes[threadIdx.x / S::lanes];
  }
  __device__ __forceinline__ void load_value(std::uint32_t row, X (&value)[S::steps]) const {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) value[s] = X::load(row_at(value_lane[s], row, terms.value_pitch_bytes));
  }
  /// For each step or, where they are of one head, for all of them.
  __device__ __forceinline__ void multiply(int u, const X (&x)[S::steps], const X (&value)[S::steps]) {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      Acc sum = 0;
#pragma unroll
      for (int i = 0; i < S::vector; ++i) sum += widen(x[s].values[i]) * widen(value[s].values[i]);
      sum = has_features >> s & 1u ? sum : Acc(0);
      Acc& product = dot[s < steps ? s : 0][u];
      product = s < steps ? sum : product + sum;
    }
  }
  /// Where nothing is in_box, a member of edge j + u of the chunk, u being known when this is compiled; by the whole
  /// warp.
  __device__ __forceinline__ Acc of(Acc Edge::*member, int j, int u, int s) const {
    static_assert(!in_box, "a member that is in shared memory");
    if constexpr (any_heads) {
      return by_lane[u][s].*member;
    } else if constexpr (one_head) {
      return __shfl_sync(~0u, held[0][Edges::place_of(j + u)].*member, Edges::lane_of(j + u), S::lanes);
    } else {
      return __shfl_sync(~0u, held[s][u % each].*member, (j + u) / each, terms.head_lanes);
    }
  }
  __device__ __forceinline__ Acc alpha(int j, int u, int s) const {
    if constexpr (in_box) {
      return weights[s][u];
    } else {
      return of(&Edge::alpha, j, u, s);
    }
  }
  __device__ __forceinline__ void keep(EdgeId k, std::int32_t place, int s, Acc gradient) const {
    const EdgeId to = terms.by_id ? args.split.id_of(k) : EdgeId{place};
    terms.score_grad[to * terms.heads + heads[s]] = gradient;
  }
};

template <class Storage, class S>
inline constexpr int blocks_of<GatBackward<Storage>, S> =
    resident_blocks_of_attention(true, S::head_map == HeadMap::shared, StorageTraits<Storage>::bytes, S::value);

}  // namespace weft::cuda
