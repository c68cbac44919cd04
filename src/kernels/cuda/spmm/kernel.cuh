// Messages of edges reduced by rows, over equal shares of the edges.
//
// A group of threads covers a row of X and walks the edges of its share. Each lane holds some edges of the next chunk
// in registers while the group works on this one; shuffles hand them round. Batches of edges without a row's end, the
// common case, take a path without branches; several rows of X are in flight at any time.
#pragma once

#include "kernels/cuda/schedule/edge_chunk.cuh"
#include "kernels/cuda/schedule/shape.hpp"
#include "kernels/cuda/spmm/cut_rows.cuh"
#include "kernels/cuda/spmm/edge_value.cuh"

namespace weft::cuda {

/// What an edge's operands become. All operators but the division are x * a + b, one instruction for any of them.
template <class Acc>
__device__ __forceinline__ Acc combine(SpmmOp op, Acc x, Acc e) {
  if (op == SpmmOp::u_div_e) return x / e;
  const bool product = op == SpmmOp::u_mul_e;
  const Acc a = product ? e : Acc(1), b = product ? Acc(0) : op == SpmmOp::u_sub_e ? -e : e;
  return fma(x, a, b);
}

template <class Storage, class S, Message Sent, Reduction Kind>
__global__ void __launch_bounds__(block_threads, sizeof(Storage) > 4 || S::steps > 2 ? 2 : 3)
    reduce_edges(const SpmmKernelArgs<Storage> args) {
  using Acc = AccumulatorOf<Storage>;
  using Chunk = EdgeChunk<S::lanes, S::each, Acc>;
  using X = Pack<Storage, S::vector>;
  constexpr int loads = S::loads;
  constexpr bool plain = Sent == Message::source, edgewise = Sent == Message::edgewise;
  __shared__ HeadSlots<Acc, S::groups * S::tile, S::groups, Kind> heads;

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
  const EdgeValue<Storage, Sent, Kind> value_of{args};

  typename Lane<Storage, S, Sent, Kind>::State state;
  state.clear();
  const CutRows<Storage, S, Sent, Kind, S::groups> cut{here, heads, group, lane};
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
          cut.save_head(state);
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
  cut.finish(state);
}

}  // namespace weft::cuda
