// What the kernels of fused attention read and write: plain views, passed by value.
#pragma once

#include <cstdint>

#include "kernels/cuda/half.hpp"
#include "kernels/cuda/schedule/edge_split.hpp"

namespace weft::cuda {

template <class Acc>
struct SoftmaxPart;

template <class Storage>
struct AttentionKernelArgs {
  using Acc = AccumulatorOf<Storage>;
  EdgeSplit split;
  int heads = 1, width = 1, features = 1;  // features: of all heads

  const Storage* value = nullptr;
  std::uint32_t value_pitch_bytes = 0;
  std::int64_t value_head = 0;

  // One score an edge and head: leaky_relu(src[u] + dst[v]) + bias[e].
  const Storage* src = nullptr;
  const Storage* dst = nullptr;
  std::uint32_t src_pitch_bytes = 0, dst_pitch_bytes = 0;
  std::int64_t src_head = 1, dst_head = 1;
  MaybeWide<Storage> bias;
  std::int64_t bias_pitch = 1, bias_head = 1;
  Acc slope = 0;

  Storage* out = nullptr;
  std::uint32_t out_pitch_bytes = 0;
  Acc* row_max = nullptr;  // the statistics' heads stand side by side
  Acc* row_sum = nullptr;
  std::int64_t max_pitch = 1, sum_pitch = 1;

  // Parts of rows that tasks have cut: two slots a task, see edge_split.hpp. Sums are relative to their part's top.
  Acc* slot_sums = nullptr;                // [2 * tasks, features]
  SoftmaxPart<Acc>* slot_parts = nullptr;  // [2 * tasks, heads]
};

}  // namespace weft::cuda
