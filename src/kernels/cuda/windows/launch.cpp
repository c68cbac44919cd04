// A sum by row windows: first the residual's into the workspace, then the windows', which add it and finish the rows.
#include "kernels/cuda/windows/launch.hpp"
#include "core/check.hpp"
#include "core/device.hpp"
#include "kernels/cuda/pitch.hpp"
#include "kernels/cuda/spmm/call.hpp"
#include "kernels/cuda/windows/windows.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "plan/built_kernels.hpp"
#include "plan/cuda/windows.hpp"
#include "plan/plan_view.hpp"

namespace weft::cuda {
namespace {

void sum_residual(const SpmmArgs& args, const WindowPlan& plan, std::span<float> sums, Arena arena,
                  CUstream_st* stream) {
  SpmmArgs rest;
  rest.graph = view_by(plan.residual, plan.windows->residual());
  rest.op = SpmmOp::copy_u;
  rest.reduce = Reduce::sum;
  rest.heads = args.heads;
  rest.width = args.width;
  rest.x = args.x;
  rest.out = {sums.data(), Dtype::f32, args.heads * args.width};
  spmm(rest, plan.residual, arena, stream);
}

template <class Storage>
WindowSumArgs<Storage> window_sum_args(const SpmmArgs& args, const WindowPlan& plan, const WindowScratch& scratch) {
  WindowSumArgs<Storage> call;
  call.windows = plan.windows->view();
  call.window_rows = plan.windows->shape().rows;
  call.tiles = plan.windows->tiles();
  call.offsets = args.graph.offsets;
  call.x = static_cast<const Storage*>(args.x.data);
  call.x_pitch_bytes = pitch_bytes<Storage>("x", args.x.row_stride);
  call.features = static_cast<int>(args.width);
  call.pieces = scratch.pieces.data();
  call.residual = scratch.residual.empty() ? nullptr : scratch.residual.data();
  call.epilogue = row_epilogue<Storage>(args);
  return call;
}

template <class Storage>
void add_windows(const WindowSumArgs<Storage>& call, const CudaDevice& gpu, CUstream_st* stream) {
  if constexpr (has_wgmma) {
    if (call.window_rows >= 64 && gpu.compute_capability == 90)
      return launch_window_sums_sm90(call, gpu.multiprocessors, stream);
  }
  if constexpr (sizeof(Storage) == 2) launch_window_sums(call, stream);
}

/// What of a call keeps it from running by windows; null: nothing.
const char* misfit(const SpmmArgs& args) {
  if (args.op != SpmmOp::copy_u || args.col_scale.given() || args.heads != 1)
    return "only sums of sources as they are run on tensor cores, without col_scale";
  const auto size = static_cast<std::int64_t>(size_of(args.x.dtype)),
             out = static_cast<std::int64_t>(size_of(args.out.dtype));
  if (reinterpret_cast<std::uintptr_t>(args.x.data) % 16 != 0 || args.x.row_stride * size % 16 != 0)
    return "rows of x begin at addresses that are no multiples of 16 bytes";
  if (reinterpret_cast<std::uintptr_t>(args.out.data) % static_cast<std::uintptr_t>(2 * out) != 0 ||
      args.out.row_stride % 2 != 0)
    return "rows of out begin at odd elements";
  return nullptr;
}

}  // namespace

void spmm_by_windows(const SpmmArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  const WindowPlan& windows = *plan.backing.windows;
  if (const char* const why = misfit(args)) {
    WEFT_CHECK(windows.otherwise.has_value(), unsupported, "policy core=tensor: {}; leave the policy out", why);
    return spmm(args, *windows.otherwise, arena, stream);
  }
  const WindowScratch scratch = WindowScratch::take(arena, plan, args.graph.num_rows);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) {
    if constexpr (sizeof(Storage) <= 4) {
      const auto call = window_sum_args<Storage>(args, windows, scratch);
      if constexpr (sizeof(Storage) == 4)
        split_rows({call.x, args.graph.num_cols, args.x.row_stride, call.features, scratch.pieces.data()}, stream);
      if (!scratch.residual.empty()) sum_residual(args, windows, scratch.residual, arena, stream);
      add_windows(call, cuda_device(plan.device.index), stream);
    }
  });
}

}  // namespace weft::cuda
