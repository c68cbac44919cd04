// From the arguments of spmm to a launch: which message, which shape of loads.
#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/spmm/sum_launch.hpp"
#include "kernels/heads.hpp"
#include "kernels/signatures.hpp"
#include "plan/cuda/tasks.hpp"

namespace weft::cuda {
namespace {

// Elements of f32 that one load may move, as far as this pointer and this pitch allow.
int aligned_elements(const void* data, std::int64_t pitch) {
  int elements = 4;
  while (elements > 1 && (reinterpret_cast<std::uintptr_t>(data) % (4u * static_cast<unsigned>(elements)) != 0 ||
                          pitch % elements != 0))
    elements /= 2;
  return elements;
}

void check_supported(const SpmmArgs& args, const Plan& plan) {
  WEFT_CHECK(plan.desc.dtype == Dtype::f32, unsupported,
             "spmm in {} has no CUDA kernel yet: use f32, or the cpu device", name(plan.desc.dtype));
  WEFT_CHECK(args.reduce == Reduce::sum || args.reduce == Reduce::mean, unsupported,
             "spmm with reduce {} has no CUDA kernel yet: use the cpu device", name(args.reduce));
  WEFT_CHECK(!args.bias.given() || args.bias.dtype == Dtype::f32, unsupported,
             "bias has dtype {}: spmm on CUDA takes f32 only; convert it, or use the cpu device",
             name(args.bias.dtype));
  const bool scalar =
      args.heads == 1 && (args.edge.feature_stride == 0 || args.width == 1);  // heads that are alike were joined
  WEFT_CHECK(args.heads == 1 && (args.op == SpmmOp::copy_u || (args.op == SpmmOp::u_mul_e && scalar)), unsupported,
             "spmm with op {} and these edge values has no CUDA kernel yet: use copy_u, or u_mul_e with one value an "
             "edge, or the cpu device",
             name(args.op));
}

}  // namespace

void spmm(const SpmmArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  const SpmmArgs args = with_heads_joined(given);
  check_supported(args, plan);
  const std::int64_t features = args.width;
  if (features == 0 || args.graph.num_rows == 0) return;
  WEFT_CHECK(args.x.row_stride < (std::int64_t{1} << 32) && features < (std::int64_t{1} << 22), unsupported,
             "x has {} features a row, {} apart: expected fewer than 2^22, less than 2^32 apart", features,
             args.x.row_stride);
  const OnDevice on(plan.device.index);
  SumArgs<float> sum;
  sum.split.graph = args.graph;
  sum.split.size = static_cast<int>(plan.edges_a_task);
  sum.split.tasks = plan.tasks;
  sum.split.order = plan.device_tasks != nullptr ? plan.device_tasks->order() : nullptr;
  sum.split.staged = arena.take<float>(static_cast<std::size_t>(2 * plan.tasks * features), "parts of cut rows").data();
  sum.split.pitch = features;
  sum.x = static_cast<const float*>(args.x.data);
  sum.x_pitch = args.x.row_stride;
  sum.weight = args.op == SpmmOp::u_mul_e ? static_cast<const float*>(args.edge.data) : nullptr;
  sum.weight_pitch = args.edge.row_stride;
  sum.col_scale = static_cast<const float*>(args.col_scale.data);
  sum.finish.out = static_cast<float*>(args.out.data);
  sum.finish.pitch = args.out.row_stride;
  sum.finish.mean = args.reduce == Reduce::mean;
  sum.finish.relu = args.relu;
  sum.finish.row_scale = static_cast<const float*>(args.row_scale.data);
  sum.finish.bias = static_cast<const float*>(args.bias.data);
  sum.features = static_cast<int>(features);
  const int most = std::min(aligned_elements(sum.x, sum.x_pitch), aligned_elements(sum.finish.out, sum.finish.pitch));
  launch_sum(sum, gather_shape(features, 4, most), stream);
}

}  // namespace weft::cuda
