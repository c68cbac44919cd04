// Plans of sums by row windows: dense columns on tensor cores, all other edges as a sum of their own.
#pragma once

#include "graph/windows/row_windows.hpp"
#include "weft/plan.hpp"

namespace weft {

/// What a plan of windows keeps for its runs.
struct WindowPlan {
  std::shared_ptr<const RowWindows> windows;
  Plan residual;  // of the sum over windows->residual()
};

struct WindowScratch {
  std::span<float> residual;   // [rows, features]: its sums, before the windows' are added to them
  std::span<BFloat16> pieces;  // of f32, 64 features of three bf16 each for a row's every 64

  static WindowScratch take(Arena& arena, const Plan& plan, std::int64_t num_rows) {
    const auto features = static_cast<std::size_t>(plan.desc.heads * plan.desc.width);
    const bool any = plan.backing.windows->windows->residual().num_edges() > 0;
    const std::size_t splits = plan.desc.dtype == Dtype::f32 ? (features + 63) / 64 * 64 * 3 : 0;
    const auto rows = static_cast<std::size_t>(num_rows);
    return {arena.take<float>(any ? rows * features : 0, "sums of the residual"),
            arena.take<BFloat16>(rows * splits, "values as sums of bf16")};
  }
};

/// Of a policy with core=tensor; windows are made where the graph has none of their shape.
PlanReport explain_windows(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& policy);

}  // namespace weft
