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

/// Of the time without windows: what they have to save for a forecast that may be off.
constexpr double least_saving = 0.06;
/// Of what windows save, at most this part may go into making them.
constexpr double making_share = 0.7;
/// Of all runs without windows: what a look at some may take.
constexpr double most_look = 0.005;
/// Of the GPU's memory: what sums of the residual, its statistics, terms of sources and pieces of f32 may take.
constexpr double most_workspace = 0.125;

/// Bytes of a node that windows have written for them, and read: sums of the residual; attention's statistics of it
/// and two terms of each source, for every head.
double bytes_a_node(const OpDesc& desc) {
  if (desc.kind == OpKind::sddmm) return 0;
  const std::int64_t of_heads = desc.kind == OpKind::attention ? 4 * desc.heads : 0;
  return 2.0 * sizeof(float) * static_cast<double>(desc.heads * desc.width + of_heads);
}

/// Kernels besides those that run without windows: the windows' own; a pass over sources (attention's terms, pieces of
/// f32); and behind gradients one over the columns of tiles.
double more_kernels(const OpDesc& desc) {
  if (desc.kind == OpKind::attention) return desc.backward ? 3 : 2;
  return desc.dtype == Dtype::f32 ? 2 : 1;
}

}  // namespace

const tuning::WindowRates* window_rates(const OpDesc& desc, const tuning::CudaRates& rates) {
  const tuning::WindowRates* of = nullptr;
  if (desc.kind == OpKind::spmm && !desc.weighted) {
    of = desc.dtype == Dtype::f32 ? &rates.sums_f32 : &rates.sums;
  } else if (desc.fits_windows && size_of(desc.dtype) == 2) {
    if (desc.kind == OpKind::spmm) of = &rates.weighted_sums;
    if (desc.kind == OpKind::sddmm) of = &rates.dots;
    if (desc.kind == OpKind::attention) of = desc.backward ? &rates.gat_gradients : &rates.gat;
  }
  return of != nullptr && of->tile_ns > 0 ? of : nullptr;
}

double window_run_us(const OpDesc& desc, const tuning::CudaRates& rates, const tuning::WindowRates& of,
                     const GraphView& graph, const WindowEstimate& seen, double cuda_us) {
  const double steps = std::ceil(static_cast<double>(desc.heads * desc.width) / 64);
  const double dense_edges = static_cast<double>(graph.num_edges) * seen.dense_share;
  // Multiprocessors that have no block wait: of those that are resident at once, two thirds of a gather's.
  const double windows = std::ceil(static_cast<double>(graph.num_rows) / 128);
  const double blocks = windows * steps * of.blocks_a_window;
  const double idle = std::max(1.0, static_cast<double>(rates.blocks) * 2 / 3 / std::max(blocks, 1.0));
  const double tiles_us =
      (seen.tiles * steps * of.tile_ns + dense_edges * (of.edge_ns + steps * of.edge_step_ns)) * idle * 1e-3;
  const double nodes_us = static_cast<double>(graph.num_rows) * bytes_a_node(desc) / (rates.stream_gb_s * 1e3);
  const double measured_us = tiles_us + nodes_us + more_kernels(desc) * rates.launch_us;
  return cuda_us * std::min(1.0, of.residual_factor * (1 - seen.dense_share)) + measured_us / of.run_share;
}

double windows_made_us(const tuning::CudaRates& rates, const WindowShape& shape, EdgeId num_edges) {
  const double edge_ns = shape.edges ? rates.listed_edge_ns : rates.window_edge_ns;
  return rates.window_us + static_cast<double>(num_edges) * edge_ns * 1e-3;
}

bool worth_a_look(const tuning::CudaRates& rates, const tuning::WindowRates& of, double made_us, EdgeId num_edges,
                  std::int64_t runs, double cuda_us) {
  const double all_us = static_cast<double>(runs) * of.run_share * cuda_us;
  const double look_us = rates.look_us + static_cast<double>(num_edges) * rates.look_edge_ns * 1e-3;
  return all_us * making_share * of.best_saving >= made_us && all_us * most_look >= look_us;
}

std::optional<WindowForecast> windows_that_pay(const Context& context, const Graph& graph, const OpDesc& desc,
                                               const tuning::CudaRates& rates, double cuda_us) {
  const std::int64_t runs = context.expected_runs();
  const tuning::WindowRates* const of = window_rates(desc, rates);
  // Times of tiles are those of wgmma.
  if (runs <= 1 || of == nullptr || !has_wgmma) return std::nullopt;
  WindowForecast forecast;
  forecast.shape = usual_windows(desc);
  const GraphView view = GraphInternals::view_without_ids(graph);
  if (!runs_by_windows(context.device(), desc, forecast.shape) || !EdgeOrder::possible(view) ||
      GraphInternals::is_redrawn(graph))
    return std::nullopt;
  forecast.made_us = windows_made_us(rates, forecast.shape, view.num_edges);
  if (!worth_a_look(rates, *of, forecast.made_us, view.num_edges, runs, cuda_us)) return std::nullopt;
  const auto memory = static_cast<double>(cuda_device(context.device().index).memory_bytes);
  const auto scratch = static_cast<double>(WindowScratch::most_bytes(desc, view.num_rows));
  if (scratch > most_workspace * memory) return std::nullopt;

  const WindowEstimate seen = GraphInternals::estimate_windows(graph, forecast.shape, context.stream());
  const double column_sums =
      desc.backward ? seen.tiles * static_cast<double>(window_step * sizeof(float) * desc.heads) : 0;
  if (scratch + column_sums > most_workspace * memory) return std::nullopt;
  forecast.us = window_run_us(desc, rates, *of, view, seen, cuda_us);
  const double saved = cuda_us - forecast.us;
  const double saved_by_all = static_cast<double>(runs) * of->run_share * saved;
  if (saved < least_saving * cuda_us || making_share * saved_by_all < forecast.made_us) return std::nullopt;
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
  // Calls that windows do not fit, such as those whose rows are not aligned, run as if there were none. Gradients are
  // planned for their calls.
  if (!desc.backward) {
    auto backing = std::make_shared<WindowPlan>(*candidate.plan.backing.windows);
    backing->otherwise = chosen->plan;
    candidate.plan.workspace_bytes = std::max(candidate.plan.workspace_bytes, backing->otherwise->workspace_bytes);
    candidate.plan.backing.windows = std::move(backing);
  }
  candidate.plan.backing.modelled_us = candidate.total_us = forecast->us;
  report.reason = fmt::format("{}; {:.0f} us per run are expected, {:.0f} without windows ({}), for {} runs",
                              windows.reason, forecast->us, chosen->total_us, report.reason, context.expected_runs());
  chosen->chosen = false;
  report.candidates.insert(report.candidates.begin(), std::move(candidate));
}

}  // namespace weft
