// Whether windows of rows on tensor cores pay.
#pragma once

#include <optional>

#include "graph/graph_internals.hpp"
#include "graph/windows/row_windows.hpp"
#include "plan/tuning/cuda.hpp"
#include "weft/plan.hpp"

namespace weft {

/// Of an operator's kind by windows; null: the planner takes none by itself.
const tuning::WindowRates* window_rates(const OpDesc& desc, const tuning::CudaRates& rates);
/// A run by windows that have what was seen, on the scale of the planner's model: there a run without them takes
/// `cuda_us`.
double window_run_us(const OpDesc& desc, const tuning::CudaRates& rates, const tuning::WindowRates& of,
                     const GraphView& graph, const WindowEstimate& seen, double cuda_us);

double windows_made_us(const tuning::CudaRates& rates, const WindowShape& shape, EdgeId num_edges);
/// Whether windows may save in `runs` what making them costs, and a look at some of them first takes next to nothing of
/// all runs. `cuda_us`: a run's modelled time without them.
bool worth_a_look(const tuning::CudaRates& rates, const tuning::WindowRates& of, double made_us, EdgeId num_edges,
                  std::int64_t runs, double cuda_us);

/// Windows that are expected to save more than making them costs.
struct WindowForecast {
  WindowShape shape;
  double us = 0;       // a run, on the scale of the planner's model
  double made_us = 0;  // making them
};

/// `cuda_us`: a run's modelled time without windows. Most answers are no, and follow from the operator and the numbers
/// of edges and of runs that the context expects; otherwise a kernel looks at some windows, and waits for the stream.
/// Whether the graph has windows already makes no difference, as bits of results would then depend on what ran before.
std::optional<WindowForecast> windows_that_pay(const Context& context, const Graph& graph, const OpDesc& desc,
                                               const tuning::CudaRates& rates, double cuda_us);

/// Where windows pay, their plan is the report's choice, and the one that was is among those weighed. Windows for which
/// there is no memory do not.
void choose_windows(const Context& context, const Graph& graph, const OpDesc& desc, const tuning::CudaRates& rates,
                    PlanReport& report);

}  // namespace weft
