// What edges bring to the gradients of attention: their weights, and the gradients of their scores.
#pragma once

#include "kernels/cuda/primitives/pack.cuh"
#include "kernels/cuda/primitives/reduce.cuh"
#include "kernels/cuda/spmm/head_sums.cuh"
#include "kernels/cuda/spmm/head_weights.cuh"

namespace weft::cuda {

/// For a chunk of edges and the heads of a lane's steps: lanes that cover a head share the chunk out. The gradient of a
/// score is `steep * dot - base`, dot being that of out_grad and value. Lanes that cover a head are a power of two.
///
/// With several heads lanes of a whole warp post what they find in shared memory, before the first batch: registers
/// would hold it for as long as the chunk lasts, and shuffles hand round one value of one edge at a time (on arxiv 8
/// heads of 32 in f16 took 1170 us so and 1003 posted, and take 879 today). Smaller groups share their shuffles with
/// others (4 heads of 16 in f32 take 8451 us on reddit, and took 8727 through shared memory).
template <class Storage, class S, class Chunk>
struct HeadReturns {
  using Acc = AccumulatorOf<Storage>;
  using Message = HeadMessage<Acc, S::steps>;
  using X = Pack<Storage, S::vector>;
  static constexpr bool posted = S::held > 1 && S::lanes == 32, weighs_ahead = posted;
  static constexpr bool owned = owns_gradients<S>, in_parts = shares_totals<S>;
  static constexpr int steps = S::head_steps, each = S::held > 1 ? S::held : S::each;
  static_assert(S::loads % (S::held > 1 ? S::held : 1) == 0, "which register holds an edge must be known");
  struct Edge {
    Acc alpha = 0, steep = 0, base = 0;
  };
  struct Box {
    using OfHead = Acc[Chunk::size];
    static constexpr int heads = posted ? steps * S::held : 1;
    alignas(16) OfHead alpha[heads], steep[heads], base[heads];
  };
  const AttendedArgs<Storage>& scores;
  const ReturnedArgs<Storage>& args;
  const EdgeSplit& split;
  Box* box = nullptr;  // where several heads of a whole warp have one
  int lane;            // of the group
  int heads[steps];
  const Storage* value_lane[S::steps];
  Storage src[steps][each];
  Returning<Acc> to[steps][each];
  Edge held[steps][each];                     // unless posted
  Acc weights[posted ? steps : 1][S::loads];  // of the batch, if posted
  Edge by_lane[S::held == 0 ? S::loads : 1][steps];
  std::int32_t places[S::each];           // of this lane's edges in score_grad, unless they are by id
  Acc dot[steps][S::loads];               // out_grad . value of the batch
  Acc grad[owned ? 1 : S::loads][steps];  // of the batch's scores; owned: of the edge that is this lane's, or 0

  template <class Lane>
  __device__ __forceinline__ HeadReturns(const SpmmKernelArgs<Storage>& all, const Lane& here, int of_group)
      : scores(all.attended), args(all.returned), split(all.split), lane(of_group) {
#pragma unroll
    for (int s = 0; s < steps; ++s) heads[s] = S::held != 1 && here.has(s) ? here.head(s) : 0;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const int f = here.has(s) ? here.at(s) : 0, head = f / all.width;
      value_lane[s] = args.value + head * args.value_head + (f - head * all.width);
    }
    if constexpr (posted) box = &box_of_group();
    has_features = 0;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) has_features |= static_cast<unsigned>(here.has(s)) << s;
  }
  unsigned has_features;  // bit s: this lane has some in step s

  /// Where this lane's head of a step stands in the box.
  __device__ __forceinline__ int boxed(int s) const { return s * S::held + lane / scores.head_lanes; }

  /// Of the k-th edge in the order of the work.
  __device__ __forceinline__ Edge edge_of(Storage from, const Returning<Acc>& destination, EdgeId k, int s) const {
    const Acc z = widened(from) + destination.dst;
    const bool rises = z > 0;
    const Acc alpha = exponential((rises ? z : z * scores.slope) - destination.reference) * destination.share;
    const Acc slope = rises ? Acc(1) : scores.slope;
    const bool dropped = scores.dropout.given() && is_dropped(scores.dropout, split.id_of(k), heads[s]);
    const Acc kept = dropped ? Acc(0) : scores.kept;
    return {alpha * kept, alpha * kept * slope, alpha * slope * destination.mean};
  }
  __device__ __forceinline__ Storage source(std::uint32_t row, int s) const {
    return __ldg(row_at(scores.src + heads[s] * scores.src_head, row, scores.src_pitch_bytes));
  }
  __device__ __forceinline__ Returning<Acc> destination(std::uint32_t col, int s) const {
    const auto pack = Pack<Acc, 4>::load(
        reinterpret_cast<const Acc*>(args.destinations + std::int64_t{col} * scores.heads + heads[s]));
    return {pack.values[0], pack.values[1], pack.values[2], pack.values[3]};
  }
  __device__ __forceinline__ int edge(int i) const {
    if constexpr (S::held <= 1) return i * S::lanes + lane;
    // (A mask would stand in a register of its own, for which smaller groups have no room.)
    return posted ? i * scores.head_lanes + (lane & (scores.head_lanes - 1)) : lane % scores.head_lanes * S::held + i;
  }
  __device__ __forceinline__ void load(const NodeId (&cols)[S::each], const NodeId (&rows)[S::each]) {
    if constexpr (S::held > 0) {
#pragma unroll
      for (int i = 0; i < each; ++i) {
        auto col = static_cast<std::uint32_t>(cols[S::held == 1 ? i : 0]);
        auto row = static_cast<std::uint32_t>(max(rows[S::held == 1 ? i : 0], 0));
        if constexpr (S::held > 1) {
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
  }
  /// Loaded with the edges: whoever loaded a place when its gradient is stored would wait for it.
  template <class Loaded>
  __device__ __forceinline__ void take_places(const Loaded (&loaded)[S::each]) {
#pragma unroll
    for (int i = 0; i < S::each; ++i) places[i] = loaded[i].place;
  }
  /// What this lane finds of the chunk at `at` of the share; by the whole warp.
  __device__ __forceinline__ void weigh(const EdgeShare& share, int at) {
    if constexpr (posted) __syncwarp();  // the last chunk is done with
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int q = edge(i);
      const bool there = q < Chunk::size && at + q < share.length;
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        const Edge found = there ? edge_of(src[s][i], to[s][i], share.begin + at + q, s) : Edge{};
        if constexpr (!posted) {
          held[s][i] = found;
        } else if (q < Chunk::size) {
          box->alpha[boxed(s)][q] = found.alpha;
          box->steep[boxed(s)][q] = found.steep;
          box->base[boxed(s)][q] = found.base;
        }
      }
    }
    if constexpr (posted) __syncwarp();
  }
  /// Before batch j of the chunk at `at` of the share is added up, while its rows of out_grad are on their way.
  template <class ColOf, class RowOf>
  __device__ __forceinline__ void begin_batch(const EdgeShare& share, int at, int j, bool, const ColOf& col,
                                              const RowOf& row) {
    if constexpr (S::held > 0) {
      if (!weighs_ahead && j == 0) weigh(share, at);
      if constexpr (posted) {
#pragma unroll
        for (int s = 0; s < steps; ++s) read_posted(box->alpha[boxed(s)] + j, weights[s]);
      }
    } else {
#pragma unroll
      for (int u = 0; u < S::loads; ++u) {
        const std::uint32_t c = col(u), r = row(u);  // by the whole warp
        const bool there = at + j + u < share.length;
#pragma unroll
        for (int s = 0; s < steps; ++s)
          by_lane[u][s] = there ? edge_of(source(r, s), destination(c, s), share.begin + at + j + u, s) : Edge{};
      }
    }
  }
  /// This lane's parts of the products of x, rows of out_grad, and rows of values: the same one, or row(u) for each.
  template <class Rows, class RowOf>
  __device__ __forceinline__ void multiply_row(const Rows& x, const RowOf& row) {
    X value[S::steps];
    load_value(row(0), value);
#pragma unroll
    for (int u = 0; u < S::loads; ++u) multiply(u, x[u], value);
  }
  template <class Rows, class RowOf>
  __device__ __forceinline__ void multiply_each(const Rows& x, const RowOf& row) {
    X value[S::loads][S::steps];
#pragma unroll
    for (int u = 0; u < S::loads; ++u) load_value(row(u), value[u]);
#pragma unroll
    for (int u = 0; u < S::loads; ++u) multiply(u, x[u], value[u]);
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
      const int head_lanes = S::held == 1 ? S::lanes : scores.head_lanes;
#pragma unroll
      for (int s = 0; s < steps; ++s) sum_over_head_lanes(dot[s], head_lanes);
      if constexpr (steps > 1) sum_over_head_steps(dot, heads, has_features);
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        if constexpr (posted) {
          Acc steep[S::loads], base[S::loads];
          read_posted(box->steep[boxed(s)] + j, steep);
          read_posted(box->base[boxed(s)] + j, base);
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
        const bool writes = S::held == 1 || (has_features >> s & 1u) != 0;
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
          const std::int32_t place = __shfl_sync(~0u, places[Chunk::place_of(j + u)], Chunk::lane_of(j + u), S::lanes);
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
  template <bool Total = true>
  __device__ __forceinline__ Message message(int j, int u) const {
    Message m;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      const bool again = s >= steps;
      m.weight[s] = again ? m.weight[0] : weight(j, u, again ? 0 : s);
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

 private:
  static __device__ __forceinline__ Box& box_of_group() {
    __shared__ Box boxes[S::groups];
    return boxes[threadIdx.x / S::lanes];
  }
  __device__ __forceinline__ void load_value(std::uint32_t row, X (&value)[S::steps]) const {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) value[s] = X::load(row_at(value_lane[s], row, args.value_pitch_bytes));
  }
  /// For each step or, where they are of one head, for all of them.
  __device__ __forceinline__ void multiply(int u, const X (&x)[S::steps], const X (&value)[S::steps]) {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      Acc sum = 0;
#pragma unroll
      for (int i = 0; i < S::vector; ++i) sum += widened(x[s].values[i]) * widened(value[s].values[i]);
      sum = has_features >> s & 1u ? sum : Acc(0);
      Acc& product = dot[s < steps ? s : 0][u];
      product = s < steps ? sum : product + sum;
    }
  }
  /// Where nothing is posted, a member of edge j + u of the chunk, u being known when this is compiled; by the whole
  /// warp.
  __device__ __forceinline__ Acc of(Acc Edge::*member, int j, int u, int s) const {
    static_assert(!posted, "a member that is in shared memory");
    if constexpr (S::held == 0) {
      return by_lane[u][s].*member;
    } else if constexpr (S::held == 1) {
      return __shfl_sync(~0u, held[0][Chunk::place_of(j + u)].*member, Chunk::lane_of(j + u), S::lanes);
    } else {
      return __shfl_sync(~0u, held[s][u % each].*member, (j + u) / each, scores.head_lanes);
    }
  }
  __device__ __forceinline__ Acc weight(int j, int u, int s) const {
    if constexpr (posted) {
      return weights[s][u];
    } else {
      return of(&Edge::alpha, j, u, s);
    }
  }
  __device__ __forceinline__ void keep(EdgeId k, std::int32_t place, int s, Acc gradient) const {
    const EdgeId to = args.by_id ? split.id_of(k) : EdgeId{place};
    args.score_grad[to * scores.heads + heads[s]] = gradient;
  }
};

}  // namespace weft::cuda
