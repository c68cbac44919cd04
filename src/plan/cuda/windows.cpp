#include "plan/cuda/windows.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/device.hpp"
#include "graph/graph_internals.hpp"
#include "plan/built_kernels.hpp"
#include "plan/plan_view.hpp"

namespace weft {
namespace {

bool has_tiles(const OpDesc& desc) {
  const bool halves = size_of(desc.dtype) == 2, all = desc.sample_width == 0;
  if (desc.kind == OpKind::sddmm) return halves && all && desc.heads == 1 && desc.width <= most_window_dots;
  if (desc.kind == OpKind::attention)
    return halves && all && (desc.heads == 1 || desc.width % 64 == 0) &&
           (!desc.backward || desc.width <= most_window_dots);
  return desc.kind == OpKind::spmm && all && !is_extremum(desc.reduce) && (halves || desc.dtype == Dtype::f32) &&
         (!desc.weighted || (halves && desc.heads == 1));
}
bool has_packs(const OpDesc& desc) { return desc.heads * desc.width > 0 && desc.heads * desc.width % 8 == 0; }
/// The least rows of a window; 0: this GPU or build has no kernels. Sums run by mma.sync where Hopper's own
/// instructions are missing or windows too small for them; dot products run by those alone.
int least_rows(Device device, const OpDesc& desc) {
  if (desc.kind == OpKind::spmm) return 16;
  return has_wgmma && cuda_device(device.index).compute_capability == 90 ? 128 : 0;
}
bool has_kernel(Device device, const OpDesc& desc, const WindowShape& shape) {
  const int least = least_rows(device, desc);
  return least > 0 && shape.rows >= least;
}

void check_has_windows(Device device, const OpDesc& desc, const WindowShape& shape) {
  WEFT_CHECK(
      has_tiles(desc), unsupported,
      "policy core=tensor for {} {} of {} heads and {} features, {}{}{}: tensor cores run sums and means over "
      "all edges, of f16 and bf16 "
      "with or without one value for each edge and of f32 without, dot products (sddmm) of f16 and bf16 of up to "
      "{} features, and attention by scores of gat and dot in f16 and bf16 of one head or of heads of whole 64 "
      "features, "
      "its backward (of gat) of up to {} features per head; leave the policy out",
      name(desc.kind), name(desc.dtype), desc.heads, desc.width, name(desc.reduce),
      desc.weighted ? " with values of edges" : "", desc.sample_width > 0 ? " over sampled edges" : "",
      most_window_dots, most_window_dots);
  WEFT_CHECK(has_packs(desc), unsupported,
             "policy core=tensor for {} features: expected a multiple of 8, as rows come in packs of 16 bytes; leave "
             "the policy out",
             desc.heads * desc.width);
  const int least = least_rows(device, desc);
  WEFT_CHECK(least > 0, unsupported,
             "policy core=tensor for {} {}: this runs on tensor cores by Hopper's own instructions, which {}; leave "
             "the policy out",
             name(desc.kind), name(desc.dtype), has_wgmma ? "this GPU does not have" : "this build has no kernels of");
  WEFT_CHECK(shape.rows >= least, unsupported,
             "policy core=tensor,window={} for {} {}: expected windows of {} rows; leave window out", shape.rows,
             name(desc.kind), name(desc.dtype), least);
}

WindowModel model_of(WindowPlan& plan, const Context& context, const OpDesc& desc, int rows, WindowSelect select) {
  if (select == WindowSelect::all) return WindowModel::all();
  if (select == WindowSelect::none) return WindowModel::none();
  plan.selector = choose_selector(cuda_device(context.device().index).name, desc.dtype, rows);
  return plan.selector->row.at(desc.heads * desc.width);
}

/// What the model says no to runs as if there were no windows: it costs nothing then but having asked.
PlanReport without_windows(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& rest,
                           const std::shared_ptr<const WindowPlan>& asked) {
  PlanReport report = explain_plan(context, graph, desc, rest);
  for (PlanCandidate& candidate : report.candidates) candidate.plan.backing.windows = asked;
  report.reason = fmt::format("select=model keeps none of {} windows of {} rows (layout={}; {}), so there are none; {}",
                              asked->windows->windows(), asked->windows->shape().rows,
                              name(asked->windows->shape().layout), asked->selector->source, report.reason);
  return report;
}

/// Edges of a column from which on it was faster on tensor cores (bench/records/h200/windows.json). Tiles of GAT and of
/// f32 take longer, and so does an edge of a tile that has a weight.
int usual_threshold(const OpDesc& desc) {
  if (desc.kind == OpKind::attention) return desc.backward ? 8 : 6;
  if (desc.kind == OpKind::sddmm) return 3;
  return desc.weighted ? 5 : desc.dtype == Dtype::f32 ? 4 : 3;
}

/// Of values in any order; the lower one of two in the middle.
std::int32_t middle(std::vector<std::int32_t>& values) {
  const auto at = values.begin() + (std::ssize(values) - 1) / 2;
  std::ranges::nth_element(values, at);
  return *at;
}

}  // namespace

WindowShape usual_windows(const OpDesc& desc) {
  return {.rows = 128,
          .threshold = usual_threshold(desc),
          .layout = WindowLayout::clusters,
          .edges = desc.kind != OpKind::attention && reads_ids(desc),
          .places = desc.kind == OpKind::attention && desc.backward};
}

bool runs_by_windows(Device device, const OpDesc& desc, const WindowShape& shape) {
  return has_tiles(desc) && has_packs(desc) && has_kernel(device, desc, shape);
}

PlanReport explain_windows(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& policy) {
  auto made = std::make_shared<WindowPlan>();
  WindowShape shape = usual_windows(desc);
  if (policy.window > 0) shape.rows = policy.window;
  if (policy.threshold > 0) shape.threshold = policy.threshold;
  shape.layout = policy.layout.value_or(shape.layout);
  check_has_windows(context.device(), desc, shape);
  WEFT_CHECK(!policy.tf32 || (desc.kind == OpKind::spmm && desc.dtype == Dtype::f32), unsupported,
             "policy core=tensor,tf32=yes for {} {}: expected sums of f32, leave tf32 out", name(desc.kind),
             name(desc.dtype));
  const WindowSelect select = policy.select.value_or(WindowSelect::all);
  shape.select = model_of(*made, context, desc, shape.rows, select);
  made->windows = GraphInternals::row_windows(graph, shape, context.stream());
  const Graph& residual = made->windows->residual();
  Policy rest = policy;
  rest.core = Core::cuda;
  rest.layout = {};
  rest.select = {};
  rest.window = rest.threshold = 0;
  rest.tf32 = false;
  if (select == WindowSelect::model && made->windows->selected() == 0)
    return without_windows(context, graph, desc, rest, made);
  OpDesc of_rest = desc;
  of_rest.reduce = Reduce::sum;
  made->residual = make_plan(context, residual, of_rest, rest);

  PlanCandidate candidate;
  Plan& plan = candidate.plan;
  plan = made->residual;
  plan.desc = desc;
  plan.backing = {};
  plan.backing.graph = graph.identity();
  plan.cuda().order = WorkOrder::none;  // of the graph's own edges: the residual's is its plan's
  plan.cuda().core = Core::tensor;
  plan.cuda().window_rows = shape.rows;
  plan.cuda().window_threshold = shape.threshold;
  plan.cuda().window_layout = shape.layout;
  plan.cuda().window_select = select;
  plan.cuda().tf32 = policy.tf32;
  plan.backing.windows = made;
  Arena counting;
  WindowScratch::take(counting, plan, graph.num_rows());
  const std::size_t taken = (counting.used() + Arena::alignment - 1) / Arena::alignment * Arena::alignment;
  plan.workspace_bytes = taken + made->residual.workspace_bytes;
  candidate.total_us = made->residual.backing.modelled_us;  // what tensor cores take is not modelled
  candidate.chosen = true;
  PlanReport report;
  const RowWindows& windows = *made->windows;
  const double edges = static_cast<double>(graph.num_edges()), dense = static_cast<double>(windows.dense_edges());
  report.reason = fmt::format(
      "core=tensor: {} of {} windows of {} rows (layout={}, select={}), columns of {} edges and more: {:.1f} % of the "
      "edges in {} columns ({:.2f} edges each), made in {:.2f} ms; the others by {}",
      windows.selected(), windows.windows(), shape.rows, name(shape.layout), name(select), shape.threshold,
      100 * dense / edges, windows.dense_columns(),
      windows.dense_columns() > 0 ? dense / static_cast<double>(windows.dense_columns()) : 0.0, 1e3 * windows.seconds(),
      to_string(made->residual));
  report.candidates.push_back(std::move(candidate));
  return report;
}

std::optional<WindowFacts> window_facts(const Plan& plan) {
  if (!plan.backing.windows) return std::nullopt;
  const WindowPlan& by = *plan.backing.windows;
  const RowWindows& windows = *by.windows;
  WindowFacts facts;
  facts.rows = windows.shape().rows;
  facts.threshold = windows.shape().threshold;
  facts.layout = windows.shape().layout;
  facts.windows = windows.windows();
  facts.selected = windows.selected();
  facts.columns = windows.dense_columns();
  facts.edges = windows.dense_edges();
  facts.tiles = windows.tiles();
  facts.edge_share =
      static_cast<double>(facts.edges) / static_cast<double>(facts.edges + windows.residual().num_edges());
  facts.build_seconds = windows.seconds();
  facts.select = by.selector ? WindowSelect::model : plan.cuda().window_select;
  facts.features = plan.desc.heads * plan.desc.width;
  facts.selector = by.selector;
  std::vector<std::int32_t> columns, edges;
  std::int64_t all_columns = 0, all_edges = 0;
  for (const WindowCounts& counts : windows.counts()) {
    if (counts.columns == 0) continue;
    columns.push_back(counts.columns);
    edges.push_back(counts.edges);
    all_columns += counts.columns;
    all_edges += counts.edges;
  }
  facts.candidates = std::ssize(columns);
  if (columns.empty()) return facts;
  facts.intensity = static_cast<double>(all_edges) / static_cast<double>(all_columns);
  facts.median = {middle(columns), middle(edges)};
  if (by.selector) facts.log_odds = windows.shape().select.log_odds(WindowFeatures::of(facts.median, facts.rows));
  return facts;
}

}  // namespace weft
