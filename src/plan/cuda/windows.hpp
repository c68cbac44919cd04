// Plans by row windows: dense columns on tensor cores, all other edges as a graph of their own.
#pragma once

#include <optional>

#include "graph/windows/row_windows.hpp"
#include "plan/selector/table.hpp"
#include "weft/plan.hpp"

namespace weft {

/// Features of dot products by windows, and of a head in attention's gradients: the rows of one and some tiles fit into
/// a block's shared memory.
inline constexpr std::int64_t most_window_dots = 128;
/// And of the vectors of attention's scores.
inline constexpr std::int64_t most_window_scores = 64;
inline bool score_depth_fits_windows(std::int64_t features) {
  return features % 8 == 0 && features <= most_window_scores;
}

/// What a plan of windows keeps for its runs.
struct WindowPlan {
  std::shared_ptr<const RowWindows> windows;
  Plan residual;                           // of the operator over windows->residual()
  std::optional<Plan> otherwise;           // for calls that windows do not fit, where the planner chose them
  std::optional<SelectorChoice> selector;  // where select=model
};

struct WindowScratch {
  std::span<float> residual;   // [rows, features]: its sums, before the windows' are added to them
  std::span<BFloat16> pieces;  // of f32, 64 features of three bf16 each for a row's every 64; none with tf32
  /// Of attention: the residual's statistics, and two terms of every source. Of its backward: the residual's gradients
  /// of src in place of sums, and four terms of every destination.
  std::span<float> residual_max, residual_sum;  // [rows, heads]
  std::span<float> terms;                       // [nodes, heads, 2 or 4]

  static WindowScratch take(Arena& arena, const Plan& plan, std::int64_t num_rows) {
    return take(arena, plan.desc, plan.cuda().tf32, plan.backing.windows->windows->residual().num_edges() > 0,
                num_rows);
  }
  /// Where windows may leave edges to the residual.
  static std::size_t most_bytes(const OpDesc& desc, std::int64_t num_rows) {
    Arena counting;
    take(counting, desc, false, true, num_rows);
    return counting.used();
  }

 private:
  static WindowScratch take(Arena& arena, const OpDesc& desc, bool tf32, bool any_residual, std::int64_t num_rows) {
    const auto heads = static_cast<std::size_t>(desc.heads), rows = static_cast<std::size_t>(num_rows);
    const std::size_t features = heads * static_cast<std::size_t>(desc.width);
    const bool attends = desc.kind == OpKind::attention;
    const bool any = (desc.kind == OpKind::spmm || attends) && any_residual;
    const std::size_t splits = desc.dtype == Dtype::f32 && !tf32 ? (features + 63) / 64 * 64 * 3 : 0;
    WindowScratch scratch;
    scratch.residual = arena.take<float>(any ? rows * features : 0, "sums of the residual");
    scratch.pieces = arena.take<BFloat16>(rows * splits, "values as sums of bf16");
    if (!attends) return scratch;
    scratch.residual_max = arena.take<float>(any && !desc.backward ? rows * heads : 0, "statistics of the residual");
    scratch.residual_sum =
        arena.take<float>(any ? rows * heads : 0, "statistics of the residual, or its gradients of src");
    scratch.terms = arena.take<float>((desc.backward ? 4 : 2) * rows * heads, "terms of nodes");
    return scratch;
  }
};

/// The windows that a policy with core=tensor alone means, and whether there are kernels for an operator over them.
WindowShape usual_windows(const OpDesc& desc);
bool runs_by_windows(Device device, const OpDesc& desc, const WindowShape& shape);

/// Of a policy with core=tensor; windows are made where the graph has none of their shape. Where a model keeps none of
/// them, the plan is one without windows.
PlanReport explain_windows(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& policy);

/// What a plan of windows found in its graph, for people.
struct WindowFacts {
  int rows = 0, threshold = 0;
  WindowLayout layout = WindowLayout::none;
  std::int64_t windows = 0, candidates = 0, selected = 0;  // all, with dense columns, on tensor cores
  std::int64_t columns = 0, edges = 0, tiles = 0;          // on tensor cores
  double edge_share = 0;                                   // of all edges
  double intensity = 0;                                    // edges a dense column, of all candidates
  double build_seconds = 0;
  WindowSelect select = WindowSelect::all;
  WindowCounts median;        // of the candidates: the middle number of columns, and of edges
  std::int64_t features = 0;  // of a node: the width that the model looks at
  double log_odds = 0;        // of the median window, where select=model
  std::optional<SelectorChoice> selector;
};
/// None where the plan has no windows.
std::optional<WindowFacts> window_facts(const Plan& plan);

}  // namespace weft
