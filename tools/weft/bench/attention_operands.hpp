// What the workloads of attention, forward and backward, have in common: inputs, bounds and the yardstick.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/inputs.hpp"
#include "bench/workload.hpp"
#include "weft/ops.hpp"

namespace weft::tool {

struct AttentionOperands {
  AttentionOperands(const Context& context, const Graph& graph, const Setup& setup);

  Input value, src, dst, attn;
  AttentionInputs inputs;
  std::int64_t score_width = 1;

  /// What a weight's error may be in units of the accumulator's eps, beside that of the sum it is part of.
  double weight_factor() const;
  /// Of one edge and head: the score and its part of a softmax.
  double weight_flops() const;
};

/// The weighted SpMM of as many features.
std::unique_ptr<Workload> spmm_beside(Context& context, const Graph& graph, const Setup& setup);

}  // namespace weft::tool
