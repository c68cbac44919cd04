// From the arguments of attention to launches: which shape of loads, which share of the edges.
#include <algorithm>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/attention/launch.hpp"
#include "kernels/cuda/gather/common.hpp"
#include "kernels/cuda/sample.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "plan/cuda/select.hpp"

namespace weft::cuda {
namespace {

/// What the vectors of scores leave of `most` elements a load.
template <class Storage>
int pack_of_vectors(const AttentionArgs& given, const ScoreArgs<Storage>& scores, int most) {
  const auto also = [&](const Storage* data, std::int64_t pitch, std::int64_t head) {
    most = std::min(most, aligned_elements(data, pitch));
    if (given.heads > 1) most = std::min(most, aligned_elements(data, head));
  };
  also(scores.src, given.src.row_stride, scores.src_head);
  also(scores.dst, given.dst.row_stride, scores.dst_head);
  if (scores.attn != nullptr) also(scores.attn, 0, scores.attn_head);
  return most;
}

template <class Storage>
void run(const AttentionArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  using Acc = AccumulatorOf<Storage>;
  GatherArgs<Gat<Storage>> args{
      gather_common<Storage>(plan, given.graph, arena, given.heads * given.width, given.value, "value"), {}};
  args.epilogue = plain_epilogue<Storage>(given.out, "out");
  ScoreArgs<Storage>& scores = args.message;
  scores.heads = static_cast<int>(given.heads);
  scores.width = static_cast<int>(given.width);
  scores.x_head = given.value.head_stride;
  scores.src = static_cast<const Storage*>(given.src.data);
  scores.src_pitch_bytes = pitch_bytes<Storage>("src", given.src.row_stride);
  scores.src_head = given.src.head_stride;
  scores.dst = static_cast<const Storage*>(given.dst.data);
  scores.dst_pitch_bytes = pitch_bytes<Storage>("dst", given.dst.row_stride);
  scores.dst_head = given.dst.head_stride;
  if (given.bias.given()) {
    scores.bias = maybe_wide<Storage>(given.bias.data, given.bias.dtype);
    scores.bias_pitch = given.bias.row_stride;
    scores.bias_head = given.bias.head_stride;
  }
  scores.slope = static_cast<Acc>(given.slope);
  scores.score = given.score;
  scores.score_width = static_cast<int>(given.score_width);
  scores.attn = static_cast<const Storage*>(given.attn.data);
  scores.attn_head = given.attn.head_stride;
  scores.scale = static_cast<Acc>(given.scale);
  // Scores may lie 20 above the reference and 27 below, or the other way round where it is of the row's own.
  scores.margin = static_cast<Acc>(given.score == Score::gat ? 0x1p-30 : 0x1p-40);
  scores.per_margin = 1 / scores.margin;
  scores.dropout = given.dropout;
  scores.kept = static_cast<Acc>(given.dropout.scale());
  scores.row_max = static_cast<Acc*>(given.row_max.data);
  scores.max_pitch = given.row_max.row_stride;
  scores.row_sum = static_cast<Acc*>(given.row_sum.data);
  scores.sum_pitch = given.row_sum.row_stride;

  // Packs do not reach across heads, and every array they move must allow them.
  int most = std::min(aligned_elements(args.epilogue.out, args.epilogue.wide, given.out.row_stride),
                      aligned_elements(args.x, given.value.row_stride));
  if (given.heads > 1) most = std::min(most, aligned_elements(args.x, scores.x_head));
  const Dtype dtype = plan.desc.dtype;
  const bool by_vectors = given.score != Score::gat;
  const HeadedSelection selected =
      by_vectors ? select_vector_scored(dtype, given.heads, given.width, given.score_width,
                                        pack_of_vectors<Storage>(given, scores, most))
                 : select_gat(KernelMessage::gat, dtype, given.heads, given.width, std::min(most, plan.cuda().vector));
  const Kernel& kernel = selected.kernel;
  scores.head_lanes = selected.head_lanes;
  if (args.split.tasks > 0) {
    if (by_vectors)
      launch_by_heads(GatherArgs<VectorScored<Storage>>{args, args.message}, kernel.shape, kernel.heads, stream);
    else
      launch_by_heads(args, kernel.shape, kernel.heads, stream);
  }
  if (plan.cuda().finish_pass) launch_attention_fix_up(args, selected.row, stream);
}

}  // namespace

void attention_forward(const AttentionArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  const std::int64_t features = given.heads * given.width;
  WEFT_CHECK(given.width > 0, unsupported, "value has no features: expected at least one on CUDA; use the cpu device");
  WEFT_CHECK(features < (std::int64_t{1} << 22), unsupported, "value has {} features a row: expected fewer than 2^22",
             features);
  if (features == 0 || given.graph.num_rows == 0) return;
  const OnDevice on(plan.device.index);
  const AttentionArgs args = with_sample_drawn(given, plan, arena, stream);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) { run<Storage>(args, plan, arena, stream); });
}

}  // namespace weft::cuda
