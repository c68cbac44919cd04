// From a plan and what is known once a call is there to the kernel that runs it. Nothing behind this decides again: a
// launch looks its kernel up, and is refused where there is none.
#pragma once

#include <optional>

#include "plan/kernel_table.hpp"
#include "weft/plan.hpp"

namespace weft {

/// What of a call of spmm decides its kernel.
struct SpmmTraits {
  std::int64_t features = 1;      // of all heads
  bool one_value_an_edge = true;  // or none, and sources are multiplied by it as they stand: not op by op
  bool weighted = false;          // by values of edges
  bool values_in_order = true;    // which stand in the order of the work
  bool scaled_sources = false;    // one factor a source
  bool mean = false;
  bool epilogue = false;    // more than a mean is applied to rows
  bool wide_out = false;    // out holds accumulators
  bool wide_edges = false;  // values of edges are accumulators
  bool extremum = false;
  bool winners = false;  // of an extremum: which edge it was is asked for
};

/// An Error in a build without the kernels of a policy that only serves comparisons.
void require_ablations(const std::string& policy);

/// The most special message that sends what the call asks for.
KernelMessage spmm_message(Dtype storage, const SpmmTraits& traits);

struct SpmmSelection {
  Kernel kernel;
  GatherShape row;  // what covers one row of features: the fix-up's
};
/// `pack`: elements a load may move, as the arrays are aligned. An Error that names the policy's key where it asks for
/// what the call has no kernel of.
SpmmSelection select_spmm(const Plan& plan, const SpmmTraits& traits, int pack);

/// GAT's kernels, and those of its backward. `pack` divides a head.
struct HeadedSelection {
  Kernel kernel;
  GatherShape row;     // what covers one row of features: the fix-up's
  int head_lanes = 1;  // lanes that cover one head, where lanes share weights
};
HeadedSelection select_gat(KernelMessage message, Dtype storage, std::int64_t heads, std::int64_t width, int pack);
/// Attention whose scores come from vectors of `score_width` elements per head, edges' own among them or not.
HeadedSelection select_vector_scored(Dtype storage, std::int64_t heads, std::int64_t width, std::int64_t score_width,
                                     int pack, bool with_edges);

/// A message that has but one kernel for every width: GATv2's sums. `pack` divides a head.
Kernel select_leaky_sum(Dtype storage, std::int64_t features, int pack, bool with_edges);

/// SDDMM's dot products. `long_rows`: batches of edges mostly have one destination.
Kernel select_dot(Dtype storage, std::int64_t width, int pack, bool long_rows);

/// What a plan's call runs with aligned tensors and no epilogue: what `weft explain` shows. None for softmax, segments,
/// and plans of a CPU.
std::optional<Kernel> usual_kernel(const Plan& plan);

}  // namespace weft
