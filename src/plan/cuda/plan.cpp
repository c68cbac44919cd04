#include "plan/cuda/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.hpp"
#include "plan/cuda/tasks.hpp"
#include "plan/gather_shape.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft {
namespace {

// HP-SpMM's Dynamic Task Partition (Eq. 3 to 5): as many tasks as fill the GPU a whole number of times, so that no
// wave runs nearly empty. Here the shares are exact, so the number of tasks is free.
std::int64_t edges_for_waves(std::int64_t edges, std::int64_t places, int waves) {
  const std::int64_t share = (edges + places * waves - 1) / (places * waves);
  return (share + 31) / 32 * 32;
}

PlanCandidate evaluate(const GraphView& graph, Plan plan, const tuning::CudaRates& rates) {
  const auto features = static_cast<double>(plan.desc.heads * plan.desc.width);
  const auto element = static_cast<double>(size_of(plan.desc.dtype));
  const double edges = static_cast<double>(graph.num_edges), rows = static_cast<double>(graph.num_rows);
  const double row_bytes = features * element;
  const double table = row_bytes * static_cast<double>(graph.num_cols);
  const std::int64_t places = rates.blocks * block_threads / plan.lanes;
  PlanCandidate c;
  double gather_rate = table <= rates.l2_bytes ? rates.l2_gb_s : rates.memory_gather_gb_s;
  // The shorter the tasks, the narrower the window of columns that runs at a time; under 64 edges nothing is gained.
  if (plan.ordered)
    gather_rate *=
        1 + rates.order_gain * std::cbrt(64.0 / std::max<double>(64, static_cast<double>(plan.edges_a_task)));
  c.gather_us = edges * row_bytes / (gather_rate * 1e3);
  c.stream_us =
      (edges * (8.0 + (plan.desc.weighted ? 4.0 : 0.0)) + rows * (16.0 + row_bytes)) / (rates.stream_gb_s * 1e3);
  const double waves = static_cast<double>(plan.tasks) / static_cast<double>(places);
  c.imbalance = waves > 0 ? std::ceil(waves) / waves : 1;
  // With many waves the last one is a small part, and blocks of different length fill its gaps.
  if (waves > 4) c.imbalance = 1 + (c.imbalance - 1) / 2;
  const double staged = static_cast<double>(plan.tasks) * features * 4.0 * 2.0;  // written and read, one slot a task
  c.overhead_us = rates.launch_us + staged / (rates.stream_gb_s * 1e3) + waves * rates.task_ns * 1e-3;
  // A task alone cannot go faster than its loads follow one another.
  const double chain = static_cast<double>(plan.edges_a_task) / plan.loads * rates.load_ns * 1e-3;
  c.total_us = std::max((c.gather_us + c.stream_us) * c.imbalance, chain) + c.overhead_us;
  plan.modelled_us = c.total_us;
  c.plan = std::move(plan);
  return c;
}

}  // namespace

PlanReport explain_cuda(const Context& context, const GraphView& graph, std::uint64_t identity, const OpDesc& desc,
                        const Policy& policy) {
  WEFT_CHECK(desc.kind == OpKind::spmm || desc.kind == OpKind::spmv, unsupported,
             "{} has no CUDA kernels yet, and the context runs on {}: use a cpu context", name(desc.kind),
             to_string(context.device()));
  const tuning::CudaRates rates = tuning::cuda_rates();
  Plan base;
  base.desc = desc;
  base.device = context.device();
  base.threads = context.threads();
  base.graph = identity;
  base.schedule = ScheduleKind::edge_split;
  const std::int64_t features = desc.heads * desc.width;
  const GatherShape shape =
      gather_shape(std::max<std::int64_t>(features, 1), static_cast<int>(size_of(desc.dtype)), 16);
  base.vector = shape.vector;
  base.lanes = shape.lanes;
  base.steps = shape.steps;
  base.loads = shape.loads;
  const std::int64_t places = rates.blocks * block_threads / shape.lanes;
  const double mean =
      graph.num_rows > 0 ? static_cast<double>(graph.num_edges) / static_cast<double>(graph.num_rows) : 0;

  std::vector<std::int64_t> sizes;
  if (policy.edges_a_task > 0) {
    sizes.push_back((policy.edges_a_task + 31) / 32 * 32);
  } else {
    const std::int64_t most = tuning::most_edges_a_task(mean);
    for (const int waves : {1, 2, 3, 4, 6, 8})
      sizes.push_back(std::clamp<std::int64_t>(edges_for_waves(graph.num_edges, places, waves), 32, most));
    for (const std::int64_t size : {32, 64, 128, 256, 512}) sizes.push_back(std::min<std::int64_t>(size, most));
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  }
  PlanReport report;
  for (const bool ordered : {false, true}) {
    if (policy.ordered && *policy.ordered != ordered) continue;
    // Only tasks inside one row are reordered: rows must be long for that to be most of them.
    if (ordered && !policy.ordered && mean < rates.order_from_degree) continue;
    for (const std::int64_t size : sizes) {
      Plan plan = base;
      plan.edges_a_task = size;
      plan.tasks = (graph.num_edges + size - 1) / size;
      WEFT_CHECK(plan.tasks < (std::int64_t{1} << 31), unsupported,
                 "{} edges in tasks of {} are {} tasks: expected fewer than 2^31; let tasks be larger", graph.num_edges,
                 size, plan.tasks);
      plan.ordered = ordered;
      Arena counting;
      counting.take<float>(static_cast<std::size_t>(2 * plan.tasks * features), "parts of cut rows");
      plan.workspace_bytes = counting.used();
      report.candidates.push_back(evaluate(graph, std::move(plan), rates));
    }
  }
  const auto best = std::min_element(report.candidates.begin(), report.candidates.end(),
                                     [](const auto& a, const auto& b) { return a.total_us < b.total_us; });
  best->chosen = true;
  if (best->plan.ordered)
    best->plan.device_tasks = std::make_shared<DeviceTasks>(context, graph, best->plan.edges_a_task);
  report.reason = fmt::format("tasks of {} edges{}: lowest modelled time; {:.1f} waves of {} tasks",
                              best->plan.edges_a_task, best->plan.ordered ? ", ordered by column" : "",
                              static_cast<double>(best->plan.tasks) / static_cast<double>(places), places);
  return report;
}

}  // namespace weft
