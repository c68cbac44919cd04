// The scratch memory of a gather that reduces rows: one function sizes it while planning (over a counting arena) and
// carves it while running.
#pragma once

#include <cstdint>
#include <span>

#include "plan/plan_view.hpp"
#include "weft/context.hpp"
#include "weft/plan.hpp"

namespace weft {

/// Values a part of a cut row has: its features, and in attention the sums of weights of its heads, in whole packs.
inline std::int64_t staged_pitch(const OpDesc& desc) {
  const std::int64_t features = desc.heads * desc.width;
  return desc.kind == OpKind::attention ? (features + desc.heads + 3) / 4 * 4 : features;
}

template <class Acc>
struct StagedRows {
  std::span<Acc> values;           // [plan.cuda().staged_rows, staged_pitch]
  std::span<std::int32_t> places;  // the same, for max and min

  static StagedRows take(Arena& arena, const Plan& plan) {
    const auto count = static_cast<std::size_t>(plan.cuda().staged_rows * staged_pitch(plan.desc));
    const bool extremum = is_extremum(plan.desc.reduce);
    StagedRows rows;
    rows.values = arena.take<Acc>(count, "parts of cut rows");
    rows.places = arena.take<std::int32_t>(extremum ? count : 0, "winners of cut rows");
    return rows;
  }
};

/// What a sample is written to before the gather that sums it: nothing is kept of it after the run.
template <class Acc>
struct SampleScratch {
  std::span<NodeId> cols;  // [edges that are kept]
  std::span<EdgeId> ids;   // the same, where the operator knows edges by their ids
  std::span<Acc> scales;   // [rows], of sums: also where the plan is a mean's, which runs sums too

  /// `space`: the sample's index space.
  static SampleScratch take(Arena& arena, const OpDesc& desc, const GraphView& space) {
    const bool scaled = desc.kind == OpKind::spmm && !is_extremum(desc.reduce);
    const auto edges = static_cast<std::size_t>(space.num_edges), rows = static_cast<std::size_t>(space.num_rows);
    SampleScratch scratch;
    scratch.cols = arena.take<NodeId>(edges, "sources of sampled edges");
    scratch.ids = arena.take<EdgeId>(reads_ids(desc) ? edges : 0, "ids of sampled edges");
    scratch.scales = arena.take<Acc>(scaled ? rows : 0, "scales of sampled sums");
    return scratch;
  }
};

/// That of a softmax on a GPU: a largest score and a sum for each row and head, and for each part of a cut row.
template <class Acc>
struct SoftmaxRows {
  std::span<Acc> rows;   // [rows, heads, 2]
  std::span<Acc> slots;  // [plan.cuda().staged_rows, heads, 2]

  static SoftmaxRows take(Arena& arena, const Plan& plan, std::int64_t num_rows) {
    SoftmaxRows r;
    r.rows = arena.take<Acc>(static_cast<std::size_t>(2 * num_rows * plan.desc.heads), "softmax statistics of rows");
    r.slots = arena.take<Acc>(static_cast<std::size_t>(2 * plan.cuda().staged_rows * plan.desc.heads),
                              "softmax statistics of cut rows");
    return r;
  }
};

inline std::size_t softmax_bytes(const Plan& plan, std::int64_t num_rows) {
  Arena counting;
  if (plan.desc.dtype == Dtype::f64) {
    SoftmaxRows<double>::take(counting, plan, num_rows);
  } else {
    SoftmaxRows<float>::take(counting, plan, num_rows);
  }
  return counting.used();
}

}  // namespace weft
