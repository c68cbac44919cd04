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
  args.finish.pitch_bytes = pitch_bytes<Storage>("out", given.out.row_stride);
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
  attended.dropout = given.dropout;
  attended.kept = static_cast<Acc>(given.dropout.scale());
  attended.row_max = static_cast<Acc*>(given.row_max.data);
  attended.max_pitch = given.row_max.row_stride;
  attended.row_sum = static_cast<Acc*>(given.row_sum.data);
  attended.sum_pitch = given.row_sum.row_stride;

  // Packs do not reach across heads, and every array they move must allow them.
  int most = std::min(aligned_elements(args.finish.out, given.out.row_stride), plan.vector);
  most = std::min(most, aligned_elements(args.x, given.value.row_stride));
  if (given.heads > 1) most = std::min(most, aligned_elements(args.x, args.x_head));
  while (args.width % most != 0) most /= 2;
  const GatherShape shape = gather_shape(args.features, sizeof(Storage), most);
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
