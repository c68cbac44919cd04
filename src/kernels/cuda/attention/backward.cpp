// From the arguments of attention's backward to launches.
#include <algorithm>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/attention/backward.hpp"
#include "kernels/cuda/attention/destinations.hpp"
#include "kernels/cuda/attention/launch.hpp"
#include "kernels/cuda/gather/common.hpp"
#include "kernels/cuda/windows/launch.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "plan/built_kernels.hpp"
#include "plan/cuda/select.hpp"
#include "plan/cuda/windows.hpp"

namespace weft::cuda {
namespace {

/// Packs do not reach across heads, and every array they move must allow them.
template <class Storage>
HeadedSelection selected_for(const AttentionBackwardArgs& given, const Plan& plan) {
  const AttentionArgs& forward = given.forward;
  int most = plan.cuda().vector;
  const auto also = [&](const void* data, std::int64_t pitch, std::int64_t head) {
    most = std::min(most, aligned_elements(static_cast<const Storage*>(data), pitch));
    if (forward.heads > 1) most = std::min(most, aligned_elements(static_cast<const Storage*>(data), head));
  };
  also(given.out_grad.data, given.out_grad.row_stride, given.out_grad.head_stride);
  also(forward.value.data, forward.value.row_stride, forward.value.head_stride);
  also(given.value_grad.data, given.value_grad.row_stride, forward.width);
  return select_gat(KernelMessage::gat_backward, plan.desc.dtype, forward.heads, forward.width, most);
}

}  // namespace

template <class Storage>
typename GatBackward<Storage>::Args gradient_terms(const AttentionBackwardArgs& given) {
  using Acc = AccumulatorOf<Storage>;
  const AttentionArgs& forward = given.forward;
  typename GatBackward<Storage>::Args terms;
  terms.width = static_cast<int>(forward.width);
  terms.x_head = given.out_grad.head_stride;
  terms.heads = static_cast<int>(forward.heads);
  terms.src = static_cast<const Storage*>(forward.src.data);
  terms.src_pitch_bytes = pitch_bytes<Storage>("src", forward.src.row_stride);
  terms.src_head = forward.src.head_stride;
  terms.slope = static_cast<Acc>(forward.slope);
  terms.dropout = forward.dropout;
  terms.kept = static_cast<Acc>(forward.dropout.scale());
  terms.destinations = static_cast<const DestinationTerms<Acc>*>(given.destinations.data);
  terms.value = static_cast<const Storage*>(forward.value.data);
  terms.value_pitch_bytes = pitch_bytes<Storage>("value", forward.value.row_stride);
  terms.value_head = forward.value.head_stride;
  terms.src_grad = static_cast<Storage*>(given.src_grad.data);
  terms.src_grad_wide = is_wide<Storage>(given.src_grad.dtype);
  terms.src_grad_pitch = given.src_grad.row_stride;
  terms.score_grad = static_cast<Acc*>(given.score_grad.data);
  terms.by_id = given.by_id;
  terms.places = given.places;
  return terms;
}

template <class Storage>
void gather_gradients(const AttentionBackwardArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  const AttentionArgs& forward = given.forward;
  GatherArgs<GatBackward<Storage>> args{
      gather_common<Storage>(plan, given.reversed, arena, forward.heads * forward.width, given.out_grad, "out_grad"),
      gradient_terms<Storage>(given)};
  args.epilogue = plain_epilogue<Storage>(given.value_grad, "the gradient of value");
  const HeadedSelection selected = selected_for<Storage>(given, plan);
  args.message.head_lanes = selected.head_lanes;
  if (args.split.tasks > 0) launch_by_heads(args, selected.kernel.shape, selected.kernel.heads, stream);
  if (plan.cuda().finish_pass) launch_backward_fix_up(args, selected.row, stream);
}

#define WEFT_GRADIENTS(STORAGE)                                                              \
  template GatBackward<STORAGE>::Args gradient_terms<STORAGE>(const AttentionBackwardArgs&); \
  template void gather_gradients<STORAGE>(const AttentionBackwardArgs&, const Plan&, Arena, CUstream_st*);
WEFT_FOR_STORAGES(WEFT_GRADIENTS)

bool has_attention_backward(const AttentionBackwardArgs& args, const Plan& plan) {
  if (plan.cuda().core == Core::tensor)
    return keeps_from_windows(args) == nullptr && has_attention_backward(args, plan.backing.windows->residual);
  const AttentionArgs& forward = args.forward;
  const std::int64_t features = forward.heads * forward.width;
  if (forward.score != Score::gat || forward.edge.given() || forward.bias.given()) return false;
  if (features == 0 || features >= std::int64_t{1} << 22) return false;
  bool evenly = false;
  with_storage(plan.desc.dtype, [&](auto tag) {
    evenly = heads_lie_evenly(forward.heads, forward.width, selected_for<decltype(tag)>(args, plan).row);
  });
  return evenly;
}

void attention_backward(const AttentionBackwardArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  if (args.reversed.num_rows == 0) return;
  const OnDevice on(plan.device.index);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) {
    find_destination_terms<Storage>(args.forward, args.out_grad,
                                    static_cast<DestinationTerms<AccumulatorOf<Storage>>*>(args.destinations.data),
                                    stream);
    if (plan.cuda().core == Core::tensor) return;
    gather_gradients<Storage>(args, plan, arena, stream);
  });
  if (plan.cuda().core == Core::tensor) gradients_by_windows(args, plan, arena, stream);
}

}  // namespace weft::cuda
