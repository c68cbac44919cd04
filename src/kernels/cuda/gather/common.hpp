// The arguments of a gather that do not depend on its message, from a plan and an operator's operands.
#pragma once

#include "kernels/cuda/gather/args.hpp"
#include "kernels/cuda/pitch.hpp"
#include "kernels/cuda/schedule/plan_split.hpp"
#include "kernels/signatures.hpp"
#include "plan/cuda/scratch.hpp"

namespace weft::cuda {

/// Rows are stored as they were reduced; `what` names the output.
template <class Storage>
RowEpilogue<Storage> plain_epilogue(const Result& out, const char* what) {
  RowEpilogue<Storage> epilogue;
  epilogue.out = static_cast<Storage*>(out.data);
  epilogue.wide = is_wide<Storage>(out.dtype);
  epilogue.pitch_bytes = epilogue.wide ? pitch_bytes<AccumulatorOf<Storage>>(what, out.row_stride)
                                       : pitch_bytes<Storage>(what, out.row_stride);
  epilogue.note_what_is_applied();
  return epilogue;
}

/// All but the epilogue. `x` is gathered by column, and `what` names it; scratch memory comes from the arena.
template <class Storage>
GatherCommon<Storage> gather_common(const Plan& plan, const GraphView& graph, Arena& arena, std::int64_t features,
                                    const Operand& x, const char* what) {
  GatherCommon<Storage> common;
  common.split = edge_split_of(plan, graph);
  const auto staged = StagedRows<AccumulatorOf<Storage>>::take(arena, plan);
  common.staging = {staged.values.data(), staged.places.data(), staged_pitch(plan.desc)};
  common.features = static_cast<int>(features);
  common.x = static_cast<const Storage*>(x.data);
  common.x_pitch_bytes = pitch_bytes<Storage>(what, x.row_stride);
  return common;
}

}  // namespace weft::cuda
