// The scratch memory of a gather that reduces rows: one function sizes it while planning (over a counting arena) and
// carves it while running.
#pragma once

#include <cstdint>
#include <span>

#include "weft/context.hpp"
#include "weft/plan.hpp"

namespace weft {

template <class Acc>
struct StagedRows {
  std::span<Acc> values;           // [plan.staged_rows, features]
  std::span<std::int32_t> places;  // the same, for max and min

  static StagedRows take(Arena& arena, const Plan& plan) {
    const auto count = static_cast<std::size_t>(plan.staged_rows * plan.desc.heads * plan.desc.width);
    const bool extremum = plan.desc.reduce == Reduce::max || plan.desc.reduce == Reduce::min;
    StagedRows rows;
    rows.values = arena.take<Acc>(count, "parts of cut rows");
    rows.places = arena.take<std::int32_t>(extremum ? count : 0, "winners of cut rows");
    return rows;
  }
};

/// Bytes of it.
inline std::size_t staged_bytes(const Plan& plan) {
  Arena counting;
  if (plan.desc.dtype == Dtype::f64) {
    StagedRows<double>::take(counting, plan);
  } else {
    StagedRows<float>::take(counting, plan);
  }
  return counting.used();
}

}  // namespace weft
