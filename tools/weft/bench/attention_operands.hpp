// What the workloads of attention, forward and backward, have in common: inputs, bounds and the yardstick.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "bench/inputs.hpp"
#include "bench/workload.hpp"
#include "kernels/signatures.hpp"
#include "weft/ops.hpp"

namespace weft::tool {

struct AttentionOperands {
  AttentionOperands(const Context& context, const Graph& graph, const Setup& setup);

  Input value, src, dst, attn;
  AttentionInputs inputs;
  std::int64_t score_width = 1;

  /// What the reference takes of them, over `graph` with `from` by column and `to` by row: src and dst, or over the
  /// transpose the other way round, as every score is the same with its ends exchanged.
  AttentionArgs reference_args(const GraphView& graph, const Operand& from, const Operand& to) const;
  /// How far off a row of the sample may be that sums weights: of the sum, the softmax and the scores.
  std::function<double(std::int64_t)> row_factor(const Sample& sample) const;
  /// Of one edge and head: the score and its part of a softmax.
  double weight_flops() const;
};

/// The weighted SpMM of as many features.
std::unique_ptr<Workload> spmm_beside(Context& context, const Graph& graph, const Setup& setup);

}  // namespace weft::tool
