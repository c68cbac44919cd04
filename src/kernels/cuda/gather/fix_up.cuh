// The fix-up, a second kernel: rows without edges, and rows that task borders have cut.
#pragma once

#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/schedule/edge_split.cuh"
#include "plan/gather_shape.hpp"

namespace weft::cuda {

/// Unites the staged parts of a row, `Count` features per lane; few additions follow one another, as in RowAccumulator.
/// `place` says which edge won.
template <Reduction Kind, int Count, class Storage, class Acc = AccumulatorOf<Storage>>
__device__ __forceinline__ void unite_parts(const GatherCommon<Storage>& args, const CutRow& cut, int feature,
                                            Acc (&value)[Count], EdgeId (&place)[Count]) {
  using Part = Pack<Acc, Count>;
  constexpr int flight = Kind == Reduction::winner ? 4 : 8;
  // (CutRow::slot, with a multiplication less for each part.)
  const std::int64_t base = cut.slot(0) * args.staging.pitch + feature;
  const auto pitch = static_cast<std::uint32_t>(args.staging.pitch);  // fewer than 2^22 features
  const auto slot = [&](auto* array, int part) {
    const auto* const from = array + base;
    const auto steps = part == 0 ? 0u : 2 * static_cast<std::uint32_t>(part) - 1;
    return row_at(from, steps, pitch * static_cast<std::uint32_t>(sizeof(*from)));
  };
  const Acc nothing = Kind == Reduction::sum ? Acc(0) : semantics::below_all<Acc>();
  Acc far[Count] = {};
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    value[i] = nothing;
    place[i] = no_edge;
  }
  // Most rows have fewer parts than are loaded together: those that are missing count as nothing.
  for (int part = 0; part < cut.parts; part += flight) {
    const int here = min(cut.parts - part, flight);
    Part p[flight];
    Pack<std::int32_t, Count> places[Kind == Reduction::winner ? flight : 1];
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      p[u] = Part::all(nothing);
      if (u >= here) continue;
      p[u] = Part::load_written(slot(args.staging.values, part + u));
      if constexpr (Kind == Reduction::winner)
        places[u] = Pack<std::int32_t, Count>::load_written(slot(args.staging.places, part + u));
    }
    if constexpr (Kind == Reduction::sum) {
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        value[i] += ((p[0].values[i] + p[1].values[i]) + (p[2].values[i] + p[3].values[i])) +
                    ((p[4].values[i] + p[5].values[i]) + (p[6].values[i] + p[7].values[i]));
        if (part / flight % 8 == 7 && !settle(far[i], value[i])) drop_rest(value[i]);
      }
    } else {
#pragma unroll
      for (int u = 0; u < flight; ++u)
#pragma unroll
        for (int i = 0; i < Count; ++i) {
          if (u >= here || !semantics::replaces(p[u].values[i], value[i])) continue;
          value[i] = p[u].values[i];
          if constexpr (Kind == Reduction::winner)
            place[i] = (cut.first + part + u) * args.split.size + places[u].values[i];
        }
    }
  }
  if constexpr (Kind == Reduction::sum) {
#pragma unroll
    for (int i = 0; i < Count; ++i) value[i] += far[i];
  }
}

/// Where the GPU lets a kernel start before the one in front of it has ended (Hopper and later), waits for that one.
__device__ __forceinline__ void wait_for_tasks() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

/// Rows a block of the fix-up may look through.
inline constexpr int most_fixed_rows = 1024;

/// A row that the tasks left: without edges, or in parts. `again`: its result has to be computed anew.
struct LeftRow : CutRow {
  std::int32_t row;
  static constexpr std::int32_t again = -1;
};

/// How left rows of plain reductions are finished. Every kind of row has these members.
template <class StorageOf, Reduction Kind>
struct ReducedRows {
  using Storage = StorageOf;
  using Acc = AccumulatorOf<Storage>;
  using Args = GatherCommon<Storage>;
  static constexpr bool looks_again = false;  // whether rows that the tasks wrote may have to be computed anew

  /// Before the tasks are waited for: rows [base, base + rows).
  static __device__ __forceinline__ void begin(const Args&, std::int64_t, int) {}
  /// `Count` features of a row.
  template <int Count>
  static __device__ __forceinline__ void finish(const Args& args, const LeftRow& left, int feature) {
    const auto& epilogue = args.epilogue;
    const EdgeSplit& split = args.split;
    Acc value[Count];
    EdgeId place[Count];
    unite_parts<Kind, Count>(args, left, feature, value, place);
    if constexpr (Kind != Reduction::sum) {
#pragma unroll
      for (int j = 0; j < Count; ++j) value[j] = left.parts == 0 ? Acc(0) : epilogue.negated ? -value[j] : value[j];
      if constexpr (Kind == Reduction::winner)
        store_winners<Count>(epilogue, split, args.features, left.row, feature, [&](int j) {
          return place[j] != no_edge || left.parts == 0 ? place[j] : __ldg(split.starts + left.row);
        });
    }
    if (epilogue.none) {
      store_row<Count>(epilogue, left.row, feature, value);
    } else {
      const EdgeId* const offsets = split.graph.offsets + left.row;
      apply_epilogue<Count>(epilogue, left.row, epilogue.mean ? __ldg(offsets + 1) - __ldg(offsets) : 1, feature,
                            value);
    }
  }
};

/// A block looks through its rows, lists those the tasks left, and its groups of 2^lanes_log2 threads then take them
/// one by one; which group takes which changes nothing.
template <class Rows, int Count>
__global__ void __launch_bounds__(block_threads, 4)
    fix_up_rows(const typename Rows::Args args, int rows_a_block, int lanes_log2) {
  __shared__ int listed;
  __shared__ LeftRow list[most_fixed_rows];
  const EdgeSplit& split = args.split;
  const GraphView& g = split.graph;
  const std::int64_t base = std::int64_t{blockIdx.x} * rows_a_block;
  if (threadIdx.x == 0) listed = 0;
  __syncthreads();
  unsigned whole = 0;  // bit n: the tasks wrote this thread's n-th row
  for (int i = threadIdx.x, n = 0; i < rows_a_block && base + i < g.num_rows; i += block_threads, ++n) {
    const EdgeId degree = __ldg(g.offsets + base + i + 1) - __ldg(g.offsets + base + i);
    const CutRow cut = CutRow::of(split, base + i, degree);
    if (degree == 0 || cut.parts > 0) {
      list[atomicAdd(&listed, 1)] = {cut, static_cast<std::int32_t>(base + i)};
    } else {
      whole |= 1u << n;
    }
  }
  Rows::begin(args, base, rows_a_block);
  __syncthreads();
  wait_for_tasks();
  if constexpr (Rows::looks_again) {
    for (int i = threadIdx.x; whole != 0; i += block_threads, whole >>= 1)
      if ((whole & 1u) != 0 && !Rows::usable(args, base + i))
        list[atomicAdd(&listed, 1)] = {{0, LeftRow::again}, static_cast<std::int32_t>(base + i)};
    __syncthreads();
  }
  const int lane = threadIdx.x & ((1 << lanes_log2) - 1);
  for (int i = threadIdx.x >> lanes_log2; i < listed; i += block_threads >> lanes_log2) {
    const LeftRow left = list[i];
    for (int feature = lane * Count; feature < args.features; feature += Count << lanes_log2)
      Rows::template finish<Count>(args, left, feature);
  }
}

}  // namespace weft::cuda
