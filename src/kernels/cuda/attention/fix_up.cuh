// How the fix-up finishes rows of attention and of its backward.
#pragma once

#include "kernels/cuda/attention/redo_row.cuh"
#include "kernels/cuda/gather/fix_up.cuh"

namespace weft::cuda {

/// `Count` features of a left row, and what its head has beside them; zeros of a row without edges.
template <int Count, class Storage, class Acc = AccumulatorOf<Storage>>
__device__ __forceinline__ void unite_head(const GatherCommon<Storage>& args, const LeftRow& left, int feature,
                                           int head, Acc (&value)[Count], Acc (&total)[1]) {
  EdgeId unused[Count];
  if (left.parts <= 0) return;
  unite_parts<Reduction::sum, 1>(args, left, args.features + head, total, reinterpret_cast<EdgeId(&)[1]>(unused));
  unite_parts<Reduction::sum, Count>(args, left, feature, value, unused);
}

/// Attention of any score; scores from vectors have the same arguments.
template <class StorageOf>
struct AttentionRows {
  using Storage = StorageOf;
  using Acc = AccumulatorOf<Storage>;
  using Args = GatherArgs<Gat<Storage>>;
  static constexpr bool looks_again = true;

  /// Writes what the weights of rows are relative to. Scores from vectors have their reference from the tasks.
  static __device__ __forceinline__ void begin(const Args& args, std::int64_t base, int rows_a_block) {
    const ScoreArgs<Storage>& message = args.message;
    const GraphView& g = args.split.graph;
    const GatScores<Storage> scores{message, args.split};
    if (g.num_edges == 0 || message.score != Score::gat) return;  // there may be no source
    for (int h = 0; h < message.heads; ++h) {
      const Acc typical = scores.typical(h);
      for (int i = threadIdx.x; i < rows_a_block && base + i < g.num_rows; i += block_threads)
        message.row_max[(base + i) * message.max_pitch + h] =
            scores.reference(typical, widen(scores.destination(static_cast<std::uint32_t>(base + i), h)));
    }
  }
  /// Whether all sums of weights are usable that the tasks wrote for a row.
  static __device__ __forceinline__ bool usable(const Args& args, std::int64_t row) {
    const ScoreArgs<Storage>& message = args.message;
    bool all = true;
    for (int h = 0; h < message.heads; ++h)
      all = all && cuda::usable(__ldcg(message.row_sum + row * message.sum_pitch + h) * message.margin);
    return all;
  }
  template <int Count>
  static __device__ __forceinline__ void finish(const Args& args, const LeftRow& left, int feature) {
    const ScoreArgs<Storage>& message = args.message;
    const int head = feature / message.width;
    Acc value[Count] = {}, total[1] = {};
    unite_head<Count>(args, left, feature, head, value, total);
    if (left.parts != 0 && !cuda::usable(total[0])) return redo_row<Count>(args, left.row, feature);
#pragma unroll
    for (int i = 0; i < Count; ++i) value[i] = left.parts > 0 ? value[i] / total[0] * message.kept : Acc(0);
    store_row<Count>(args.epilogue, left.row, feature, value);
    if (head * message.width != feature) return;
    message.row_sum[left.row * message.sum_pitch + head] = total[0] * message.per_margin;
    if (left.parts == 0) message.row_max[left.row * message.max_pitch + head] = -Acc(INFINITY);
  }
};

template <class StorageOf>
struct AttentionBackwardRows {
  using Storage = StorageOf;
  using Acc = AccumulatorOf<Storage>;
  using Args = GatherArgs<GatBackward<Storage>>;
  static constexpr bool looks_again = false;

  static __device__ __forceinline__ void begin(const Args&, std::int64_t, int) {}
  template <int Count>
  static __device__ __forceinline__ void finish(const Args& args, const LeftRow& left, int feature) {
    const auto& message = args.message;
    const int head = feature / message.width;
    Acc value[Count] = {}, total[1] = {};
    unite_head<Count>(args, left, feature, head, value, total);
    store_row<Count>(args.epilogue, left.row, feature, value);
    if (head * message.width == feature)
      store_once(message.src_grad, message.src_grad_wide, left.row * message.src_grad_pitch + head, total[0]);
  }
};

}  // namespace weft::cuda
