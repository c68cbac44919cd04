// What the kernels of one sum over edges read and write: plain views, passed by value.
#pragma once

#include <cstdint>

#include "kernels/cuda/schedule/edge_split.hpp"

namespace weft::cuda {

/// What becomes of a row's sum: mean, row scale, bias and ReLU in float32, then the one rounding.
template <class Storage>
struct RowFinish {
  Storage* out = nullptr;
  std::int64_t pitch = 0;
  bool mean = false, relu = false;
  const float* row_scale = nullptr;
  const float* bias = nullptr;

  bool plain() const { return !mean && !relu && row_scale == nullptr && bias == nullptr; }
};

template <class Storage>
struct SumArgs {
  EdgeSplit split;
  const Storage* x = nullptr;
  std::int64_t x_pitch = 0;
  const float* weight = nullptr;  // one an edge, by id; null where messages are the sources themselves
  std::int64_t weight_pitch = 1;
  const float* col_scale = nullptr;  // one a source; null: 1
  RowFinish<Storage> finish;
  int features = 0;
};

/// What of SumArgs a kernel looks at. The two plain ones are for the usual calls and write sums as they are: no
/// weights, or one for each stored edge in sequence. The general one reads everything.
enum class SumKind { plain, weighted, general };

template <class Storage>
SumKind kind_of(const SumArgs<Storage>& args) {
  if (!args.finish.plain() || args.col_scale != nullptr) return SumKind::general;
  if (args.weight == nullptr) return SumKind::plain;
  return args.split.graph.edge_ids == nullptr && args.weight_pitch == 1 ? SumKind::weighted : SumKind::general;
}

}  // namespace weft::cuda
