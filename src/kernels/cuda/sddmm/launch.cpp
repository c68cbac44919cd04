// From the arguments of sddmm to launches: the fast dot product between the two ends of edges, or the general kernels.
#include <algorithm>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/pitch.hpp"
#include "kernels/cuda/schedule/plan_split.hpp"
#include "kernels/cuda/sddmm/sddmm_args.hpp"
#include "kernels/cuda/windows/launch.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "kernels/signatures.hpp"
#include "plan/cuda/select.hpp"

namespace weft::cuda {
namespace {

template <class Storage>
EdgeOperand<Storage> operand_of(const Operand& o, Target target) {
  return {static_cast<const Storage*>(o.data), target, o.row_stride, o.head_stride, o.feature_stride != 0};
}

/// What packs of an operand may hold: nothing reaches across heads.
template <class Storage>
int pack_of(const Operand& o, const SddmmArgs& args) {
  if (!o.given() || o.feature_stride == 0) return 16;
  const auto* data = static_cast<const Storage*>(o.data);
  const int rows = aligned_elements(data, o.row_stride);
  return args.heads > 1 ? std::min(rows, aligned_elements(data, o.head_stride)) : rows;
}

template <class Storage>
void run(const SddmmArgs& args, const Plan& plan, CUstream_st* stream) {
  int most = std::min({pack_of<Storage>(args.lhs, args), pack_of<Storage>(args.rhs, args), plan.cuda().vector});
  const auto ends = [&](Target a, Target b) { return args.lhs_target == a && args.rhs_target == b; };
  const bool between = ends(Target::u, Target::v) || ends(Target::v, Target::u);
  const bool vectors = args.width == 1 || (args.lhs.feature_stride != 0 && args.rhs.feature_stride != 0);
  auto* out = static_cast<Storage*>(args.out.data);
  const bool wide = is_wide<Storage>(args.out.dtype);
  if (args.op == SddmmOp::dot && between && vectors && args.width > 0) {
    const bool sources_left = args.lhs_target == Target::u;
    const Operand& source = sources_left ? args.lhs : args.rhs;
    const Operand& destination = sources_left ? args.rhs : args.lhs;
    DotArgs<Storage> dot;
    dot.split = edge_split_of(plan, args.graph);
    dot.source = static_cast<const Storage*>(source.data);
    dot.source_pitch_bytes = pitch_bytes<Storage>(sources_left ? "lhs" : "rhs", source.row_stride);
    dot.source_head = source.head_stride;
    dot.destination = static_cast<const Storage*>(destination.data);
    dot.destination_pitch_bytes = pitch_bytes<Storage>(sources_left ? "rhs" : "lhs", destination.row_stride);
    dot.destination_head = destination.head_stride;
    dot.features = static_cast<int>(args.width);
    dot.heads = static_cast<int>(args.heads);
    dot.out = out;
    dot.wide = wide;
    dot.out_pitch = args.out.row_stride;
    return launch_dot(dot, select_dot(plan.desc.dtype, args.width, most, plan.cuda().long_rows).shape, stream);
  }
  EdgewiseArgs<Storage> edgewise;
  edgewise.graph = args.graph;
  edgewise.op = args.op;
  edgewise.lhs = operand_of<Storage>(args.lhs, args.lhs_target);
  edgewise.rhs = operand_of<Storage>(args.rhs, args.rhs_target);
  edgewise.heads = static_cast<int>(args.heads);
  edgewise.width = static_cast<int>(args.width);
  edgewise.out = out;
  edgewise.wide = wide;
  edgewise.out_pitch = args.out.row_stride;
  most = std::min(most, aligned_elements(out, wide, args.out.row_stride));
  while (args.width % most != 0) most /= 2;
  launch_edgewise(edgewise, most, stream);
}

}  // namespace

void sddmm(const SddmmArgs& args, const Plan& plan, CUstream_st* stream) {
  const Dtype dtype = plan.desc.dtype;
  WEFT_CHECK(args.heads < (1 << 16) && args.heads * args.width < (std::int64_t{1} << 31), unsupported,
             "lhs and rhs have {} heads of {} features: expected fewer than 2^16 heads and 2^31 features", args.heads,
             args.width);
  if (args.graph.num_edges == 0 || args.heads == 0 || (args.width == 0 && args.op != SddmmOp::dot)) return;
  const OnDevice on(plan.device.index);
  if (plan.cuda().core == Core::tensor) return sddmm_by_windows(args, plan, stream);
  with_storage(dtype, [&]<class Storage>(Storage) { run<Storage>(args, plan, stream); });
}

}  // namespace weft::cuda
