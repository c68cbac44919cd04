// From the arguments of GATv2's gradients to launches.
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
void run(const LeakyArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  using Acc = AccumulatorOf<Storage>;
  SpmmKernelArgs<Storage> args;
  args.split = edge_split_of(plan, given.graph);
  const auto staged = StagedRows<Acc>::take(arena, plan);
  args.staging.values = staged.values.data();
  args.staging.pitch = staged_pitch(plan.desc);
  args.width = static_cast<int>(given.width);
  args.features = static_cast<int>(given.heads * given.width);
  args.x = static_cast<const Storage*>(given.col.data);
  args.x_pitch_bytes = pitch_bytes<Storage>("src or dst", given.col.row_stride);
  args.x_head = given.col.head_stride;
  args.edge = maybe_wide<Storage>(given.edge.data, given.edge.dtype);
  args.edge_pitch = given.edge.row_stride;
  args.edge_head = given.edge.head_stride;
  args.finish.out = static_cast<Storage*>(given.out.data);
  args.finish.wide = is_wide<Storage>(given.out.dtype);
  args.finish.pitch_bytes = args.finish.wide ? pitch_bytes<Acc>("a gradient of gatv2", given.out.row_stride)
                                             : pitch_bytes<Storage>("a gradient of gatv2", given.out.row_stride);
  args.finish.as_it_is = args.finish.light = true;
  args.leaned.row = static_cast<const Storage*>(given.row.data);
  args.leaned.row_pitch_bytes = pitch_bytes<Storage>("dst or src", given.row.row_stride);
  args.leaned.row_head = given.row.head_stride;
  if (given.derivative) {
    args.leaned.attn = static_cast<const Storage*>(given.attn.data);
    args.leaned.attn_head = given.attn.head_stride;
  }
  args.leaned.slope = static_cast<Acc>(given.slope);
  // Packs do not reach across heads, and every array they move must allow them.
  int most = aligned_elements(args.finish.out, args.finish.wide, given.out.row_stride);
  const auto also = [&](const Storage* data, std::int64_t pitch, std::int64_t head) {
    most = std::min(most, aligned_elements(data, pitch));
    if (given.heads > 1) most = std::min(most, aligned_elements(data, head));
  };
  also(args.x, given.col.row_stride, args.x_head);
  also(args.leaned.row, given.row.row_stride, args.leaned.row_head);
  if (args.leaned.attn != nullptr) also(args.leaned.attn, 0, args.leaned.attn_head);
  constexpr int widest = few_shapes_vector<Storage>;
  const GatherShape shape =
      gather_shape(args.features, sizeof(Storage), most >= widest && given.width % widest == 0 ? widest : 1);
  if (args.split.tasks > 0) launch_leaned(args, shape, stream);
  if (plan.finish_pass) launch_finish<Storage, Reduction::sum>(args, shape, stream);
}

}  // namespace

void leaky_sum(const LeakyArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  const std::int64_t features = args.heads * args.width;
  WEFT_CHECK(features < (std::int64_t{1} << 22), unsupported, "src has {} features a row: expected fewer than 2^22",
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
