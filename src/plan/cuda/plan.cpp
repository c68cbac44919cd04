#include "plan/cuda/plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/check.hpp"
#include "core/device.hpp"
#include "graph/graph_internals.hpp"
#include "plan/cuda/scratch.hpp"
#include "plan/cuda/select.hpp"
#include "plan/cuda/shape_choice.hpp"
#include "plan/cuda/stage_choice.hpp"
#include "plan/cuda/tasks.hpp"
#include "plan/cuda/window_choice.hpp"
#include "plan/cuda/windows.hpp"
#include "plan/gather_shape.hpp"
#include "plan/plan_view.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft {
namespace {

/// What the candidates of one call have in common.
struct Call {
  const GraphView& graph;
  const OpDesc& desc;
  GatherShape shape;
  bool narrow = false;  // lanes lie along the edges
  int stage_edges = 0;
  tuning::CudaRates rates;
  bool redrawn = false;  // the graph's edges are drawn anew in place, and put in order again

  double edges() const { return static_cast<double>(graph.num_edges); }
  double rows() const { return static_cast<double>(graph.num_rows); }
  double mean_degree() const { return weft::mean_degree(graph); }
  double features() const { return static_cast<double>(desc.heads * desc.width); }
  double row_bytes() const { return features() * static_cast<double>(size_of(desc.dtype)); }
  // What runs a share: a group of threads, or a warp where edges are staged in shared memory.
  std::int64_t groups_a_block() const { return block_threads / (stage_edges > 0 ? 32 : shape.lanes); }
  // Rates are those of three blocks per multiprocessor.
  std::int64_t resident() const {
    if (desc.kind != OpKind::attention) return 3;
    const int bytes = static_cast<int>(size_of(desc.dtype));
    const bool shared = shares_weights(desc.heads, desc.width, bytes, shape);
    return resident_blocks_of_attention(desc.backward, shared, bytes, shape);
  }
  std::int64_t places() const { return rates.blocks * resident() / 3 * groups_a_block(); }  // groups that run at once
  bool reduces() const { return desc.kind != OpKind::sddmm; }
  bool softmax() const { return desc.kind == OpKind::softmax; }
  // Groups of a block unite sums of rows; what a softmax is part of meets in slots.
  bool joins() const { return reduces() && !softmax(); }
  // Every row has statistics to be written.
  bool always_finishes() const { return desc.kind == OpKind::attention; }
};

/// How often the GPU is filled by shares of that size.
double waves(const Call& call, std::int64_t share) {
  return std::max(call.edges() / static_cast<double>(share * call.places()), 1e-9);
}

// HP-SpMM's Dynamic Task Partition (Eq. 3 to 5): as many shares as fill the GPU a whole number of times, so that no
// wave runs nearly empty. Here the shares are exact, so their number is free.
std::int64_t edges_for_waves(const Call& call, int waves) {
  const std::int64_t shares = call.places() * waves;
  return ((call.graph.num_edges + shares - 1) / shares + 7) / 8 * 8;
}

/// Sizes of a group's share worth weighing. Where the order is for the sake of the cache, the size decides how wide a
/// window of sources runs at a time, and one is best; otherwise all that fill the GPU are weighed.
std::vector<std::int64_t> share_sizes(const Call& call, const Policy& policy, WorkOrder order) {
  const auto whole = [](std::int64_t edges) { return (edges + 7) / 8 * 8; };
  // Whole tiles, and few enough that sums which go on from tile to tile keep to the bound.
  const auto tiles = [&](std::int64_t edges) {
    return std::min<std::int64_t>((edges + call.stage_edges - 1) / call.stage_edges, 8) * call.stage_edges;
  };
  if (policy.edges_a_group > 0) return {whole(policy.edges_a_group)};
  // What HP-SpMM compares its waves with: edges / rows, however full the GPU is then.
  // (No longer than sums may be: the limits that `edges=` has.)
  if (!policy.waves) {
    const std::int64_t most = call.desc.kind == OpKind::softmax ? tuning::most_edges_of_softmax
                              : call.narrow                     ? max_edges_a_group
                                                                : tuning::most_edges_in_sequence;
    const std::int64_t mean = std::clamp<std::int64_t>(static_cast<std::int64_t>(call.mean_degree()), 1, most);
    return {call.stage_edges > 0 ? tiles(mean) : whole(mean)};
  }
  const auto cached = [&](std::int64_t most) {
    std::int64_t size = most;
    while (size > 32 && waves(call, size) < 8) size /= 2;
    return std::vector<std::int64_t>{size};
  };
  if (call.stage_edges > 0 && order != WorkOrder::none) return {tuning::edges_by_tiles(call.mean_degree())};
  const std::int64_t window = tuning::edges_by_columns(
      call.row_bytes(), call.mean_degree(), call.reduces() && (size_of(call.desc.dtype) == 2 || call.desc.backward));
  if (order == WorkOrder::columns) return cached(window);
  if (order == WorkOrder::clusters_columns) return cached(2 * window);
  if (order == WorkOrder::clusters) return cached(tuning::edges_by_clusters(call.row_bytes()));
  // Nothing is cut where rows are not reduced: short shares then cost nothing, and the GPU is always full.
  if (!call.reduces()) {
    std::int64_t size = call.mean_degree() < 8 ? 16 : 32;
    while (size > 8 && waves(call, size) < 1) size /= 2;
    return {size};
  }
  std::vector<std::int64_t> sizes;
  const std::int64_t least = call.narrow ? narrow_lanes : 8;
  const std::int64_t most =
      call.narrow ? tuning::most_edges_a_warp : tuning::most_edges_a_group(call.mean_degree(), call.row_bytes());
  for (const int waves : {1, 2, 3, 4, 6, 8})
    sizes.push_back(std::clamp<std::int64_t>(edges_for_waves(call, waves), least, most));
  for (const std::int64_t size : {16, 32, 64, 128}) sizes.push_back(std::min(call.narrow ? 4 * size : size, most));
  if (call.stage_edges > 0)
    for (std::int64_t& size : sizes) size = tiles(size);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

bool has_clusters(const Call& call, const Graph* owner) {
  if (owner == nullptr) return false;
  const std::int64_t width = call.desc.sample_width;
  return width > 0 ? GraphInternals::has_clustered_kept_rows(*owner, width)
                   : GraphInternals::has_clustered_edges(*owner);
}

/// Modelled cost of making that order; one the graph has kept costs nothing.
double order_us(const Call& call, WorkOrder order, const Graph* owner) {
  const tuning::CudaRates& r = call.rates;
  double us = by_columns(order) ? r.sort_us + call.edges() * r.sort_edge_ns * 1e-3 : 0;
  // (That of a graph which is redrawn serves all its steps.)
  if (by_clusters(order) && !call.redrawn && !has_clusters(call, owner))
    us += r.cluster_us + call.edges() * r.cluster_edge_ns * 1e-3 +
          (owner != nullptr && GraphInternals::has_communities(*owner) ? 0 : call.rows() * r.cluster_row_ns * 1e-3);
  return us;
}

template <class Acc>
std::size_t gather_bytes(const Call& call, const Plan& plan) {
  Arena counting;
  if (call.desc.sample_width > 0) SampleScratch<Acc>::take(counting, call.desc, call.graph);
  StagedRows<Acc>::take(counting, plan);
  return counting.used();
}

std::size_t workspace_of(const Call& call, const Plan& plan) {
  if (call.softmax()) return softmax_bytes(plan, call.graph.num_rows);
  return call.desc.dtype == Dtype::f64 ? gather_bytes<double>(call, plan) : gather_bytes<float>(call, plan);
}

Plan candidate(const Call& call, const Plan& base, std::int64_t share, WorkOrder order, const Policy& policy) {
  const GraphView& g = call.graph;
  Plan plan = base;
  CudaPlan& cuda = plan.cuda();
  cuda.order = order;
  cuda.joined =
      policy.joined.value_or(call.joins() && cuda.stage_edges == 0 && !by_columns(order) &&
                             (order == WorkOrder::none || call.row_bytes() >= call.rates.joined_clusters_bytes));
  WEFT_CHECK(!cuda.joined || call.joins(), invalid_argument,
             "policy join=yes for {}: it has no sums of rows that groups could unite; expected join=no, or no join",
             name(call.desc.kind));
  WEFT_CHECK(!cuda.joined || !by_columns(order), invalid_argument,
             "policy join=yes with order={}: tasks in the order of their columns are not neighbours; expected join=no, "
             "or another order",
             name(order));
  cuda.edges_a_task = cuda.joined ? share * call.groups_a_block() : share;
  plan.tasks = (g.num_edges + cuda.edges_a_task - 1) / cuda.edges_a_task;
  WEFT_CHECK(plan.tasks < (std::int64_t{1} << 31), unsupported,
             "{} edges in tasks of {} are {} tasks: expected fewer than 2^31; let tasks be larger", g.num_edges,
             cuda.edges_a_task, plan.tasks);
  const bool zeroed = cuda.flush == Flush::atomic;  // everything is added to an output of zeros
  bool cuts = !zeroed;
  if (cuda.joined) {
    // A block is as much longer than its task as the row that ends it: only short rows stay whole, unless then no row
    // needs a second pass.
    const bool fits = g.longest_row >= 0 && 2 * g.longest_row <= cuda.edges_a_task * (waves(call, share) < 2 ? 4 : 1);
    cuda.whole_row = policy.whole_row >= 0 ? policy.whole_row : fits ? g.longest_row : cuda.edges_a_task / 8;
    cuts = g.longest_row < 0 || g.longest_row > cuda.whole_row;
  }
  cuda.finish_pass =
      call.reduces() && !zeroed && (call.always_finishes() || cuts || g.empty_rows != 0 || g.num_edges == 0);
  cuda.staged_rows = call.reduces() && cuts ? 2 * plan.tasks : 0;
  plan.workspace_bytes = workspace_of(call, plan);
  return plan;
}

/// About so many edges per row group; fewer than the best are weighed only where those leave gaps on the GPU.
std::vector<std::int64_t> row_shares(const Call& call, const Policy& policy) {
  if (policy.edges_a_group > 0) return {policy.edges_a_group};
  if (waves(call, tuning::edges_by_rows) >= 4) return {tuning::edges_by_rows};
  return {tuning::edges_by_rows, tuning::edges_by_rows * 2 / 3, tuning::edges_by_rows / 3};
}

/// Tasks of whole rows, about `share` edges each: where no row is much longer than the others that is all they cost.
Plan row_candidate(const Call& call, const Plan& base, std::int64_t share) {
  const GraphView& g = call.graph;
  Plan plan = base;
  CudaPlan& cuda = plan.cuda();
  plan.schedule = ScheduleKind::rows;
  cuda.rows_a_task =
      std::max<std::int64_t>(1, std::llround(static_cast<double>(share) / std::max(call.mean_degree(), 1e-9)));
  plan.tasks = g.num_edges > 0 ? (g.num_rows + cuda.rows_a_task - 1) / cuda.rows_a_task : 0;
  cuda.finish_pass = call.always_finishes() || g.empty_rows != 0 || g.num_edges == 0;
  plan.workspace_bytes = workspace_of(call, plan);
  return plan;
}

/// The pass before a gather of a sample: columns are gathered one by one, and written; rows and starts are read for it.
double drawing_us(const Call& call) {
  if (call.desc.sample_width == 0) return 0;
  return call.rates.launch_us + call.edges() * (call.rates.sector_bytes + 12.0) / (call.rates.stream_gb_s * 1e3);
}

PlanCandidate evaluate(const Call& call, Plan plan, std::int64_t share) {
  const tuning::CudaRates& r = call.rates;
  PlanCandidate c;
  const double table = call.row_bytes() * static_cast<double>(call.graph.num_cols);
  double gather_rate = table <= r.l2_bytes ? r.l2_gb_s : r.memory_gather_gb_s;
  if (by_columns(plan.cuda().order)) gather_rate *= 1 + r.column_gain;
  if (by_clusters(plan.cuda().order)) gather_rate *= tuning::cluster_gain(table, call.mean_degree());
  c.gather_us = call.edges() * std::max(call.row_bytes(), r.sector_bytes) / (gather_rate * 1e3);
  const double index_bytes = 8.0 + (call.desc.weighted ? 4.0 : 0.0) + (by_clusters(plan.cuda().order) ? 4.0 : 0.0);
  const double out_bytes = call.reduces() ? call.rows() * (16.0 + call.row_bytes()) : call.edges() * 4.0;
  c.stream_us = (call.edges() * index_bytes + out_bytes) / (r.stream_gb_s * 1e3);
  const double filled = waves(call, share);
  c.imbalance = std::ceil(filled) / filled;
  // With many waves the last one is a small part, and blocks of different length fill its gaps.
  if (filled > 4) c.imbalance = 1 + (c.imbalance - 1) / 2;
  // Loose tasks write a slot each and read it again; joined ones only what rows longer than a task leave.
  const double slots = !call.reduces() || plan.cuda().staged_rows == 0 ? 0
                       : plan.cuda().joined                            ? static_cast<double>(plan.tasks) * 0.1
                                                                       : static_cast<double>(plan.tasks);
  const double staged = slots * call.features() * 4.0 * 2.0;
  // Joined tasks look for their borders first; whole rows begin where an offset says.
  const double starts = plan.cuda().joined ? 2 : plan.schedule == ScheduleKind::rows ? 0.5 : 1;
  c.overhead_us = r.launch_us + (plan.cuda().finish_pass ? r.finish_us : 0) + staged / (r.stream_gb_s * 1e3) +
                  filled * r.task_ns * 1e-3 * starts;
  // One group unites the parts of a row, eight at a time.
  if (plan.cuda().staged_rows > 0 && call.graph.longest_row > 0)
    c.overhead_us += static_cast<double>(call.graph.longest_row / plan.cuda().edges_a_task / 8) * r.load_ns * 1e-3;
  if (plan.cuda().sample_kernel == SampleKernel::usual) c.overhead_us += drawing_us(call);
  // Shared by the layers that a step has at the least.
  if (call.redrawn && by_clusters(plan.cuda().order)) c.overhead_us += call.edges() * r.cluster_edge_ns * 1e-3 / 2;
  // A group alone cannot go faster than its loads follow one another.
  const double chain = static_cast<double>(share) / plan.cuda().loads * r.load_ns * 1e-3;
  c.total_us = std::max((c.gather_us + c.stream_us) * c.imbalance, chain) + c.overhead_us;
  plan.backing.modelled_us = c.total_us;
  c.plan = std::move(plan);
  return c;
}

/// Whether tasks of whole rows are worth weighing, or asked for; an Error where they are asked for and cannot be.
bool weighs_rows(const Call& call, const Policy& policy) {
  const bool can = call.reduces() && call.stage_edges == 0;
  const EdgeId longest = call.graph.longest_row;
  if (policy.schedule == ScheduleKind::rows) {
    WEFT_CHECK(call.reduces(), invalid_argument,
               "policy schedule=rows for {} on CUDA: expected an operator that reduces rows; leave the policy out",
               name(call.desc.kind));
    const char* beside = policy.order ? "order" : policy.joined ? "join" : call.stage_edges > 0 ? "stage" : nullptr;
    WEFT_CHECK(beside == nullptr, invalid_argument,
               "policy schedule=rows with {0}: whole rows are a group's, in the graph's order; leave {0} out", beside);
    WEFT_CHECK(longest >= 0 && longest <= tuning::most_edges_in_sequence, unsupported,
               "policy schedule=rows: the longest row has {} edges, and one group of threads would take it all; "
               "expected at most {}; leave the policy out",
               longest >= 0 ? fmt::format("{}", longest) : "an unknown number of", tuning::most_edges_in_sequence);
    return true;
  }
  return can && !policy.schedule && !policy.order && !policy.joined && policy.whole_row < 0 && policy.waves &&
         !call.narrow && tuning::rows_alike(call.mean_degree(), longest, call.row_bytes());
}

/// The orders worth weighing: those the policy names, or that can pay.
std::vector<WorkOrder> orders(const Call& call, const Policy& policy, const Graph* owner) {
  if (policy.schedule == ScheduleKind::rows) return {};
  const bool sampled = call.desc.sample_width > 0;
  WEFT_CHECK(!sampled || !by_columns(policy.order.value_or(WorkOrder::none)), invalid_argument,
             "policy order={} of sampled edges: expected order=none or order=clusters, as columns are drawn by the "
             "run; or take the graph that sample_edges() gives",
             name(*policy.order));
  if (policy.order) return {*policy.order};
  std::vector<WorkOrder> result = {WorkOrder::none};
  if (policy.sample_kernel == SampleKernel::cache_first) return result;
  // Only tasks inside one row are reordered: rows must be long for that to be most of them.
  // Narrow rows gain little: so many fit into the caches that those of other tasks are there anyway.
  const bool long_rows = call.mean_degree() >= call.rates.column_from_degree && !call.narrow;
  const double table = call.row_bytes() * call.rows();
  const bool clusters = owner != nullptr && !call.softmax() && EdgeOrder::possible(call.graph) &&
                        call.mean_degree() >= call.rates.cluster_from_degree &&
                        tuning::cluster_gain(table, call.mean_degree()) > 1.1;
  if (long_rows && !sampled && !call.redrawn) result.push_back(WorkOrder::columns);
  if (clusters) result.push_back(WorkOrder::clusters);
  return result;
}

SampleKernel choose_sample_kernel(const OpDesc& desc, const Policy& policy) {
  const bool has_one = desc.sample_width > 0 && desc.kind == OpKind::spmm && desc.heads == 1 &&
                       !is_extremum(desc.reduce) && desc.dtype != Dtype::f64;
  WEFT_CHECK(
      policy.sample_kernel == SampleKernel::usual || has_one, unsupported,
      "policy sample_kernel={} for {} {} {} of {} edges per row: only sums and means of one head over sampled edges, "
      "in f32, f16 and bf16, have that kernel; leave the policy out",
      name(policy.sample_kernel), name(desc.kind), name(desc.dtype), name(desc.reduce),
      desc.sample_width > 0 ? fmt::format("{}", desc.sample_width) : "all");
  if (policy.sample_kernel == SampleKernel::usual) return policy.sample_kernel;
  const std::string key = fmt::format("sample_kernel={}", name(policy.sample_kernel));
  require_ablations(key);
  const bool alone = policy.edges_a_group == 0 && !policy.schedule && !policy.order && !policy.joined &&
                     policy.whole_row < 0 && policy.vector == 0 && policy.lanes == 0 && policy.loads == 0 &&
                     policy.waves && !policy.stage_edges && policy.flush == Flush::ordered &&
                     policy.accumulate == Accumulate::f32 && policy.assignment == Assignment::dynamic;
  WEFT_CHECK(alone, invalid_argument, "policy {} with other keys: expected it alone, as that kernel looks at none",
             key);
  return policy.sample_kernel;
}

}  // namespace

PlanReport explain_cuda(const Context& context, const GraphView& graph, std::uint64_t identity, const OpDesc& desc,
                        const Policy& policy, const Graph* owner) {
  if (policy.core == Core::tensor) {
    WEFT_CHECK(owner != nullptr, unsupported, "policy core=tensor for {}: only graphs have windows; leave it out",
               name(desc.kind));
    return explain_windows(context, *owner, desc, policy);
  }
  const std::int64_t features = std::max<std::int64_t>(desc.heads * desc.width, 1);
  Plan base;
  base.desc = desc;
  base.device = context.device();
  base.backing.graph = identity;
  CudaPlan& cuda = base.how.emplace<CudaPlan>();
  choose_stage(base, policy, graph);
  // What launches decide by is not all known here: calls that then run with other groups take the same tasks.
  const bool narrow =
      desc.kind == OpKind::softmax ||
      (cuda.stage_edges == 0 &&
       is_narrow(features, (desc.kind == OpKind::spmm || desc.kind == OpKind::spmv) && !is_extremum(desc.reduce)));
  const tuning::CudaRates rates = tuning::cuda_rates(cuda_device(context.device().index));
  const int most = widest_load(desc, policy, graph, rates, narrow || cuda.stage_edges > 0);
  const GatherShape usual =
      (narrow ? narrow_shape : gather_shape)(features, static_cast<int>(size_of(desc.dtype)), most);
  const bool redrawn = owner != nullptr && GraphInternals::is_redrawn(*owner);
  const Call call{
      graph, desc,   choose_shape(usual, desc, policy, cuda.stage_edges > 0, narrow), narrow, cuda.stage_edges,
      rates, redrawn};
  WEFT_CHECK(narrow || policy.edges_a_group <= tuning::most_edges_in_sequence, invalid_argument,
             "policy edges={} for {} features: expected at most {}, as one group of threads takes them all",
             policy.edges_a_group, features, tuning::most_edges_in_sequence);
  WEFT_CHECK(desc.kind != OpKind::softmax || policy.edges_a_group <= tuning::most_edges_of_softmax, invalid_argument,
             "policy edges={} for softmax: expected at most {}, as longer sums would miss the error bound",
             policy.edges_a_group, tuning::most_edges_of_softmax);
  base.schedule = ScheduleKind::edge_split;
  cuda.vector = call.shape.vector;
  cuda.lanes = call.shape.lanes;
  cuda.steps = call.shape.steps;
  cuda.loads = call.shape.loads;
  cuda.shaped = call.shape != usual;
  cuda.long_rows = graph.num_edges >= tuning::least_long_row * graph.num_rows;
  cuda.sample_kernel = choose_sample_kernel(desc, policy);
  cuda.accumulate = choose_accumulate(call.shape, desc, policy, cuda.stage_edges > 0);
  if (cuda.stage_edges > 0) {
    if (size_of(desc.dtype) == 2) cuda.loads = 4 / cuda.steps;
    cuda.loads = std::min(cuda.loads, cuda.stage_edges * cuda.lanes / 32);  // a group's part
  }

  PlanReport report;
  double unordered_us = 0;  // the best without an order: what planning one may cost
  const auto weigh = [&](Plan plan, std::int64_t share) {
    PlanCandidate c = evaluate(call, std::move(plan), share);
    if (c.plan.cuda().order == WorkOrder::none && (unordered_us == 0 || c.total_us < unordered_us))
      unordered_us = c.total_us;
    report.candidates.push_back(std::move(c));
  };
  if (weighs_rows(call, policy))
    for (const std::int64_t share : row_shares(call, policy)) weigh(row_candidate(call, base, share), share);
  for (const WorkOrder order : orders(call, policy, owner))
    for (const std::int64_t share : share_sizes(call, policy, order))
      weigh(candidate(call, base, share, order, policy), share);
  // An order must cost no more than a run, and come back in a few.
  const auto affordable = [&](const PlanCandidate& c) {
    if (policy.order.has_value() || c.plan.cuda().order == WorkOrder::none) return true;
    const double cost = order_us(call, c.plan.cuda().order, owner);
    return cost <= unordered_us - drawing_us(call) && cost <= call.rates.order_runs * (unordered_us - c.total_us);
  };
  const auto best =
      std::min_element(report.candidates.begin(), report.candidates.end(), [&](const auto& a, const auto& b) {
        return affordable(a) != affordable(b) ? affordable(a) : a.total_us < b.total_us;
      });
  best->chosen = true;
  Plan& plan = best->plan;
  if (plan.cuda().order != WorkOrder::none)
    plan.backing.device_tasks = std::make_shared<DeviceTasks>(context, graph, plan, owner);
  report.reason =
      fmt::format("order {}, tasks of {} a {}: lowest modelled time of those whose order costs no more than a run",
                  name(plan.cuda().order), task_size(plan), task_owner(plan));
  if (owner != nullptr && policy == Policy{}) choose_windows(context, *owner, desc, rates, report);
  return report;
}

}  // namespace weft
