// GAT's gradients by row windows of the transpose: first the residual's into the workspace, then the windows', which
// add it and finish the rows; behind both, in a pass of its own, the gradient of dst.
#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/attention/backward.hpp"
#include "kernels/cuda/gather/common.hpp"
#include "kernels/cuda/windows/gat_backward.hpp"
#include "kernels/cuda/windows/launch.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "plan/built_kernels.hpp"
#include "plan/cuda/windows.hpp"
#include "plan/plan_view.hpp"

namespace weft::cuda {
namespace {

template <class Storage>
void run(const AttentionBackwardArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  const WindowPlan& by = *plan.backing.windows;
  const AttentionArgs& forward = args.forward;
  const std::int64_t rows = args.reversed.num_rows;
  const WindowScratch scratch = WindowScratch::take(arena, plan, rows);
  WindowGradientArgs<Storage> call;
  auto* const columns = reinterpret_cast<ColumnTerms*>(scratch.terms.data());
  find_column_terms(static_cast<const DestinationTerms<float>*>(args.destinations.data),
                    args.reversed.num_cols * forward.heads, columns, stream);
  call.columns = columns;
  if (!scratch.residual.empty()) {
    AttentionBackwardArgs rest = args;
    rest.reversed = view_by(by.residual, by.windows->residual());
    rest.value_grad = {scratch.residual.data(), Dtype::f32, forward.heads * forward.width};
    rest.src_grad = {scratch.residual_sum.data(), Dtype::f32, forward.heads};
    gather_gradients<Storage>(rest, by.residual, arena, stream);
    call.residual_offsets = rest.reversed.offsets;
    call.residual_value = scratch.residual.data();
    call.residual_src = scratch.residual_sum.data();
  }
  call.windows = by.windows->view();
  call.tiles = by.windows->tiles();
  call.column_sums = static_cast<float*>(args.column_sums.data);
  call.whole.split.graph = args.reversed;
  call.whole.epilogue = plain_epilogue<Storage>(args.value_grad, "the gradient of value");
  call.whole.features = static_cast<int>(forward.heads * forward.width);
  call.whole.x = static_cast<const Storage*>(args.out_grad.data);
  call.whole.x_pitch_bytes = pitch_bytes<Storage>("out_grad", args.out_grad.row_stride);
  call.whole.message = gradient_terms<Storage>(args);
  launch_window_gradients_sm90(call, stream);
}

}  // namespace

const char* keeps_from_windows(const AttentionBackwardArgs& args) {
  static_assert(most_gradient_features == most_window_dots);
  const AttentionArgs& forward = args.forward;
  if (forward.width % 8 != 0) return "gradients run on tensor cores where a head has a multiple of 8 features";
  if (forward.dropout.given()) return "gradients of edges that are dropped run on CUDA cores alone";
  const auto packs = [&](const Operand& rows) {
    return begins_at_16_bytes(rows) && (forward.heads == 1 || rows.head_stride % 8 == 0);
  };
  if (!packs(forward.value) || !packs(args.out_grad))
    return "rows of value or out_grad begin at addresses that are no multiples of 16 bytes";
  if (begins_at_odd_elements(args.value_grad)) return "rows of value's gradient begin at odd elements";
  return nullptr;
}

void gradients_by_windows(const AttentionBackwardArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  const char* const why = keeps_from_windows(args);
  WEFT_CHECK(why == nullptr, unsupported, "policy core=tensor: {}; leave the policy out", why);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) {
    if constexpr (sizeof(Storage) == 2 && has_wgmma) run<Storage>(args, plan, arena, stream);
  });
}

void attention_column_gradients(const AttentionBackwardArgs& args, const Plan& plan, const Operand& residual,
                                const Result& dst_grad, CUstream_st* stream) {
  const OnDevice on(plan.device.index);
  const RowWindows& windows = *plan.backing.windows->windows;
  ColumnGradients call;
  call.places = windows.tile_places();
  call.column_sums = static_cast<const float*>(args.column_sums.data);
  call.tiles = windows.tiles();
  call.residual = static_cast<const float*>(residual.data);
  call.columns = args.reversed.num_cols;
  call.heads = static_cast<int>(args.forward.heads);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) {
    if constexpr (sizeof(Storage) == 2)
      add_column_gradients(call, static_cast<Storage*>(dst_grad.data), dst_grad.row_stride, stream);
  });
}

}  // namespace weft::cuda
