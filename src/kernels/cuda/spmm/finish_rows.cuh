// The second kernel: rows without edges, and rows that task borders have cut.
#pragma once

#include "kernels/cuda/spmm/redo_row.cuh"
#include "kernels/cuda/spmm/row_finish.cuh"
#include "plan/gather_shape.hpp"

namespace weft::cuda {

/// A row that the tasks left: without edges, or in parts from task `first` on. In attention also one whose sum of
/// weights is not usable (`again`).
struct LeftRow {
  std::int64_t first;
  std::int32_t row;
  std::int32_t parts;
  static constexpr std::int32_t again = -1;
};

/// Unites the staged parts of a row, `Count` features a lane; few additions follow one another, as in RowState. `place`
/// says which edge won.
template <Reduction Kind, int Count, class Storage, class Acc = AccumulatorOf<Storage>>
__device__ __forceinline__ void unite_parts(const SpmmKernelArgs<Storage>& args, const LeftRow& left, int feature,
                                            Acc (&value)[Count], EdgeId (&place)[Count]) {
  using Part = Pack<Acc, Count>;
  constexpr int flight = Kind == Reduction::winner ? 4 : 8;
  // The row's first task staged it as the one that runs on, the others as the one that began before.
  const std::int64_t base = (2 * left.first + 1) * args.staging.pitch + feature;
  const auto pitch = static_cast<std::uint32_t>(args.staging.pitch);  // fewer than 2^22 features
  const auto slot = [&](auto* array, int part) {
    const auto* const from = array + base;
    const auto steps = part == 0 ? 0u : 2 * static_cast<std::uint32_t>(part) - 1;
    return row_at(from, steps, pitch * static_cast<std::uint32_t>(sizeof(*from)));
  };
  Acc far[Count] = {};
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    value[i] = Kind == Reduction::sum ? Acc(0) : -Acc(INFINITY);
    place[i] = no_edge;
  }
  // Most rows have fewer parts than are loaded together: those that are missing count as nothing.
  for (int part = 0; part < left.parts; part += flight) {
    const int here = min(left.parts - part, flight);
    Part p[flight];
    Pack<std::int32_t, Count> places[Kind == Reduction::winner ? flight : 1];
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      p[u] = Part::all(Kind == Reduction::sum ? Acc(0) : -Acc(INFINITY));
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
          if (u >= here || p[u].values[i] <= value[i] || value[i] != value[i]) continue;
          value[i] = p[u].values[i];
          if constexpr (Kind == Reduction::winner)
            place[i] = (left.first + part + u) * args.split.size + places[u].values[i];
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

/// Rows a block of finish_rows may look through.
inline constexpr int most_finished_rows = 1024;

/// Attention: what the weights of `rows_a_block` rows from `base` on are relative to.
template <class Storage>
__device__ __forceinline__ void write_references(const SpmmKernelArgs<Storage>& args, std::int64_t base,
                                                 int rows_a_block) {
  using Acc = AccumulatorOf<Storage>;
  const AttendedArgs<Storage>& attended = args.attended;
  const GraphView& g = args.split.graph;
  const GatScores<Storage> scores{attended, args.split};
  // There may be no source, and scores from vectors have their reference from the tasks.
  if (g.num_edges == 0 || attended.score != Score::gat) return;
  for (int h = 0; h < attended.heads; ++h) {
    const Acc typical = scores.typical(h);
    for (int i = threadIdx.x; i < rows_a_block && base + i < g.num_rows; i += block_threads)
      attended.row_max[(base + i) * attended.max_pitch + h] =
          scores.reference(typical, widened(scores.destination(static_cast<std::uint32_t>(base + i), h)));
  }
}
/// Whether all sums of weights are usable that the tasks wrote for a row.
template <class Storage>
__device__ __forceinline__ bool all_usable(const SpmmKernelArgs<Storage>& args, std::int64_t row) {
  bool all = true;
  for (int h = 0; h < args.attended.heads; ++h)
    all = all && usable(__ldcg(args.attended.row_sum + row * args.attended.sum_pitch + h) * args.attended.margin);
  return all;
}

/// `Count` features of a row of attention that tasks left.
template <int Count, class Storage, class Acc = AccumulatorOf<Storage>>
__device__ __forceinline__ void finish_attended(const SpmmKernelArgs<Storage>& args, const LeftRow& left, int feature) {
  const AttendedArgs<Storage>& attended = args.attended;
  const int head = feature / args.width;
  const bool leads = head * args.width == feature;
  Acc value[Count] = {}, total[1] = {};
  EdgeId unused[Count];
  Acc& row_sum = attended.row_sum[left.row * attended.sum_pitch + head];
  if (left.parts > 0) {
    unite_parts<Reduction::sum, 1>(args, left, args.features + head, total, reinterpret_cast<EdgeId(&)[1]>(unused));
    unite_parts<Reduction::sum, Count>(args, left, feature, value, unused);
  }
  if (left.parts != 0 && !usable(total[0])) return redo_row<Count>(args, left.row, feature);
#pragma unroll
  for (int i = 0; i < Count; ++i) value[i] = left.parts > 0 ? value[i] / total[0] * attended.kept : Acc(0);
  write_plain<Count>(args.finish, left.row, feature, value);
  if (!leads) return;
  row_sum = total[0] * attended.per_margin;
  if (left.parts == 0) attended.row_max[left.row * attended.max_pitch + head] = -Acc(INFINITY);
}

/// `Count` features of a row of attention's gradients that tasks left.
template <int Count, class Storage, class Acc = AccumulatorOf<Storage>>
__device__ __forceinline__ void finish_returned(const SpmmKernelArgs<Storage>& args, const LeftRow& left, int feature) {
  const int head = feature / args.width;
  Acc value[Count] = {}, total[1] = {};
  EdgeId unused[Count];
  if (left.parts > 0) {
    unite_parts<Reduction::sum, 1>(args, left, args.features + head, total, reinterpret_cast<EdgeId(&)[1]>(unused));
    unite_parts<Reduction::sum, Count>(args, left, feature, value, unused);
  }
  write_plain<Count>(args.finish, left.row, feature, value);
  if (head * args.width == feature)
    args.returned.src_grad[left.row * args.returned.src_grad_pitch + head] = static_cast<Storage>(total[0]);
}

/// A block looks through its rows, lists those the tasks left, and its groups of `Lanes` threads then take them one by
/// one; which group takes which changes nothing.
template <class Storage, int Count, int Lanes, Reduction Kind, FinishKind Finish>
__global__ void __launch_bounds__(block_threads, 4) finish_rows(const SpmmKernelArgs<Storage> args, int rows_a_block) {
  using Acc = AccumulatorOf<Storage>;
  __shared__ int listed;
  __shared__ LeftRow list[most_finished_rows];
  const EdgeSplit& split = args.split;
  const GraphView& g = split.graph;
  const std::int64_t base = std::int64_t{blockIdx.x} * rows_a_block;
  const auto degree_of = [&](std::int64_t row) { return __ldg(g.offsets + row + 1) - __ldg(g.offsets + row); };
  const auto left_of = [&](std::int64_t row) {
    const EdgeId degree = degree_of(row);
    LeftRow left{0, static_cast<std::int32_t>(row), 0};
    if (!split.cuts || degree <= split.whole_row) return left;
    const EdgeId begin = __ldg(split.starts + row);
    left.first = split.task_of(begin);
    const std::int64_t parts = split.task_of(begin + degree - 1) - left.first + 1;
    if (parts > 1) left.parts = static_cast<std::int32_t>(parts);
    return left;
  };
  if (threadIdx.x == 0) listed = 0;
  __syncthreads();
  unsigned whole = 0;  // bit n: the tasks wrote this thread's n-th row
  for (int i = threadIdx.x, n = 0; i < rows_a_block && base + i < g.num_rows; i += block_threads, ++n) {
    const LeftRow left = left_of(base + i);
    if (degree_of(base + i) == 0 || left.parts > 0) {
      list[atomicAdd(&listed, 1)] = left;
    } else {
      whole |= 1u << n;
    }
  }
  if constexpr (Finish == FinishKind::attended) write_references(args, base, rows_a_block);
  __syncthreads();
  wait_for_tasks();
  if constexpr (Finish == FinishKind::attended) {
    for (int i = threadIdx.x; whole != 0; i += block_threads, whole >>= 1)
      if ((whole & 1u) != 0 && !all_usable(args, base + i))
        list[atomicAdd(&listed, 1)] = {0, static_cast<std::int32_t>(base + i), LeftRow::again};
    __syncthreads();
  }
  for (int i = threadIdx.x / Lanes; i < listed; i += block_threads / Lanes) {
    const LeftRow left = list[i];
    for (int feature = threadIdx.x % Lanes * Count; feature < args.features; feature += Lanes * Count) {
      if constexpr (Finish == FinishKind::attended) {
        finish_attended<Count>(args, left, feature);
        continue;
      }
      if constexpr (Finish == FinishKind::returned) {
        finish_returned<Count>(args, left, feature);
        continue;
      }
      Acc value[Count];
      EdgeId place[Count];
      unite_parts<Kind, Count>(args, left, feature, value, place);
      if constexpr (Kind != Reduction::sum) {
#pragma unroll
        for (int j = 0; j < Count; ++j)
          value[j] = left.parts == 0 ? Acc(0) : args.finish.negated ? -value[j] : value[j];
        if constexpr (Kind == Reduction::winner)
          write_winners<Count>(args.finish, split, args.features, left.row, feature, [&](int j) {
            return place[j] != no_edge || left.parts == 0 ? place[j] : __ldg(split.starts + left.row);
          });
      }
      if (args.finish.as_it_is) {
        write_plain<Count>(args.finish, left.row, feature, value);
      } else {
        write_finished<Count>(args.finish, left.row, args.finish.mean ? degree_of(left.row) : 1, feature, value);
      }
    }
  }
}

}  // namespace weft::cuda
