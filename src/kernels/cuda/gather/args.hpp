// What every gather reads and writes, whatever its message: plain views, passed to kernels by value.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/accumulator.hpp"
#include "kernels/cuda/maybe_wide.hpp"
#include "kernels/cuda/schedule/edge_split.hpp"
#include "plan/kernel_table.hpp"
#include "weft/types.hpp"

namespace weft::cuda {

/// What becomes of a reduced row: it is stored as it is, as a mean, or with all that the epilogue asks for.
enum class RowResult { as_reduced, mean, with_epilogue };

/// What is applied to a reduced row: mean, row scale, x's own row, bias and ReLU in the accumulator, then the one
/// rounding.
template <class Storage>
struct RowEpilogue {
  using Acc = AccumulatorOf<Storage>;
  Storage* out = nullptr;
  std::uint32_t pitch_bytes = 0;
  bool wide = false;  // out holds accumulators instead
  bool mean = false, relu = false, negated = false;
  const Acc* row_scale = nullptr;
  const Acc* self_scale = nullptr;  // of row v of `self`, which is x
  const Storage* self = nullptr;
  std::uint32_t self_pitch_bytes = 0;
  MaybeWide<Storage> bias;
  NodeId* arg_u = nullptr;  // [rows, features]
  EdgeId* arg_e = nullptr;
  Acc largest = 0;  // saturating: the largest value out can hold; 0: not

  bool none = false;           // nothing is applied: rows are stored as they were reduced
  bool none_but_mean = false;  // the same, or a mean, which is one factor per row

  /// Once everything else is set.
  void note_what_is_applied() {
    none_but_mean = !relu && row_scale == nullptr && self_scale == nullptr && !bias.given() && largest == 0;
    none = none_but_mean && !mean;
  }
};

/// Partial sums of rows that tasks have cut: two slots per task, see schedule/edge_split.hpp.
template <class Storage>
struct Staging {
  AccumulatorOf<Storage>* values = nullptr;  // [2 * tasks, pitch]
  std::int32_t* places = nullptr;            // winner: the edge, counted from the task's nominal begin
  std::int64_t pitch = 0;
};

template <class Storage>
struct GatherCommon {
  EdgeSplit split;
  Staging<Storage> staging;
  RowEpilogue<Storage> epilogue;
  int features = 0;            // of all heads
  const Storage* x = nullptr;  // the gathered rows; null: messages do not read it
  std::uint32_t x_pitch_bytes = 0;
};

/// The arguments of a gather with messages of type `Message`, which has a Storage type and Args of its own.
template <class Message>
struct GatherArgs : GatherCommon<typename Message::Storage> {
  typename Message::Args message;
};

/// Heads stand side by side in a row of features.
struct HeadLayout {
  int heads = 1;
  int width = 1;            // of a head
  std::int64_t x_head = 0;  // elements between the heads of a row of x
  /// Lanes that cover one head in a step, where lanes share weights: all of the head, or its share of the steps where
  /// those of a lane lie in one head.
  int head_lanes = 1;
};

}  // namespace weft::cuda
