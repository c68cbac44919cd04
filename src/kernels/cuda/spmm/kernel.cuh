// Messages of edges reduced by rows, over equal shares of the edges.
//
// A group of threads covers a row of X and walks the edges of its share. Each lane holds some edges of the next chunk
// in registers while the group works on this one; shuffles hand them round. Batches of edges without a row's end, the
// common case, take a path without branches; several rows of X are in flight at any time.
#pragma once

#include "kernels/cuda/schedule/edge_chunk.cuh"
#include "kernels/cuda/schedule/shape.hpp"
#include "kernels/cuda/spmm/row_finish.cuh"

namespace weft::cuda {

/// What an edge's operands become. All operators but the division are x * a + b, one instruction for any of them.
template <class Acc>
__device__ __forceinline__ Acc combine(SpmmOp op, Acc x, Acc e) {
  if (op == SpmmOp::u_div_e) return x / e;
  const bool product = op == SpmmOp::u_mul_e;
  const Acc a = product ? e : Acc(1), b = product ? Acc(0) : op == SpmmOp::u_sub_e ? -e : e;
  return fma(x, a, b);
}

/// Where a lane's features stand, and how its state moves between registers, staging slots and the output.
template <class Storage, class S, Message Sent, Reduction Kind>
struct Lane {
  using Acc = AccumulatorOf<Storage>;
  using State = RowState<Kind, Acc, S::count>;
  const SpmmKernelArgs<Storage>& args;
  const EdgeShare& share;
  int feature;  // the first one; those of the next step stand S::lanes * S::vector further on

  __device__ __forceinline__ int at(int step) const { return feature + step * S::lanes * S::vector; }
  __device__ __forceinline__ bool has(int step) const { return at(step) < args.features; }

  /// Into (or out of) slot values `to` and their places, which point at this lane's first feature.
  __device__ __forceinline__ void save(const State& state, Acc* to, std::int32_t* places) const {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      if (!has(s)) continue;
      Pack<Acc, S::vector> pack;
      Pack<std::int32_t, S::vector> place;
#pragma unroll
      for (int i = 0; i < S::vector; ++i) {
        pack.values[i] = state.value(s * S::vector + i);
        place.values[i] = state.place(s * S::vector + i);
      }
      pack.store(to + s * S::lanes * S::vector);
      if constexpr (Kind == Reduction::extremum) place.store(places + s * S::lanes * S::vector);
    }
  }
  __device__ __forceinline__ void absorb(State& state, const Acc* from, const std::int32_t* places) const {
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
#pragma unroll
      for (int i = 0; i < S::vector; ++i) {
        const int f = s * S::lanes * S::vector + i;
        state.absorb(s * S::vector + i, from[f], Kind == Reduction::extremum ? places[f] : 0);
      }
    }
  }
  /// The task's slot in global memory: 0 for the row that began before it, 1 for the one that runs on.
  __device__ __forceinline__ void stage(const State& state, int slot) const {
    const std::int64_t to = (2 * share.task + slot) * args.staging.pitch + feature;
    save(state, args.staging.values + to, args.staging.places + to);
  }
  __device__ __forceinline__ void write(const State& state, NodeId row) const {
    const RowFinish<Storage>& finish = args.finish;
#pragma unroll
    for (int s = 0; s < S::steps; ++s) {
      if (!has(s)) continue;
      Acc value[S::vector];
#pragma unroll
      for (int i = 0; i < S::vector; ++i) value[i] = state.value(s * S::vector + i);
      if constexpr (Kind == Reduction::extremum) {
#pragma unroll
        for (int i = 0; i < S::vector; ++i) value[i] = finish.negated ? -value[i] : value[i];
        const EdgeId origin = share.task * args.split.size;
        write_winners<S::vector>(finish, args.split, args.features, row, at(s), [&](int i) -> EdgeId {
          const int place = state.place(s * S::vector + i);
          return place == State::nowhere ? __ldg(args.split.starts + row) : origin + place;
        });
      }
      if constexpr (Sent == Message::source || Sent == Message::weighted) {
        write_plain<S::vector>(finish, row, at(s), value);
      } else {
        write_finished<S::vector>(finish, args.split.graph, row, at(s), value);
      }
    }
  }
};

template <class Storage, class S, Message Sent, Reduction Kind>
__global__ void __launch_bounds__(block_threads, sizeof(Storage) > 4 || S::steps > 2 ? 2 : 3)
    reduce_edges(const SpmmKernelArgs<Storage> args) {
  using Acc = AccumulatorOf<Storage>;
  using Chunk = EdgeChunk<S::lanes, S::each, Acc>;
  using X = Pack<Storage, S::vector>;
  constexpr int loads = S::loads;
  constexpr bool plain = Sent == Message::source, edgewise = Sent == Message::edgewise;
  __shared__ alignas(16) Acc head_values[S::groups * S::tile];
  __shared__ alignas(16) std::int32_t head_places[Kind == Reduction::extremum ? S::groups * S::tile : 1];
  __shared__ NodeId head_rows[S::groups];

  const EdgeSplit& split = args.split;
  const int group = threadIdx.x / S::lanes, lane = threadIdx.x % S::lanes,
            shift = threadIdx.x % 32 / S::lanes * S::lanes;
  const EdgeShare share = EdgeShare::of<S::groups>(split, group);
  const Lane<Storage, S, Sent, Kind> here{args, share, static_cast<int>(blockIdx.y) * S::tile + lane * S::vector};
  // Only the last shares are shorter than the others: a warp of whole ones needs no look at what is there.
  const bool whole = __all_sync(~0u, share.length == share.most);

  // Lanes past the last feature load the first ones again, and write nothing.
  const Storage* x_lane[S::steps];
  const Storage* edge_lane[S::steps];
#pragma unroll
  for (int s = 0; s < S::steps; ++s) {
    const int f = here.has(s) ? here.at(s) : 0;
    if constexpr (edgewise) {
      const int head = f / args.width, within = f - head * args.width;
      x_lane[s] = args.x + head * args.x_head + (args.x_vector ? within : 0);
      edge_lane[s] = args.edge + head * args.edge_head + (args.edge_vector ? within : 0);
    } else {
      x_lane[s] = args.x + f;
    }
  }
  const auto x_pitch = static_cast<std::uint32_t>(args.x_pitch);
  const auto signed_for_min = [&](Acc value) {
    return Kind == Reduction::extremum && args.finish.negated ? -value : value;
  };
  const auto value_of = [&](EdgeId k, std::int32_t id, NodeId col) -> Acc {
    if constexpr (plain) {
      return 0;
    } else if constexpr (Sent == Message::weighted) {
      return static_cast<Acc>(__ldg(args.edge + (split.ids != nullptr ? id : k)));
    } else {
      const Acc scale = args.col_scale != nullptr ? __ldg(args.col_scale + col) : Acc(1);
      if (edgewise || args.edge == nullptr) return signed_for_min(scale);
      return signed_for_min(scale * static_cast<Acc>(__ldg(args.edge + split.id_of(k) * args.edge_pitch)));
    }
  };

  typename Lane<Storage, S, Sent, Kind>::State state;
  state.clear();
  Acc* const my_head = head_values + group * S::tile + lane * S::vector;
  std::int32_t* const my_places =
      Kind == Reduction::extremum ? head_places + group * S::tile + lane * S::vector : nullptr;
  const auto save_head = [&] {
    if (split.joined) {
      here.save(state, my_head, my_places);
    } else {
      here.stage(state, 0);
    }
  };
  // Places of edges are counted from where the task would begin if no border stepped back.
  const int origin = static_cast<int>(share.begin - share.task * split.size);

  NodeId current = share.first;

  Chunk next;
  next.start(split, share, lane);
  next.load(split, share, 0, lane, value_of);
  // Every group of a warp makes the same steps, so that shuffles meet.
  for (int first = 0; first < share.most; first += Chunk::size) {
    NodeId cols[S::each];
    Acc values[S::each];
#pragma unroll
    for (int i = 0; i < S::each; ++i) {
      cols[i] = next.col[i];
      values[i] = next.value[i];
    }
    const unsigned ends = next.ends(share, first, lane, shift);
    if (first + Chunk::size < share.most) next.load(split, share, first + Chunk::size, lane, value_of);
    const auto batch = [&](int j) __attribute__((always_inline)) {
      X x[loads][S::steps];
      X e[edgewise ? loads : 1][S::steps];
      Acc w[loads];
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        const int owner = S::each == 1 ? j + u : (j + u) % S::lanes, i = S::each == 1 ? 0 : (j + u) / S::lanes;
        const auto col = static_cast<std::uint32_t>(__shfl_sync(~0u, cols[i], owner, S::lanes));
        if constexpr (!plain) w[u] = __shfl_sync(~0u, values[i], owner, S::lanes);
        const std::uint64_t from = static_cast<std::uint64_t>(col) * x_pitch;
        if constexpr (edgewise) {
          const EdgeId k = first + j + u < share.length ? split.id_of(share.begin + first + j + u) : 0;
#pragma unroll
          for (int s = 0; s < S::steps; ++s) {
            x[u][s] = args.x == nullptr ? X::all(Storage(0))
                      : args.x_vector   ? X::load(x_lane[s] + from)
                                        : X::all(__ldg(x_lane[s] + from));
            const Storage* at = edge_lane[s] + k * args.edge_pitch;
            e[u][s] = args.edge == nullptr ? X::all(Storage(0)) : args.edge_vector ? X::load(at) : X::all(__ldg(at));
          }
        } else {
#pragma unroll
          for (int s = 0; s < S::steps; ++s) x[u][s] = X::load(x_lane[s] + from);
        }
      }
      const auto message = [&](int u, int n) -> Acc {
        const Acc value = static_cast<Acc>(x[u][n / S::vector].values[n % S::vector]);
        if constexpr (plain) {
          return value;
        } else if constexpr (edgewise) {
          return w[u] * combine(args.op, value, static_cast<Acc>(e[u][n / S::vector].values[n % S::vector]));
        } else {
          return w[u] * value;
        }
      };
      const int place = origin + first + j;
      const unsigned row_ends = ends >> j & ((1u << loads) - 1);
      // The warp takes one path: no row of any of its groups ends here, and no edge is missing.
      if (whole && !__any_sync(~0u, row_ends != 0)) {
#pragma unroll
        for (int n = 0; n < S::count; ++n)
          state.template fold_batch<loads>(n, place, [&](int u) { return message(u, n); });
        return;
      }
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        if (first + j + u >= share.length) break;
#pragma unroll
        for (int n = 0; n < S::count; ++n) state.fold(n, message(u, n), place + u);
        if (!(row_ends >> u & 1u)) continue;
        const NodeId row = split.in_sequence ? current : __ldg(split.graph.rows + share.begin + first + j + u);
        ++current;
        state.settle();
        if (row == share.head) {
          save_head();
        } else {
          here.write(state, row);
        }
        state.clear();
      }
    };
    if constexpr (S::each == 1) {
#pragma unroll 1
      for (int j = 0; j < Chunk::size && first + j < share.most; j += loads) batch(j);
    } else {  // which register holds an edge must be known when this is compiled
#pragma unroll
      for (int j = 0; j < Chunk::size; j += loads) batch(j);
    }
    if ((first + Chunk::size) % 64 == 0) state.settle();
  }
  state.settle();
  const bool through = share.runs_on && share.last == share.head;
  if (through) save_head();
  if (!split.joined) {
    if (share.runs_on && !through) here.stage(state, 1);
    return;
  }

  // The group in which a row begins unites it; the first group, the row that began before the block's task.
  if (lane == 0) head_rows[group] = share.head;
  __syncthreads();
  const auto unite = [&](NodeId row, int from) {
    for (int g = from; g < S::groups && head_rows[g] == row; ++g) {
      const int slot = g * S::tile + lane * S::vector;
      here.absorb(state, head_values + slot, Kind == Reduction::extremum ? head_places + slot : nullptr);
      if ((g - from) % 8 == 7) state.settle();
    }
    state.settle();
  };
  if (share.runs_on && !through) {
    unite(share.last, group + 1);
    if (share.passes(split, share.last)) {
      here.stage(state, 1);
    } else {
      here.write(state, share.last);
    }
  }
  if (group == 0 && share.head >= 0) {
    state.clear();
    unite(share.head, 0);
    here.stage(state, 0);
  }
}

}  // namespace weft::cuda
