// A row of attention whose scores lie too far apart for one reference (see head_weights.cuh): the largest score so far
// is carried along instead, and sums are scaled down where a larger one comes.
#pragma once

#include "kernels/cuda/primitives/store_pack.cuh"
#include "kernels/cuda/spmm/head_weights.cuh"

namespace weft::cuda {

/// `Count` features of one head, by one thread: rare, and right for any scores.
template <int Count, class Storage>
__device__ __forceinline__ void redo_row(const SpmmKernelArgs<Storage>& args, std::int64_t row, int feature) {
  using Acc = AccumulatorOf<Storage>;
  const AttendedArgs<Storage>& attended = args.attended;
  const GraphView& g = args.split.graph;
  const GatScores<Storage> scores{attended, args.split};
  const int head = feature / args.width;
  const Storage* const x = args.x + head * args.x_head + (feature - head * args.width);
  const Acc dst = widened(scores.destination(static_cast<std::uint32_t>(row), head));
  const EdgeId begin = __ldg(args.split.starts + row), degree = __ldg(g.offsets + row + 1) - __ldg(g.offsets + row);
  SoftmaxPart<Acc> part = SoftmaxPart<Acc>::none();
  Acc total_rest = 0, sum[Count] = {}, rest[Count] = {};
  for (EdgeId k = begin; k < begin + degree; ++k) {
    const auto col = static_cast<std::uint32_t>(__ldg(g.cols + k));
    const Acc score = scores.score(widened(scores.source(col, head)), dst, k, head);
    const Acc top = larger(part.top, score);
    if (top == -Acc(INFINITY)) continue;  // masked, as all before it
    if (top != part.top) {
      const Acc factor = rescale(part.top, top);
      part = {top, part.total * factor};
      total_rest *= factor;
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        sum[i] *= factor;
        rest[i] *= factor;
      }
    }
    const Acc w = exponential(score - top);
    total_rest += w;
    if (!settle(part.total, total_rest)) drop_rest(total_rest);
    const auto values = Pack<Storage, Count>::load(row_at(x, col, args.x_pitch_bytes));
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      rest[i] += w * widened(values.values[i]);
      if (!settle(sum[i], rest[i])) drop_rest(rest[i]);
    }
  }
  Acc value[Count];
#pragma unroll
  for (int i = 0; i < Count; ++i) value[i] = part.total == 0 ? Acc(0) : sum[i] / part.total;
  store_pack<Count>(args.finish.out, args.finish.wide, value, [&](auto* out) {
    return row_at(out + feature, static_cast<std::uint32_t>(row), args.finish.pitch_bytes);
  });
  if (head * args.width != feature) return;
  attended.row_max[row * attended.max_pitch + head] = part.top;
  attended.row_sum[row * attended.sum_pitch + head] = part.total;
}

}  // namespace weft::cuda
