// A row of attention whose scores lie too far apart for one reference (see gat.cuh): its largest score is
// found first.
#pragma once

#include "kernels/cuda/attention/vector_scores.cuh"

namespace weft::cuda {

/// `Count` features of one head, by one thread: rare, and right for any scores.
template <int Count, class Storage>
__device__ __forceinline__ void redo_row(const GatherArgs<Gat<Storage>>& args, std::int64_t row, int feature) {
  using Acc = AccumulatorOf<Storage>;
  const ScoreArgs<Storage>& scores = args.message;
  const GraphView& g = args.split.graph;
  const GatScores<Storage> of_sums{scores, args.split};
  const VectorScores<Storage> of_vectors{scores, args.split};
  const int head = feature / scores.width;
  const Storage* const x = args.x + head * scores.x_head + (feature - head * scores.width);
  const auto to = static_cast<std::uint32_t>(row);
  const Acc dst = scores.score == Score::gat ? widen(of_sums.destination(to, head)) : Acc(0);
  const EdgeId begin = __ldg(args.split.starts + row), degree = __ldg(g.offsets + row + 1) - __ldg(g.offsets + row);
  const auto score_of = [&](EdgeId k) {
    const auto from = static_cast<std::uint32_t>(__ldg(g.cols + k));
    if (scores.score == Score::gat) return of_sums.score(widen(of_sums.source(from, head)), dst, k, head);
    const Acc sum = scores.edge != nullptr ? of_vectors.template sum_of<true>(from, to, k, head)
                                           : of_vectors.template sum_of<false>(from, to, k, head);
    return of_vectors.with_bias(of_vectors.unbiased(sum), k, head);
  };
  Acc top = -Acc(INFINITY);
#pragma unroll 8
  for (EdgeId k = begin; k < begin + degree; ++k) top = larger(top, score_of(k));
  Acc total = 0, total_rest = 0, sum[Count] = {}, rest[Count] = {};
  // Of a row that is masked as a whole nothing is added up.
#pragma unroll 4
  for (EdgeId k = begin; k < (top == -Acc(INFINITY) ? begin : begin + degree); ++k) {
    const auto values =
        Pack<Storage, Count>::load(row_at(x, static_cast<std::uint32_t>(__ldg(g.cols + k)), args.x_pitch_bytes));
    const Acc w = exponential(score_of(k) - top);
    total_rest += w;
    const bool dropped = scores.dropout.given() && scores.dropout.drops(args.split.id_of(k), head);
    const Acc kept = dropped ? Acc(0) : w * scores.kept;
    if (!settle(total, total_rest)) drop_rest(total_rest);
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      rest[i] += kept * widen(values.values[i]);
      if (!settle(sum[i], rest[i])) drop_rest(rest[i]);
    }
  }
  Acc value[Count];
#pragma unroll
  for (int i = 0; i < Count; ++i) value[i] = total == 0 ? Acc(0) : sum[i] / total;
  store_row<Count>(args.epilogue, row, feature, value);
  if (head * scores.width != feature) return;
  scores.row_max[row * scores.max_pitch + head] = top;
  scores.row_sum[row * scores.sum_pitch + head] = total;
}

}  // namespace weft::cuda
