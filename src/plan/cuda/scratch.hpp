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

/// That of a softmax on a GPU: a largest score and a sum for each row and head, and for each part of a cut row.
template <class Acc>
struct SoftmaxRows {
  std::span<Acc> rows;   // [rows, heads, 2]
  std::span<Acc> slots;  // [plan.staged_rows, heads, 2]

  static SoftmaxRows take(Arena& arena, const Plan& plan, std::int64_t num_rows) {
    SoftmaxRows r;
    r.rows = arena.take<Acc>(static_cast<std::size_t>(2 * num_rows * plan.desc.heads), "softmax statistics of rows");
    r.slots = arena.take<Acc>(static_cast<std::size_t>(2 * plan.staged_rows * plan.desc.heads),
                              "softmax statistics of cut rows");
    return r;
  }
};

/// That of fused attention: for each part of a cut row its sums, and for each head its largest score and its weight.
template <class Acc>
struct AttentionSlots {
  std::span<Acc> sums;   // [plan.staged_rows, heads, width]
  std::span<Acc> parts;  // [plan.staged_rows, heads, 2]

  static AttentionSlots take(Arena& arena, const Plan& plan) {
    const auto rows = static_cast<std::size_t>(plan.staged_rows), heads = static_cast<std::size_t>(plan.desc.heads);
    AttentionSlots slots;
    slots.sums = arena.take<Acc>(rows * heads * static_cast<std::size_t>(plan.desc.width), "attention of cut rows");
    slots.parts = arena.take<Acc>(2 * rows * heads, "softmax statistics of cut rows");
    return slots;
  }
};

inline std::size_t attention_bytes(const Plan& plan) {
  Arena counting;
  if (plan.desc.dtype == Dtype::f64) {
    AttentionSlots<double>::take(counting, plan);
  } else {
    AttentionSlots<float>::take(counting, plan);
  }
  return counting.used();
}

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
