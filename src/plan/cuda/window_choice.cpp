#include "plan/cuda/window_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/device.hpp"
#include "graph/cuda/edge_order.hpp"
#include "graph/graph_internals.hpp"
#include "plan/built_kernels.hpp"
#include "plan/cuda/windows.hpp"

namespace weft {
namespace {

/// Of the time without windows: what they save at the best on any graph measured, and what they have to save for a
/// forecast that may be off (bench/records/h200/windows.json).
constexpr double best_saving = 0.4, least_saving = 0.06;
/// Of what windows save, at most this part may go into making them.
constexpr double making_share = 0.7;
/// Of the GPU's memory: what sums of the residual, and pieces of f32, may take.
constexpr double most_workspace = 0.125;

}  // namespace

std::optional<WindowForecast> windows_that_pay(const Context& context, const Graph& graph, const OpDesc& desc,
                                               const tuning::CudaRates& rates, double cuda_us) {
  const double runs = static_cast<double>(context.expected_runs());
  const double tile_ns = desc.dtype == Dtype::f32 ? rates.tile_f32_ns : rates.tile_ns;
  // Times of tiles are those of wgmma.
  if (runs <= 1 || tile_ns == 0 || !has_wgmma || desc.kind != OpKind::spmm || desc.weighted) return std::nullopt;
  WindowForecast forecast;
  forecast.shape = usual_windows(desc);
  const GraphView view = GraphInternals::view_without_ids(graph);
  if (!sums_by_windows(context.device(), desc, forecast.shape) || !EdgeOrder::possible(view) ||
      GraphInternals::is_redrawn(graph))
    return std::nullopt;
  const double edges = static_cast<double>(view.num_edges);
  forecast.made_us = rates.window_us + edges * rates.window_edge_ns * 1e-3;
  if (runs * cuda_us * best_saving * making_share < forecast.made_us) return std::nullopt;

  const WindowEstimate seen = GraphInternals::estimate_windows(graph, forecast.shape, context.stream());
  forecast.dense_share = seen.dense_share;
  forecast.tiles = seen.tiles;
  const double features = static_cast<double>(desc.heads * desc.width);
  const double sums = static_cast<double>(view.num_rows) * features * 8;  // of the residual: written, and read again
  forecast.us = cuda_us * std::min(1.0, rates.residual_factor * (1 - seen.dense_share)) +
                seen.tiles * std::ceil(features / 64) * tile_ns * 1e-3 + sums / (rates.stream_gb_s * 1e3);
  const double saved = cuda_us - forecast.us;
  if (saved < least_saving * cuda_us || runs * saved * making_share < forecast.made_us) return std::nullopt;
  return forecast;
}

void choose_windows(const Context& context, const Graph& graph, const OpDesc& desc, const tuning::CudaRates& rates,
                    PlanReport& report) {
  const auto chosen = std::ranges::find_if(report.candidates, &PlanCandidate::chosen);
  const auto forecast = windows_that_pay(context, graph, desc, rates, chosen->total_us);
  if (!forecast) return;
  Policy policy;
  policy.core = Core::tensor;
  policy.window = forecast->shape.rows;
  policy.threshold = forecast->shape.threshold;
  policy.layout = forecast->shape.layout;
  PlanReport windows;
  try {
    windows = explain_windows(context, graph, desc, policy);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    GraphInternals::drop_windows(graph);
    return;
  }
  PlanCandidate candidate = std::move(windows.candidates.front());
  const CudaDevice& gpu = cuda_device(context.device().index);
  if (static_cast<double>(candidate.plan.workspace_bytes) > most_workspace * static_cast<double>(gpu.memory_bytes)) {
    GraphInternals::drop_windows(graph);
    return;
  }
  // Calls that windows do not fit, such as those whose rows are not aligned, run as if there were none.
  auto backing = std::make_shared<WindowPlan>(*candidate.plan.backing.windows);
  backing->otherwise = chosen->plan;
  candidate.plan.workspace_bytes = std::max(candidate.plan.workspace_bytes, backing->otherwise->workspace_bytes);
  candidate.plan.backing.windows = std::move(backing);
  candidate.plan.backing.modelled_us = candidate.total_us = forecast->us;
  report.reason = fmt::format("{}; {:.0f} us a run are expected, {:.0f} without windows ({}), for {} runs",
                              windows.reason, forecast->us, chosen->total_us, report.reason, context.expected_runs());
  chosen->chosen = false;
  report.candidates.insert(report.candidates.begin(), std::move(candidate));
}

}  // namespace weft
