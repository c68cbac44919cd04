// From the arguments of attention to launches: which shape of loads, which share of the edges.
#include <algorithm>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/pitch.hpp"
#include "kernels/cuda/schedule/plan_split.hpp"
#include "kernels/cuda/spmm/spmm_launch.hpp"
#include "kernels/signatures.hpp"
#include "plan/cuda/scratch.hpp"

namespace weft::cuda {
namespace {

/// `most` elements a load is what value and out allow; these kernels take 16 bytes (of halves 8) or one, whatever the
/// plan's are.
template <class Storage>
void launch_by_vectors(const AttentionArgs& given, const SpmmKernelArgs<Storage>& args, const Plan& plan, int most,
                       CUstream_st* stream) {
  const AttendedArgs<Storage>& attended = args.attended;
  const auto also = [&](const Storage* data, std::int64_t pitch, std::int64_t head) {
    most = std::min(most, aligned_elements(data, pitch));
    if (given.heads > 1) most = std::min(most, aligned_elements(data, head));
  };
  also(attended.src, given.src.row_stride, attended.src_head);
  also(attended.dst, given.dst.row_stride, attended.dst_head);
  if (attended.attn != nullptr) also(attended.attn, 0, attended.attn_head);
  const auto shape_of = [&](int vector) {
    return gather_shape_of_heads(given.heads, given.width, sizeof(Storage), vector);
  };
  constexpr int widest = few_shapes_vector<Storage>;
  GatherShape shape = shape_of(most >= widest && given.width % widest == 0 ? widest : 1);
  // Lanes that hold a head's features of value share its scores out where these come from as many.
  const auto shares = [&] {
    return given.score_width == given.width && heads_lie_evenly(given.heads, given.width, shape);
  };
  bool shared = shares();
  if (!shared) {
    shape = shape_of(1);
    shared = shares();
  }
  if (args.split.tasks > 0) launch_scored(args, shape, shared, stream);
  if (plan.finish_pass) launch_finish<Storage, Reduction::sum, FinishKind::attended>(args, shape, stream);
}

template <class Storage>
void run(const AttentionArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  using Acc = AccumulatorOf<Storage>;
  SpmmKernelArgs<Storage> args;
  args.split = edge_split_of(plan, given.graph);
  const auto staged = StagedRows<Acc>::take(arena, plan);
  args.staging.values = staged.values.data();
  args.staging.pitch = staged_pitch(plan.desc);
  args.width = static_cast<int>(given.width);
  args.features = static_cast<int>(given.heads * given.width);
  args.x = static_cast<const Storage*>(given.value.data);
  args.x_pitch_bytes = pitch_bytes<Storage>("value", given.value.row_stride);
  args.x_head = given.value.head_stride;
  args.finish.out = static_cast<Storage*>(given.out.data);
  args.finish.wide = is_wide<Storage>(given.out.dtype);
  args.finish.pitch_bytes = args.finish.wide ? pitch_bytes<Acc>("out", given.out.row_stride)
                                             : pitch_bytes<Storage>("out", given.out.row_stride);
  args.finish.as_it_is = args.finish.light = true;
  AttendedArgs<Storage>& attended = args.attended;
  attended.heads = static_cast<int>(given.heads);
  attended.src = static_cast<const Storage*>(given.src.data);
  attended.src_pitch_bytes = pitch_bytes<Storage>("src", given.src.row_stride);
  attended.src_head = given.src.head_stride;
  attended.dst = static_cast<const Storage*>(given.dst.data);
  attended.dst_pitch_bytes = pitch_bytes<Storage>("dst", given.dst.row_stride);
  attended.dst_head = given.dst.head_stride;
  if (given.bias.given()) {
    attended.bias = maybe_wide<Storage>(given.bias.data, given.bias.dtype);
    attended.bias_pitch = given.bias.row_stride;
    attended.bias_head = given.bias.head_stride;
  }
  attended.slope = static_cast<Acc>(given.slope);
  attended.score = given.score;
  attended.score_width = static_cast<int>(given.score_width);
  attended.attn = static_cast<const Storage*>(given.attn.data);
  attended.attn_head = given.attn.head_stride;
  attended.scale = static_cast<Acc>(given.scale);
  // Scores may lie 20 above the reference and 27 below, or the other way round where it is of the row's own.
  attended.margin = static_cast<Acc>(given.score == Score::gat ? 0x1p-30 : 0x1p-40);
  attended.per_margin = 1 / attended.margin;
  attended.dropout = given.dropout;
  attended.kept = static_cast<Acc>(given.dropout.scale());
  attended.row_max = static_cast<Acc*>(given.row_max.data);
  attended.max_pitch = given.row_max.row_stride;
  attended.row_sum = static_cast<Acc*>(given.row_sum.data);
  attended.sum_pitch = given.row_sum.row_stride;

  // Packs do not reach across heads, and every array they move must allow them.
  int most = std::min(aligned_elements(args.finish.out, args.finish.wide, given.out.row_stride),
                      aligned_elements(args.x, given.value.row_stride));
  if (given.heads > 1) most = std::min(most, aligned_elements(args.x, args.x_head));
  if (given.score != Score::gat) return launch_by_vectors(given, args, plan, most, stream);
  const GatherShape shape =
      gather_shape_of_heads(given.heads, given.width, sizeof(Storage), std::min(most, plan.vector));
  if (args.split.tasks > 0) launch_attended(args, shape, stream);
  if (plan.finish_pass) launch_finish<Storage, Reduction::sum, FinishKind::attended>(args, shape, stream);
}

}  // namespace

void attention_forward(const AttentionArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  const std::int64_t features = args.heads * args.width;
  WEFT_CHECK(args.width > 0, unsupported, "value has no features: expected at least one on CUDA; use the cpu device");
  WEFT_CHECK(features < (std::int64_t{1} << 22), unsupported, "value has {} features a row: expected fewer than 2^22",
             features);
  if (features == 0 || args.graph.num_rows == 0) return;
  const OnDevice on(plan.device.index);
  switch (plan.desc.dtype) {
    case Dtype::f16: return run<__half>(args, plan, arena, stream);
    case Dtype::bf16: return run<__nv_bfloat16>(args, plan, arena, stream);
    case Dtype::f64: return run<double>(args, plan, arena, stream);
    default: run<float>(args, plan, arena, stream);
  }
}

}  // namespace weft::cuda
