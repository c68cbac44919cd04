#include "weft/plan.hpp"

#include <algorithm>
#include <functional>

#include "core/memory.hpp"
#include "core/names.hpp"
#include "graph/graph_internals.hpp"
#include "graph/sample/kept_rows.hpp"
#include "plan/cuda/plan.hpp"
#include "plan/cuda/tasks.hpp"
#include "plan/cuda/wide_heads.hpp"
#include "plan/cuda/windows.hpp"
#include "plan/partition.hpp"
#include "plan/plan_view.hpp"
#include "plan/scratch.hpp"
#include "plan/tuning/cpu.hpp"

namespace weft {
namespace {

bool samples(const OpDesc& desc) {
  return !desc.backward && (desc.kind == OpKind::spmm || desc.kind == OpKind::attention);
}

void check(const OpDesc& desc) {
  check_enum(desc.kind, OpKind::segment, "kind");
  check_enum(desc.reduce, last_of<Reduce>(), "reduce");
  WEFT_CHECK(is_floating(desc.dtype), invalid_argument, "dtype is {}: expected f32, f16, bf16 or f64",
             name(desc.dtype));
  WEFT_CHECK(desc.heads >= 1, invalid_argument, "heads is {}: expected at least 1", desc.heads);
  WEFT_CHECK(desc.width >= 0, invalid_argument, "width is {}: expected at least 0", desc.width);
  constexpr std::int64_t most = std::int64_t{1} << 31;
  WEFT_CHECK(desc.sample_width >= 0, invalid_argument,
             "sample_width is {}: expected 1 or more, the edges that a row keeps at most, or 0 for all edges",
             desc.sample_width);
  WEFT_CHECK(desc.sample_width == 0 || samples(desc), invalid_argument,
             "sample_width is {}: expected 0, as {} does not sample edges; spmm and attention do", desc.sample_width,
             desc.backward ? "a backward" : name(desc.kind));
  WEFT_CHECK(desc.heads <= most && desc.width <= most && desc.heads * desc.width <= most, invalid_argument,
             "heads {} x width {}: a row may hold at most 2^31 features", desc.heads, desc.width);
}

void check(const Policy& policy) {
  WEFT_CHECK(policy.tasks >= 0 && policy.tasks <= max_tasks, invalid_argument,
             "policy tasks is {}: expected 0 (the planner's choice) to {}", policy.tasks, max_tasks);
  WEFT_CHECK(policy.prefetch_edges >= -1 && policy.prefetch_edges <= max_prefetch, invalid_argument,
             "policy prefetch_edges is {}: expected -1 (the planner's choice) to {}", policy.prefetch_edges,
             max_prefetch);
  if (policy.schedule) check_enum(*policy.schedule, ScheduleKind::edge_split, "policy schedule");
  check_enum(policy.assignment, Assignment::consecutive, "policy assignment");
  WEFT_CHECK(policy.edges_a_group >= 0 && policy.edges_a_group <= max_edges_a_group, invalid_argument,
             "policy edges_a_group is {}: expected 0 (the planner's choice) to {}", policy.edges_a_group,
             max_edges_a_group);
  WEFT_CHECK(policy.whole_row >= -1 && policy.whole_row <= max_whole_row, invalid_argument,
             "policy whole_row is {}: expected -1 (the planner's choice) to {}", policy.whole_row, max_whole_row);
  if (policy.order) check_enum(*policy.order, WorkOrder::clusters_columns, "policy order");
  const int vector = policy.vector, stage = policy.stage_edges.value_or(0);
  WEFT_CHECK(vector == 0 || vector == 1 || vector == 2 || vector == 4 || vector == 8, invalid_argument,
             "policy vector is {}: expected 0 (the planner's choice), 1, 2, 4 or 8", vector);
  const int lanes = policy.lanes, loads = policy.loads;
  WEFT_CHECK(lanes >= 0 && lanes <= 32 && (lanes & (lanes - 1)) == 0, invalid_argument,
             "policy lanes is {}: expected 0 (the planner's choice) or a power of two up to 32", lanes);
  WEFT_CHECK(loads == 0 || loads == 2 || loads == 4 || loads == 8, invalid_argument,
             "policy loads is {}: expected 0 (the planner's choice), 2, 4 or 8", loads);
  WEFT_CHECK(stage == 0 || stage == 32 || stage == 64 || stage == 128, invalid_argument,
             "policy stage_edges is {}: expected 0 (registers), 32, 64 or 128", stage);
  check_enum(policy.flush, Flush::atomic, "policy flush");
  check_enum(policy.accumulate, Accumulate::half2, "policy accumulate");
  check_enum(policy.sample_kernel, SampleKernel::cache_first, "policy sample_kernel");
  if (policy.core) check_enum(*policy.core, Core::tensor, "policy core");
  if (policy.layout) check_enum(*policy.layout, WindowLayout::loa, "policy layout");
  if (policy.select) check_enum(*policy.select, WindowSelect::model, "policy select");
  const int window = policy.window;
  WEFT_CHECK(window == 0 || window == 16 || window == 64 || window == 128, invalid_argument,
             "policy window is {}: expected 0 (the planner's choice), 16, 64 or 128 rows", window);
  WEFT_CHECK(policy.threshold >= 0 && policy.threshold <= most_threshold, invalid_argument,
             "policy threshold is {}: expected 0 (the planner's choice) to {} edges", policy.threshold, most_threshold);
  const bool windows = window > 0 || policy.threshold > 0 || policy.layout || policy.select || policy.tf32;
  WEFT_CHECK(!windows || policy.core == Core::tensor, invalid_argument,
             "policy window, threshold, layout, select and tf32 are of core=tensor: give it, too, or leave them out");
}

// How much longer the slowest thread works than the average, were tasks handed to the next free one.
double imbalance(const Partition& partition, int threads, Assignment assignment) {
  std::vector<double> load(static_cast<std::size_t>(threads), 0.0);  // dynamic: a heap, the least loaded in front
  double sum = 0;
  for (std::int64_t task = 0; task < partition.tasks(); ++task) {
    const auto cost = static_cast<double>(partition.cost(task));
    sum += cost;
    if (assignment == Assignment::round_robin) {
      load[static_cast<std::size_t>(task % threads)] += cost;
    } else {
      std::pop_heap(load.begin(), load.end(), std::greater<>());
      load.back() += cost;
      std::push_heap(load.begin(), load.end(), std::greater<>());
    }
  }
  return sum > 0 ? *std::max_element(load.begin(), load.end()) * threads / sum : 1.0;
}

/// The number of sources that a pass scales before the sums: all, or 0. A scale along the edges costs as much per edge
/// as the pass costs per 8 features of a source (bench/records/cpu-xeon-avx512/scaled-sums.json).
std::int64_t scaled_rows(const OpDesc& desc, const GraphView& graph) {
  constexpr std::int64_t features_per_edge = 8;
  const bool fits = desc.kind == OpKind::spmm && desc.scales_sources && size_of(desc.dtype) > 2 &&
                    !is_extremum(desc.reduce) && desc.sample_width == 0;
  const std::int64_t features = desc.heads * desc.width;
  return fits && graph.num_edges * features_per_edge >= graph.num_cols * features ? graph.num_cols : 0;
}

PlanCandidate evaluate(const GraphView& graph, Plan plan, std::shared_ptr<const LongRows> long_rows) {
  const tuning::CpuRates rates = tuning::cpu_rates();
  const OpDesc& d = plan.desc;
  const CpuPlan& cpu = plan.cpu();
  const double edges = static_cast<double>(graph.num_edges), rows = static_cast<double>(graph.num_rows);
  const double row_bytes = static_cast<double>(d.heads * d.width) * static_cast<double>(size_of(d.dtype));
  const double table_bytes = row_bytes * static_cast<double>(graph.num_cols);
  const bool gathers = d.kind != OpKind::softmax && d.kind != OpKind::segment;
  const bool cached = table_bytes <= static_cast<double>(tuning::cache_bytes());

  auto partition = std::make_shared<Partition>(make_partition(graph, plan.schedule, plan.tasks, std::move(long_rows)));
  PlanCandidate c;
  const double per_thread = 1e3 * cpu.threads;  // GB/s -> bytes a microsecond, all threads
  c.gather_us =
      gathers ? edges * row_bytes / ((cached ? rates.cached_gather_gb_s : rates.memory_gather_gb_s) * per_thread) : 0;
  const double streamed =
      edges * (4.0 + (d.weighted ? static_cast<double>(size_of(d.dtype) * static_cast<std::size_t>(d.heads)) : 0.0)) +
      rows * (8.0 + row_bytes) + (gathers ? 0.0 : edges * row_bytes);
  c.stream_us = streamed / (rates.stream_gb_s * per_thread);
  c.compute_us = 2.0 * edges * static_cast<double>(d.heads * d.width) / (rates.gflop_s * per_thread);
  c.imbalance = imbalance(*partition, cpu.threads, plan.assignment);
  const double busy_us = std::max(c.gather_us + c.stream_us, c.compute_us) * c.imbalance;
  c.overhead_us = static_cast<double>(plan.tasks) * rates.task_us / cpu.threads +
                  static_cast<double>(cpu.pieces) * row_bytes * 2 / (rates.stream_gb_s * 1e3);
  // Tasks of equal work do not take equal time: caches and other programs see to that, and the last one is waited for.
  if (cpu.threads > 1)
    c.overhead_us += rates.start_us + rates.uneven * busy_us * cpu.threads / static_cast<double>(plan.tasks);
  c.total_us = busy_us + c.overhead_us;
  plan.backing.modelled_us = c.total_us;
  plan.backing.partition = std::move(partition);
  c.plan = std::move(plan);
  return c;
}

/// Every candidate the policy leaves, and the cheapest of them chosen.
PlanReport weigh(const Context& context, const GraphView& graph, std::uint64_t identity, const OpDesc& desc,
                 const Policy& policy) {
  WEFT_CHECK(policy.assignment != Assignment::consecutive, invalid_argument,
             "policy assignment=consecutive is a GPU's, and the context runs on {}: expected dynamic or round_robin",
             to_string(context.device()));
  auto long_rows = std::make_shared<const LongRows>(find_long_rows(graph, context.threads()));
  Plan base;
  base.desc = desc;
  base.device = context.device();
  base.assignment = policy.assignment;
  base.backing.graph = identity;
  CpuPlan& cpu = base.how.emplace<CpuPlan>();
  cpu.threads = context.threads();
  cpu.piece_edges = piece_edges;
  cpu.long_rows = static_cast<std::int64_t>(long_rows->rows.size());
  cpu.pieces = long_rows->slots;
  const std::int64_t row_bytes = desc.heads * desc.width * static_cast<std::int64_t>(size_of(desc.dtype));
  // The loop over rows of one feature has none: its loads do not wait for one another.
  const bool narrow = (desc.kind == OpKind::spmm || desc.kind == OpKind::spmv) && desc.heads * desc.width == 1;
  cpu.prefetch_edges = narrow                       ? 0
                       : policy.prefetch_edges >= 0 ? policy.prefetch_edges
                                                    : tuning::prefetch_edges(row_bytes);

  cpu.scaled_rows = scaled_rows(desc, graph);

  const std::int64_t work = graph.num_edges + graph.num_rows;
  const std::int64_t smallest =
      std::max<std::int64_t>(64, tuning::task_elements() / std::max<std::int64_t>(1, desc.heads * desc.width));
  const std::int64_t most = std::clamp<std::int64_t>(work / smallest, 1, std::int64_t{cpu.threads} * 64);

  PlanReport report;
  for (const ScheduleKind schedule : {ScheduleKind::edge_split, ScheduleKind::rows}) {
    if (policy.schedule && schedule != *policy.schedule) continue;
    std::int64_t before = 0;
    for (const std::int64_t per_thread : {std::int64_t{1}, std::int64_t{4}, std::int64_t{16}, std::int64_t{64}}) {
      const std::int64_t tasks = policy.tasks > 0 ? policy.tasks : std::min(most, cpu.threads * per_thread);
      if (tasks == before) continue;
      before = tasks;
      Plan plan = base;
      plan.schedule = schedule;
      plan.tasks = tasks;
      plan.workspace_bytes = scratch_bytes(plan);
      report.candidates.push_back(evaluate(graph, std::move(plan), long_rows));
    }
  }
  const auto best = std::min_element(report.candidates.begin(), report.candidates.end(),
                                     [](const auto& a, const auto& b) { return a.total_us < b.total_us; });
  best->chosen = true;
  report.reason = fmt::format(
      "{} with {} task{}: lowest modelled time; the slowest thread has {:.2f} times the average work, {} of {} rows "
      "are "
      "longer than {} edges and are cut",
      name(best->plan.schedule), best->plan.tasks, best->plan.tasks == 1 ? "" : "s", best->imbalance,
      best->plan.cpu().long_rows, graph.num_rows, piece_edges);
  return report;
}

}  // namespace

PlanReport explain_view(const Context& context, const GraphView& graph, std::uint64_t identity, const OpDesc& desc,
                        const Policy& policy, const Graph* owner) {
  check(desc);
  check(policy);
  if (context.device().kind == DeviceKind::cuda) return explain_cuda(context, graph, identity, desc, policy, owner);
  return or_out_of_memory("a plan", [&] { return weigh(context, graph, identity, desc, policy); });
}

Plan chosen(PlanReport report) {
  for (auto& candidate : report.candidates)
    if (candidate.chosen) return std::move(candidate.plan);
  fail(ErrorCode::internal, "the planner chose nothing among {} candidates", report.candidates.size());
}

void check_on_device(const Context& context, const Graph& graph) {
  WEFT_CHECK(graph.device() == context.device(), invalid_argument,
             "the graph is on {}, but the context runs on {}: copy the graph with to(context.device())",
             to_string(graph.device()), to_string(context.device()));
}

PlanReport explain_plan(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& policy) {
  check_on_device(context, graph);
  check(desc);
  GraphView view = GraphInternals::view_without_ids(graph);
  OpDesc of_edges = desc;
  if (desc.sample_width > 0) {
    const auto kept = GraphInternals::kept_rows(graph, desc.sample_width);
    if (kept->edges == view.num_edges && policy.sample_kernel == SampleKernel::usual) of_edges.sample_width = 0;
    if (of_edges.sample_width > 0) view = kept->over(view);
  }
  const std::int64_t wider = head_width(context, desc, view, policy);
  if (wider > 0) of_edges.width = wider;
  PlanReport report = explain_view(context, view, graph.identity(), of_edges, policy, &graph);
  for (PlanCandidate& candidate : report.candidates) {
    Plan& plan = candidate.plan;
    plan.desc = desc;
    plan.backing.draws_sample = of_edges.sample_width > 0;
    if (wider > 0) {
      Arena counting;
      const bool turned = desc.backward;  // then the view is of the transpose
      WideHeads::take(counting, of_edges, turned ? view.num_cols : view.num_rows,
                      turned ? view.num_rows : view.num_cols);
      counting.take<std::byte>(plan.workspace_bytes, "what kernels take");
      plan.cuda().head_width = wider;
      plan.workspace_bytes = counting.used();
    }
  }
  for (const PlanCandidate& candidate : report.candidates)
    if (candidate.chosen) view_by(candidate.plan, graph);  // runs ask for no memory
  return report;
}

namespace {

/// Whether a run knows the ids of edges by its plan: from an order of the edges, or lists of the edges of windows.
bool has_ids(const Plan& plan) {
  const OpKind kind = plan.desc.kind;
  if (plan.backing.draws_sample || !(kind == OpKind::spmm || kind == OpKind::spmv || plan.desc.backward)) return false;
  const auto* const cuda = std::get_if<CudaPlan>(&plan.how);
  if (cuda == nullptr || cuda->core != Core::tensor) return walks_clusters(plan);
  const std::optional<Plan>& otherwise = plan.backing.windows->otherwise;
  return !otherwise || has_ids(*otherwise);
}

}  // namespace

GraphView view_by(const Plan& plan, const Graph& graph) {
  const GraphView whole =
      reads_ids(plan.desc) && !has_ids(plan) ? graph.view() : GraphInternals::view_without_ids(graph);
  return plan.backing.draws_sample ? GraphInternals::kept_rows(graph, plan.desc.sample_width)->over(whole) : whole;
}

SampledPlaces places_by(const Plan& plan, const Graph& graph, const std::optional<EdgeSample>& sample, bool by_id) {
  if (!plan.backing.draws_sample) return {};
  // A GPU's kernels read ids of samples in 32 bits.
  WEFT_CHECK(
      plan.device.kind == DeviceKind::cpu || !by_id || graph.num_edges() < (std::int64_t{1} << 31), unsupported,
      "the graph has {} edges: sampled edges that have values, biases or dropout, or whose ids are asked for, are "
      "of fewer than 2^31 on CUDA; take the graph that sample_edges() gives",
      graph.num_edges());
  return {GraphInternals::view_without_ids(graph).offsets, EdgeChoice(*sample)};
}

Plan make_plan(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& policy) {
  return chosen(explain_plan(context, graph, desc, policy));
}

}  // namespace weft
