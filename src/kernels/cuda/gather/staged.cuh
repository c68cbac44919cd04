// Sums by rows as HP-SpMM and GNNOne compute them: a task is a warp's, its edges come in tiles through shared memory,
// and the groups of threads in the warp share each tile. The index is then read in whole lines however few threads
// cover a row, which makes it the faster way for rows of up to 16 features; wider ones are better off with walk.cuh.
//
// Consecutive: a group takes a run of the tile's edges. Rows that cross from group to group are united after the tile
// by a scan over the groups; what the tile leaves open goes on in group 0. Round-robin: a group takes every n-th edge,
// and wherever a row ends the groups unite what they have of it. Either way the order of the additions is fixed.
// Rows that a task cuts go through staging slots as in walk.cuh; or, on request, every sum is added to the zeroed
// output by atomics, as both papers do (and with consecutive edges groups then unite nothing): the only path whose bits
// may differ from run to run.
#pragma once

#include "kernels/cuda/gather/half_pairs.cuh"
#include "kernels/cuda/gather/lane.cuh"
#include "kernels/cuda/primitives/stage_edges.cuh"

namespace weft::cuda {

/// S with what a warp's groups make of a tile.
template <class S, int TileOf>
struct StagedShape : S {
  static constexpr int tile_edges = TileOf;
  static constexpr int warps = block_threads / 32;
  static constexpr int warp_groups = 32 / S::lanes;
  static constexpr int part = TileOf / warp_groups;                 // edges of a tile a group takes
  static constexpr int flight = S::loads < part ? S::loads : part;  // rows of X in flight
};

/// `Count` neighbours of an array, added to it by as few atomics as there are for the type.
template <int Count>
__device__ __forceinline__ void add_atomically(float* to, const float (&value)[Count]) {
#if __CUDA_ARCH__ >= 900
  constexpr int most = 4;
#else
  constexpr int most = 1;
#endif
  if constexpr (most >= 4 && Count == 4) {
    atomicAdd(reinterpret_cast<float4*>(to), make_float4(value[0], value[1], value[2], value[3]));
  } else if constexpr (most >= 2 && Count == 2) {
    atomicAdd(reinterpret_cast<float2*>(to), make_float2(value[0], value[1]));
  } else {
#pragma unroll
    for (int i = 0; i < Count; ++i) atomicAdd(to + i, value[i]);
  }
}
template <int Count, class Storage>
__device__ __forceinline__ void add_atomically(Storage* to, const float (&value)[Count]) {
  static_assert(StorageTraits<Storage>::is_half && Count % 2 == 0, "halves are added by pairs");
  using Pair = PairOf<Storage>;
#pragma unroll
  for (int i = 0; i < Count; i += 2)
    atomicAdd(reinterpret_cast<typename Pair::type*>(to + i), Pair::of(value[i], value[i + 1]));
}

/// Adds a lane's features of a row to the output.
template <class Lane, class S>
__device__ __forceinline__ void add_row(const Lane& here, const typename Lane::State& state, NodeId row) {
  const auto& epilogue = here.args.epilogue;
#pragma unroll
  for (int s = 0; s < S::steps; ++s) {
    if (!here.has(s)) continue;
    float value[S::vector];
#pragma unroll
    for (int i = 0; i < S::vector; ++i) value[i] = state.value(s * S::vector + i);
    add_atomically(row_at(epilogue.out + here.at(s), static_cast<std::uint32_t>(row), epilogue.pitch_bytes), value);
  }
}

/// One group's part of the work on a warp's tiles.
template <class Storage, class S>
struct StagedGroup {
  using Lane = cuda::Lane<Weighted<Storage>, S, Reduction::sum>;
  using State = typename Lane::State;
  using Tile = EdgeTile<S::tile_edges, float>;
  using X = Pack<Storage, S::vector>;
  static constexpr int flight = S::flight, groups = S::warp_groups, part = S::part;

  const Lane& here;
  const EdgeShare& share;
  bool atomic;
  int group;
  const Storage* x_lane[S::steps];
  std::uint32_t x_pitch_bytes;
  State state;
  X x[flight][S::steps];
  float w[flight];

  __device__ __forceinline__ StagedGroup(const Lane& lane, const EdgeShare& of, bool adds, int number)
      : here(lane), share(of), atomic(adds), group(number), x_pitch_bytes(lane.args.x_pitch_bytes) {
    // Lanes past the last feature load the first ones again, and write nothing.
#pragma unroll
    for (int s = 0; s < S::steps; ++s) x_lane[s] = here.args.x + (here.has(s) ? here.at(s) : 0);
    state.clear();
  }

  /// `flight` edges of the tile from p on, `stride` apart.
  __device__ __forceinline__ void fetch(const Tile& tile, int p, int stride) {
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      const int edge = p + u * stride;
      w[u] = tile.values[edge];
      const auto col = static_cast<std::uint32_t>(tile.cols[edge]);
#pragma unroll
      for (int s = 0; s < S::steps; ++s) x[u][s] = X::load(row_at(x_lane[s], col, x_pitch_bytes));
    }
  }
  __device__ __forceinline__ float message(int u, int n) const {
    return w[u] * widen(x[u][n / S::vector].values[n % S::vector]);
  }
  __device__ __forceinline__ void fold(int u) {
#pragma unroll
    for (int n = 0; n < S::count; ++n) state.fold(n, message(u, n), 0);
  }
  __device__ __forceinline__ void fold_all() {
    state.template fold_batch<flight>(0, [&](int u, const auto& take) {
#pragma unroll
      for (int n = 0; n < S::count; ++n) take(n, message(u, n));
    });
  }

  /// The end of a row, which `sum` holds what the share has of.
  __device__ __forceinline__ void flush(const State& sum, NodeId row) const {
    if (atomic) {
      add_row<Lane, S>(here, sum, row);
    } else if (row == share.carried) {
      here.stage(sum, share.task, 0);
    } else {
      here.write(sum, row);
    }
  }
  /// What is left of a row that runs on past the share, in one group's state.
  __device__ __forceinline__ void flush_open() const {
    if (atomic) {
      add_row<Lane, S>(here, state, share.last);
    } else {
      here.stage(state, share.task, share.last == share.carried ? 0 : 1);
    }
  }

  // Consecutive edges.

  /// This group's run of the tile at `first`. Then rows between groups: see unite_runs.
  __device__ __forceinline__ void take_run(const Tile& tile, int first) {
    const int base = group * part;
    const bool whole = first + S::tile_edges <= share.length;
    // The row of the first edge began in another group's run: its end is not the row's whole sum.
    const bool continues = groups > 1 && !atomic && group > 0 && !tile.template ends_from<1>(base - 1);
    bool closed = false;
    float head[groups > 1 ? S::count : 1];
#pragma unroll 1
    for (int j = 0; j < part; j += flight) {
      fetch(tile, base + j, 1);
      const unsigned ends = tile.template ends_from<flight>(base + j);
      // The warp takes one path: no row of any of its groups ends here, and no edge is missing.
      if (whole && !__any_sync(~0u, ends != 0)) {
        fold_all();
      } else {
#pragma unroll
        for (int u = 0; u < flight; ++u) {
          if (first + base + j + u >= share.length) break;
          fold(u);
          if (!(ends >> u & 1u)) continue;
          state.settle();
          if (groups > 1 && continues && !closed) {
            closed = true;
#pragma unroll
            for (int n = 0; n < (groups > 1 ? S::count : 1); ++n) head[n] = state.value(n);
          } else {
            flush(state, tile.rows[base + j + u]);
          }
          state.clear();
        }
      }
      if (groups == 1 && (first + j + flight) % 64 == 0) state.settle();
    }
    if constexpr (groups > 1) {
      state.settle();
      if (atomic) {
        const int last = min(base + part, share.length - first) - 1;
        if (last >= base && !tile.template ends_from<1>(last)) flush(state, tile.rows[last]);
        state.clear();
      } else {
        unite_runs(tile, continues, closed, head);
      }
    }
  }

  /// Unites rows that cross from run to run, and hands what is open after the tile to group 0. `head` is what this
  /// group has of a row that began before its run, where that row is `closed` in it. Runs past the share's last edge
  /// are zeros that a row which is never flushed passes through.
  __device__ __forceinline__ void unite_runs(const Tile& tile, bool continues, bool closed,
                                             const float (&head)[S::count]) {
    const int last = (group + 1) * part - 1;
    const bool through = continues && !closed;
    // ahead: the sum from this group's first edge on of the row that continues there, to its end or the tile's.
    float ahead[S::count];
#pragma unroll
    for (int n = 0; n < S::count; ++n) ahead[n] = closed ? head[n] : state.value(n);
    bool reaches = through;  // as far as the groups looked at, so at last whether to the tile's end
#pragma unroll
    for (int step = 1; step < groups; step *= 2) {
      const bool more = reaches && group + step < groups;
      const bool on = __shfl_down_sync(~0u, static_cast<int>(reaches), step * S::lanes) != 0;
#pragma unroll
      for (int n = 0; n < S::count; ++n) {
        const float other = __shfl_down_sync(~0u, ahead[n], step * S::lanes);
        if (more) ahead[n] += other;
      }
      if (more) reaches = on;
    }
    // A row that begins in this run (or came to group 0 with the state) and goes on after it.
    const bool open = !tile.template ends_from<1>(last) && !through;
    const bool alone = group == groups - 1;
    const bool on = __shfl_down_sync(~0u, static_cast<int>(reaches), S::lanes) != 0 || alone;
#pragma unroll
    for (int n = 0; n < S::count; ++n) {
      const float other = __shfl_down_sync(~0u, ahead[n], S::lanes);
      if (open && !alone) state.far[n] += other;
    }
    if (open && !on) flush(state, tile.rows[last]);
    const unsigned holders = __ballot_sync(~0u, open && on);  // the lanes of one group, or none
    const int from = holders == 0 ? 0 : __ffs(holders) - 1 + static_cast<int>(threadIdx.x % S::lanes);
#pragma unroll
    for (int n = 0; n < S::count; ++n) {
      const float carried = __shfl_sync(~0u, state.far[n], from), rest = __shfl_sync(~0u, state.near[n], from);
      state.far[n] = holders != 0 && group == 0 ? carried : 0;
      state.near[n] = holders != 0 && group == 0 ? rest : 0;
    }
  }

  // Every groups-th edge.

  /// Every groups-th edge of the tile at `first`, from this group's number on.
  __device__ __forceinline__ void take_every(const Tile& tile, int first) {
    const bool whole = first + S::tile_edges <= share.length;
#pragma unroll 1
    for (int i = 0; i < part; i += flight) {
      fetch(tile, i * groups + group, groups);
      unsigned ends[flight], any = 0;
#pragma unroll
      for (int u = 0; u < flight; ++u) any |= ends[u] = tile.template ends_from<groups>((i + u) * groups);
      if (whole && any == 0) {
        fold_all();
        continue;
      }
#pragma unroll
      for (int u = 0; u < flight; ++u) {
        const int p = (i + u) * groups;  // of group 0
        int from = 0;                    // the first group whose edge is not folded yet
        for (unsigned rest = ends[u]; rest != 0; rest &= rest - 1) {
          const int end = __ffs(rest) - 1;
          if (group >= from && group <= end) fold(u);
          unite_all();
          if (group == 0) flush(state, tile.rows[p + end]);
          state.clear();
          from = end + 1;
        }
        if (group >= from && first + p + group < share.length) fold(u);
      }
    }
    state.settle();
  }
  /// Every group's state becomes the sum of all.
  __device__ __forceinline__ void unite_all() {
    state.settle();
#pragma unroll
    for (int n = 0; n < S::count; ++n)
#pragma unroll
      for (int step = S::lanes; step < 32; step *= 2) state.far[n] += __shfl_xor_sync(~0u, state.far[n], step);
  }
};

template <class Storage, class S, bool RoundRobin>
__global__ void __launch_bounds__(block_threads, S::count > 8 ? 2 : 3)
    gather_staged(const GatherArgs<Weighted<Storage>> args, bool atomic) {
  using Group = StagedGroup<Storage, S>;
  __shared__ typename Group::Tile tiles[S::warps][2];
  const EdgeSplit& split = args.split;
  const int warp = threadIdx.x / 32, group = threadIdx.x % 32 / S::lanes, lane = threadIdx.x % S::lanes;
  const EdgeShare share = EdgeShare::of<S::warps>(split, warp);
  if (share.length == 0) return;  // the whole warp
  const typename Group::Lane here(args, share.nominal, static_cast<int>(blockIdx.y) * S::tile + lane * S::vector);
  Group work(here, share, atomic, group);

  const bool in_order = split.in_order() && args.message.edge_pitch == 1;
  const auto place = [&](EdgeId k) { return split.id_of(k) * args.message.edge_pitch; };
  StagedEdges<S::tile_edges, Storage, decltype(place)> edges(tiles[warp], split.graph.cols, split.graph.rows,
                                                             args.message.edge, share.begin, share.length,
                                                             share.runs_on, in_order, place);
  for (int first = 0; first < share.length; first += S::tile_edges) {
    const typename Group::Tile& tile = edges.turn(first);
    if constexpr (RoundRobin) {
      work.take_every(tile, first);
    } else {
      work.take_run(tile, first);
    }
  }
  if (!share.runs_on) return;
  if constexpr (RoundRobin) {
    work.unite_all();
  } else if (S::warp_groups > 1 && atomic) {
    return;  // each group has added its own
  }
  work.state.settle();
  if (group == 0) work.flush_open();
}

}  // namespace weft::cuda
