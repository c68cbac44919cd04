// From the arguments of attention to launches: which shape of loads, which share of the edges.
#include <algorithm>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/attention/launch.hpp"
#include "kernels/cuda/attention/score_args.hpp"
#include "kernels/cuda/gather/common.hpp"
#include "kernels/cuda/sample.hpp"
#include "kernels/cuda/windows/launch.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "plan/cuda/select.hpp"

namespace weft::cuda {
namespace {

/// What the vectors of scores leave of `most` elements per load.
template <class Storage>
int pack_of_vectors(const AttentionArgs& given, const ScoreArgs<Storage>& scores, int most) {
  const auto also = [&](const Storage* data, std::int64_t pitch, std::int64_t head) {
    most = std::min(most, aligned_elements(data, pitch));
    if (given.heads > 1) most = std::min(most, aligned_elements(data, head));
  };
  also(scores.src, given.src.row_stride, scores.src_head);
  also(scores.dst, given.dst.row_stride, scores.dst_head);
  if (scores.edge != nullptr) also(scores.edge, scores.edge_pitch, scores.edge_head);
  if (scores.attn != nullptr) also(scores.attn, 0, scores.attn_head);
  return most;
}

template <class Storage>
void run(const AttentionArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  GatherArgs<Gat<Storage>> args{
      gather_common<Storage>(plan, given.graph, arena, given.heads * given.width, given.value, "value"),
      score_args<Storage>(given)};
  args.epilogue = plain_epilogue<Storage>(given.out, "out");
  ScoreArgs<Storage>& scores = args.message;

  // Packs do not reach across heads, and every array they move must allow them.
  int most = std::min(aligned_elements(args.epilogue.out, args.epilogue.wide, given.out.row_stride),
                      aligned_elements(args.x, given.value.row_stride));
  if (given.heads > 1) most = std::min(most, aligned_elements(args.x, scores.x_head));
  const Dtype dtype = plan.desc.dtype;
  const bool by_vectors = given.score != Score::gat;
  const HeadedSelection selected =
      by_vectors ? select_vector_scored(dtype, given.heads, given.width, given.score_width,
                                        pack_of_vectors<Storage>(given, scores, most), given.edge.given())
                 : select_gat(KernelMessage::gat, dtype, given.heads, given.width, std::min(most, plan.cuda().vector));
  const Kernel& kernel = selected.kernel;
  scores.head_lanes = selected.head_lanes;
  if (args.split.tasks > 0) {
    const auto launch = [&](const auto& of_message) {
      launch_by_heads(of_message, kernel.shape, kernel.heads, stream);
    };
    if (!by_vectors)
      launch(args);
    else if (given.edge.given())
      launch(GatherArgs<VectorScoredEdges<Storage>>{args, args.message});
    else
      launch(GatherArgs<VectorScored<Storage>>{args, args.message});
  }
  if (plan.cuda().finish_pass) launch_attention_fix_up(args, selected.row, stream);
}

}  // namespace

void attention_forward(const AttentionArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  const std::int64_t features = given.heads * given.width;
  WEFT_CHECK(given.width > 0, unsupported, "value has no features: expected at least one on CUDA; use the cpu device");
  WEFT_CHECK(features < (std::int64_t{1} << 22), unsupported, "value has {} features per row: expected fewer than 2^22",
             features);
  if (features == 0 || given.graph.num_rows == 0) return;
  const OnDevice on(plan.device.index);
  if (plan.cuda().core == Core::tensor) return attention_by_windows(given, plan, arena, stream);
  const AttentionArgs args = with_sample_drawn(given, plan, arena, stream);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) { run<Storage>(args, plan, arena, stream); });
}

}  // namespace weft::cuda
