// Attention in one visit of the edges: scores, softmax and the weighted sum of the sources' rows.
//
// As in SpMM a group of threads covers a row of values and walks a share of the edges with several rows in flight. A
// lane keeps for the head of its features the largest score of the row so far, and sums relative to it: where a larger
// one comes, what there is is scaled down. Nothing of the size of the edges is stored.
#pragma once

#include "kernels/cuda/attention/attention_args.hpp"
#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/primitives/softmax_part.cuh"
#include "kernels/cuda/primitives/store_pack.cuh"
#include "kernels/cuda/schedule/edge_chunk.cuh"
#include "kernels/cuda/schedule/shape.hpp"

namespace weft::cuda {

/// A row's attention so far, of the features a lane holds: step s is of one head, and its sums are relative to
/// parts[s].top.
template <class Acc, class S>
struct AttentionState {
  SoftmaxPart<Acc> parts[S::steps];
  Acc near_total[S::steps];  // of the weights, as near is of the sums
  Acc near[S::count], far[S::count];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      parts[s] = SoftmaxPart<Acc>::none();
      near_total[s] = 0;
    }
#pragma unroll
    for (int i = 0; i < S::count; ++i) near[i] = far[i] = 0;
  }
  __device__ __forceinline__ void settle() {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) cuda::settle(parts[s].total, near_total[s]);
#pragma unroll
    for (int i = 0; i < S::count; ++i) cuda::settle(far[i], near[i]);
  }
  /// Makes room for scores up to `top` in step s. The largest score is mostly found early: then nothing changes.
  __device__ __forceinline__ void raise(int s, Acc top) {
    SoftmaxPart<Acc>& part = parts[s];
    if (part.top == top) return;
    const Acc factor = rescale(part.top, top);
    part = {top, part.total * factor};
    near_total[s] *= factor;
#pragma unroll
    for (int i = 0; i < S::vector; ++i) {
      near[s * S::vector + i] *= factor;
      far[s * S::vector + i] *= factor;
    }
  }
};

/// exp(score - top), 0 for a masked edge even where all before it were.
template <class Acc>
__device__ __forceinline__ Acc weight_of(Acc score, Acc top) {
  return score == -Acc(INFINITY) ? Acc(0) : exponential(score - top);
}

/// The scores of edges for the heads of a lane's steps.
template <class Storage, class S>
struct LaneScores {
  using Acc = AccumulatorOf<Storage>;
  const AttentionKernelArgs<Storage>& args;
  int heads[S::steps];

  __device__ __forceinline__ Acc operator()(std::uint32_t col, std::uint32_t row, EdgeId k, int s) const {
    const Acc z = widened(__ldg(row_at(args.src + heads[s] * args.src_head, col, args.src_pitch_bytes))) +
                  widened(__ldg(row_at(args.dst + heads[s] * args.dst_head, row, args.dst_pitch_bytes)));
    const Acc score = z > 0 ? z : z * args.slope;
    if (args.bias.data == nullptr) return score;
    return score + args.bias[args.split.id_of(k) * args.bias_pitch + heads[s] * args.bias_head];
  }
};

/// A row's result from its sums and statistics, by the lanes of a group.
template <class Storage, class S>
struct AttentionLane {
  using Acc = AccumulatorOf<Storage>;
  using State = AttentionState<Acc, S>;
  const AttentionKernelArgs<Storage>& args;
  int feature;  // the first one; those of the next step stand S::lanes * S::vector further on

  __device__ __forceinline__ int at(int step) const { return feature + step * S::lanes * S::vector; }
  __device__ __forceinline__ bool has(int step) const { return at(step) < args.features; }

  __device__ __forceinline__ void write(const State& settled, std::int64_t row) const {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      if (!has(s)) continue;
      const SoftmaxPart<Acc>& part = settled.parts[s];
      Acc value[S::vector];
#pragma unroll
      for (int i = 0; i < S::vector; ++i)
        value[i] = part.total == 0 ? Acc(0) : settled.far[s * S::vector + i] / part.total;
      store_pack<S::vector>(args.out, false, value, [&](auto* out) {
        return row_at(out + at(s), static_cast<std::uint32_t>(row), args.out_pitch_bytes);
      });
      const int head = at(s) / args.width;
      if (head * args.width != at(s)) continue;
      args.row_max[row * args.max_pitch + head] = part.top;
      args.row_sum[row * args.sum_pitch + head] = part.total;
    }
  }
  /// Into a task's slot: 0 for the row that began before it, 1 for the one that runs on.
  __device__ __forceinline__ void stage(const State& settled, std::int64_t task, int slot) const {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      if (!has(s)) continue;
      Pack<Acc, S::vector> pack;
#pragma unroll
      for (int i = 0; i < S::vector; ++i) pack.values[i] = settled.far[s * S::vector + i];
      pack.store(args.slot_sums + (2 * task + slot) * args.features + at(s));
      const int head = at(s) / args.width;
      if (head * args.width == at(s)) args.slot_parts[(2 * task + slot) * args.heads + head] = settled.parts[s];
    }
  }
};

/// The largest score of the row an edge is in, among the edges of neighbouring lanes, `Sub` of them: bit l of `ends`
/// says that a row ends with lane l's edge, `at` being this one's.
template <int Sub, class Acc>
__device__ __forceinline__ Acc top_of_row(Acc score, unsigned ends, int at) {
  const unsigned before = ends & ((1u << at) - 1), after = ends >> at;
  const int start = before == 0 ? 0 : 32 - __clz(before), end = after == 0 ? Sub - 1 : at + __ffs(after) - 1;
#pragma unroll
  for (int step = 1; step < Sub; step *= 2) {
    const Acc other = __shfl_up_sync(~0u, score, step, Sub);
    if (at - step >= start) score = larger(other, score);
  }
  return __shfl_sync(~0u, score, end, Sub);
}

/// `Sub` > 0: lanes of a head, a multiple of it, share the scores of a batch, one each of every `Sub` edges. 0: each
/// lane computes those of its own heads, however they lie.
template <class Storage, class S, int Sub>
__global__ void __launch_bounds__(block_threads, sizeof(Storage) > 4 || S::steps > 2 ? 2 : 3)
    attend_edges(const AttentionKernelArgs<Storage> args) {
  using Acc = AccumulatorOf<Storage>;
  static_assert(Sub == 0 || (S::steps == 1 && S::each == 1 && S::lanes >= Sub && S::loads % (Sub > 0 ? Sub : 1) == 0));
  using X = Pack<Storage, S::vector>;
  using Chunk = EdgeChunk<S::lanes, S::each, NoValues::Nothing>;
  constexpr int loads = S::loads;
  const EdgeSplit& split = args.split;
  const int group = threadIdx.x / S::lanes, lane = threadIdx.x % S::lanes,
            shift = threadIdx.x % 32 / S::lanes * S::lanes;
  const EdgeShare share = EdgeShare::of<S::groups>(split, group);
  const AttentionLane<Storage, S> here{args, static_cast<int>(blockIdx.y) * S::tile + lane * S::vector};
  const int whole_until = share.length > 0 ? share.length - loads : INT_MAX;

  // Lanes past the last feature load the first ones again, and write nothing.
  LaneScores<Storage, S> score{args, {}};
  const Storage* x_lane[S::steps];
#pragma unroll
  for (int s = 0; s < S::steps; ++s) {
    const int f = here.has(s) ? here.at(s) : 0;
    score.heads[s] = f / args.width;
    x_lane[s] = args.value + score.heads[s] * args.value_head + (f - score.heads[s] * args.width);
  }

  AttentionState<Acc, S> state;
  state.clear();
  bool head_open = share.head >= 0;  // the row that began before the share has not ended yet
  constexpr NoValues nothing;
  Chunk next;
  next.start(split, share, lane);
  next.load(split, share, 0, lane, nothing);
  for (int first = 0; first < share.most; first += Chunk::size) {
    NodeId cols[S::each], rows[S::each];
#pragma unroll
    for (int i = 0; i < S::each; ++i) {
      cols[i] = next.col[i];
      rows[i] = next.row[i] < 0 ? 0 : next.row[i];
    }
    const unsigned ends = next.ends(share, first, lane, shift);
    if (first + Chunk::size < share.most) next.load(split, share, first + Chunk::size, lane, nothing);
    const auto from_lane = [&](const NodeId(&held)[S::each], int q) __attribute__((always_inline)) {
      return static_cast<std::uint32_t>(__shfl_sync(~0u, held[Chunk::place_of(q)], Chunk::lane_of(q), S::lanes));
    };
    const auto batch_by_lane = [&](int j) __attribute__((always_inline)) {
      X x[loads][S::steps];
      Acc scores[loads][S::steps];
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const std::uint32_t col = from_lane(cols, j + u), row = from_lane(rows, j + u);
        const EdgeId k = first + j + u < share.length ? share.begin + first + j + u : 0;
#pragma unroll
        for (int s = 0; s < S::steps; ++s) {
          x[u][s] = X::load(row_at(x_lane[s], col, args.value_pitch_bytes));
          scores[u][s] = score(col, row, k, s);
        }
      }
      const unsigned row_ends = ends >> j & ((1u << loads) - 1);
      const bool whole = first + j <= whole_until;
      // The warp takes one path. The usual one of long rows: no row of any of its groups ends here, no edge is missing.
      if (__all_sync(~0u, whole && row_ends == 0)) {
#pragma unroll
        for (int s = 0; s < S::steps; ++s) {
          Acc top = state.parts[s].top;
#pragma unroll
          for (int u = 0; u < loads; ++u) top = larger(top, scores[u][s]);
          state.raise(s, top);
          Acc sum[S::vector] = {}, total = 0;
#pragma unroll
          for (int u = 0; u < loads; ++u) {
            const Acc w = weight_of(scores[u][s], top);
            total += w;
#pragma unroll
            for (int i = 0; i < S::vector; ++i) sum[i] += w * widened(x[u][s].values[i]);
          }
          state.near_total[s] += total;
#pragma unroll
          for (int i = 0; i < S::vector; ++i) state.near[s * S::vector + i] += sum[i];
        }
        return;
      }
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const std::uint32_t row = from_lane(rows, j + u);
        if (first + j + u >= share.length) continue;
#pragma unroll
        for (int s = 0; s < S::steps; ++s) {
          const Acc top = larger(state.parts[s].top, scores[u][s]);
          state.raise(s, top);
          const Acc w = weight_of(scores[u][s], top);
          state.near_total[s] += w;
#pragma unroll
          for (int i = 0; i < S::vector; ++i) state.near[s * S::vector + i] += w * widened(x[u][s].values[i]);
        }
        if (!(row_ends >> u & 1u)) continue;
        state.settle();
        if (head_open) {
          here.stage(state, share.task, 0);
          head_open = false;
        } else {
          here.write(state, row);
        }
        state.clear();
      }
    };
    // The same with scores shared: rows end among them, or not.
    const auto batch_by_head = [&](int j) __attribute__((always_inline)) {
      constexpr int sub = Sub > 0 ? Sub : 1, subs = loads / sub;
      const int at = lane % sub;  // of the edges that neighbours share
      X x[loads];
      Acc scores[subs];
#pragma unroll
      for (int u = 0; u < loads; ++u) x[u] = X::load(row_at(x_lane[0], from_lane(cols, j + u), args.value_pitch_bytes));
#pragma unroll
      for (int b = 0; b < subs; ++b) {
        const int q = j + b * sub + at;
        const auto col = static_cast<std::uint32_t>(__shfl_sync(~0u, cols[0], q, S::lanes));
        const auto row = static_cast<std::uint32_t>(__shfl_sync(~0u, rows[0], q, S::lanes));
        const bool there = first + q < share.length;
        const Acc score_there = score(col, row, there ? share.begin + first + q : 0, 0);
        scores[b] = there ? score_there : -Acc(INFINITY);
      }
      const unsigned row_ends = ends >> j & ((1u << loads) - 1);
      const bool usual = __all_sync(~0u, first + j <= whole_until && row_ends == 0);
#pragma unroll
      for (int b = 0; b < subs; ++b) {
        const unsigned here_ends = row_ends >> (b * sub) & ((1u << sub) - 1);
        Acc top = top_of_row<sub>(scores[b], usual ? 0 : here_ends, at);
        // The first row may have begun before.
        if ((here_ends & ((1u << at) - 1)) == 0) top = larger(state.parts[0].top, top);
        const Acc weight = weight_of(scores[b], top);
        state.raise(0, __shfl_sync(~0u, top, 0, sub));
        if (usual) {
          Acc sum[S::vector] = {}, total = 0;
#pragma unroll
          for (int u = 0; u < sub; ++u) {
            const Acc w = __shfl_sync(~0u, weight, u, sub);
            total += w;
#pragma unroll
            for (int i = 0; i < S::vector; ++i) sum[i] += w * widened(x[b * sub + u].values[i]);
          }
          state.near_total[0] += total;
#pragma unroll
          for (int i = 0; i < S::vector; ++i) state.near[i] += sum[i];
          continue;
        }
#pragma unroll
        for (int u = 0; u < sub; ++u) {
          const Acc w = __shfl_sync(~0u, weight, u, sub),
                    next_top = __shfl_sync(~0u, top, u + 1 < sub ? u + 1 : u, sub);
          const std::uint32_t row = from_lane(rows, j + b * sub + u);
          if (first + j + b * sub + u >= share.length) continue;
          state.near_total[0] += w;
#pragma unroll
          for (int i = 0; i < S::vector; ++i) state.near[i] += w * widened(x[b * sub + u].values[i]);
          if (!(here_ends >> u & 1u)) continue;
          state.settle();
          if (head_open) {
            here.stage(state, share.task, 0);
            head_open = false;
          } else {
            here.write(state, row);
          }
          state.clear();
          if (u + 1 < sub) state.parts[0].top = next_top;  // of the row that begins
        }
      }
    };
    const auto batch = [&](int j) __attribute__((always_inline)) {
      if constexpr (Sub > 0) {
        batch_by_head(j);
      } else {
        batch_by_lane(j);
      }
    };
    if constexpr (S::each == 1) {
#pragma unroll 1
      for (int j = 0; j < Chunk::size && first + j < share.most; j += loads) batch(j);
    } else {
#pragma unroll
      for (int j = 0; j < Chunk::size; j += loads) batch(j);
    }
    if ((first + Chunk::size) % (8 * loads) == 0) state.settle();
  }
  if (!share.runs_on) return;
  state.settle();
  here.stage(state, share.task, share.last == share.head ? 0 : 1);
}

/// Rows that tasks have cut, or that have no edges: a warp each, its lanes along the features.
template <class Storage>
__global__ void __launch_bounds__(block_threads) finish_attention(const AttentionKernelArgs<Storage> args) {
  using Acc = AccumulatorOf<Storage>;
  const EdgeSplit& split = args.split;
  const GraphView& g = split.graph;
  const int lane = threadIdx.x % 32;
  const std::int64_t mine = blockIdx.x * std::int64_t{block_threads} + threadIdx.x;
  std::int64_t first = 0, tasks = 1;  // of this lane's row; 0 tasks: it has no edges
  if (mine < g.num_rows) {
    const EdgeId degree = __ldg(g.offsets + mine + 1) - __ldg(g.offsets + mine);
    tasks = degree > 0 ? 1 : 0;
    if (degree > 0 && split.cuts) {
      const EdgeId begin = __ldg(split.starts + mine);
      first = split.task_of(begin);
      tasks = split.task_of(begin + degree - 1) - first + 1;
    }
  }
  for (unsigned left = __ballot_sync(~0u, tasks != 1); left != 0; left &= left - 1) {
    const int at = __ffs(left) - 1;
    const std::int64_t row = mine - lane + at, from = __shfl_sync(~0u, first, at), count = __shfl_sync(~0u, tasks, at);
    // The row's first task kept it as the one that runs on, the others as the one that began before.
    const auto slot = [&](std::int64_t t) { return 2 * (from + t) + (t == 0 ? 1 : 0); };
    for (int head = 0; head < args.heads; ++head) {
      const SoftmaxPart<Acc> whole =
          united_in_order(count, lane, [&](std::int64_t t) { return args.slot_parts[slot(t) * args.heads + head]; });
      for (int f = lane; f < args.width; f += 32) {
        const int feature = head * args.width + f;
        const auto term = [&](std::int64_t t) {
          if (t >= count) return Acc(0);
          const Acc top = args.slot_parts[slot(t) * args.heads + head].top;
          return args.slot_sums[slot(t) * args.features + feature] * rescale(top, whole.top);
        };
        Acc near = 0, far = 0;
        for (std::int64_t t = 0; t < count; t += 8) {
          near += ((term(t) + term(t + 1)) + (term(t + 2) + term(t + 3))) +
                  ((term(t + 4) + term(t + 5)) + (term(t + 6) + term(t + 7)));
          if (t / 8 % 8 == 7) settle(far, near);
        }
        const Acc value = whole.total == 0 ? Acc(0) : (far + near) / whole.total;
        *row_at(args.out + feature, static_cast<std::uint32_t>(row), args.out_pitch_bytes) =
            static_cast<Storage>(value);
      }
      if (lane != 0) continue;
      args.row_max[row * args.max_pitch + head] = whole.top;
      args.row_sum[row * args.sum_pitch + head] = whole.total;
    }
  }
}

}  // namespace weft::cuda
