// From the arguments of attention to launches: which shape of loads, which share of the edges.
#include <algorithm>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/attention/attention_launch.hpp"
#include "kernels/cuda/pitch.hpp"
#include "kernels/cuda/schedule/plan_split.hpp"
#include "kernels/signatures.hpp"
#include "plan/cuda/scratch.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft::cuda {
namespace {

template <class Storage>
void run(const AttentionArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  using Acc = AccumulatorOf<Storage>;
  const auto scratch = AttentionSlots<Acc>::take(arena, plan);
  AttentionKernelArgs<Storage> args;
  args.split = edge_split_of(plan, given.graph);
  args.heads = static_cast<int>(given.heads);
  args.width = static_cast<int>(given.width);
  args.features = args.heads * args.width;
  args.value = static_cast<const Storage*>(given.value.data);
  args.value_pitch_bytes = pitch_bytes<Storage>("value", given.value.row_stride);
  args.value_head = given.value.head_stride;
  args.src = static_cast<const Storage*>(given.src.data);
  args.src_pitch_bytes = pitch_bytes<Storage>("src", given.src.row_stride);
  args.src_head = given.src.head_stride;
  args.dst = static_cast<const Storage*>(given.dst.data);
  args.dst_pitch_bytes = pitch_bytes<Storage>("dst", given.dst.row_stride);
  args.dst_head = given.dst.head_stride;
  if (given.bias.given()) {
    args.bias = maybe_wide<Storage>(given.bias.data, given.bias.dtype);
    args.bias_pitch = given.bias.row_stride;
    args.bias_head = given.bias.head_stride;
  }
  args.slope = static_cast<Acc>(given.slope);
  args.out = static_cast<Storage*>(given.out.data);
  args.out_pitch_bytes = pitch_bytes<Storage>("out", given.out.row_stride);
  args.row_max = static_cast<Acc*>(given.row_max.data);
  args.max_pitch = given.row_max.row_stride;
  args.row_sum = static_cast<Acc*>(given.row_sum.data);
  args.sum_pitch = given.row_sum.row_stride;
  args.slot_sums = scratch.sums.data();
  args.slot_parts = reinterpret_cast<SoftmaxPart<Acc>*>(scratch.parts.data());

  // Packs do not reach across heads, and every array they move must allow them.
  int most = std::min(aligned_elements(args.out, given.out.row_stride), plan.vector);
  most = std::min(most, aligned_elements(args.value, given.value.row_stride));
  if (args.heads > 1) most = std::min(most, aligned_elements(args.value, args.value_head));
  if (sizeof(Storage) == 2) most = std::min(most, tuning::most_halves_a_load_otherwise);
  while (args.width % most != 0) most /= 2;
  if (args.split.tasks > 0) launch_attention(args, gather_shape(args.features, sizeof(Storage), most), stream);
  if (plan.finish_pass) launch_attention_finish(args, stream);
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
