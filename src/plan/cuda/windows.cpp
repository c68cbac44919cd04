#include "plan/cuda/windows.hpp"

#include "core/check.hpp"
#include "core/device.hpp"
#include "graph/graph_internals.hpp"
#include "plan/built_kernels.hpp"

namespace weft {
namespace {

constexpr WindowShape usual_shape{.rows = 128, .threshold = 3, .clustered = true};

void check_has_windows(Device device, const OpDesc& desc, const WindowShape& shape) {
  const bool sums = desc.kind == OpKind::spmm && !is_extremum(desc.reduce) && !desc.weighted && desc.sample_width == 0;
  WEFT_CHECK(sums && desc.dtype != Dtype::f64, unsupported,
             "policy core=tensor for {} {} {}{}{}: only sums and means of f16, bf16 and f32 over all edges, without "
             "values of edges, run on tensor cores; leave the policy out",
             name(desc.kind), name(desc.dtype), name(desc.reduce), desc.weighted ? " with values of edges" : "",
             desc.sample_width > 0 ? " over sampled edges" : "");
  const std::int64_t features = desc.heads * desc.width;
  WEFT_CHECK(features > 0 && features % 8 == 0, unsupported,
             "policy core=tensor for {} features: expected a multiple of 8, as rows come in packs of 16 bytes; leave "
             "the policy out",
             features);
  if (desc.dtype != Dtype::f32) return;
  const bool hopper = has_wgmma && cuda_device(device.index).compute_capability == 90;
  WEFT_CHECK(
      hopper && shape.rows >= 64, unsupported,
      "policy core=tensor,window={} for f32: f32 runs on tensor cores as three bf16, in windows of 64 or 128 rows "
      "on a GPU of compute capability 9.0{}; leave the policy out",
      shape.rows, has_wgmma ? "" : ", which this build has no kernels for");
}

}  // namespace

PlanReport explain_windows(const Context& context, const Graph& graph, const OpDesc& desc, const Policy& policy) {
  WindowShape shape = usual_shape;
  if (policy.window > 0) shape.rows = policy.window;
  if (policy.threshold > 0) shape.threshold = policy.threshold;
  if (policy.layout) shape.clustered = *policy.layout == WindowLayout::clusters;
  check_has_windows(context.device(), desc, shape);
  auto made = std::make_shared<WindowPlan>();
  made->windows = GraphInternals::row_windows(graph, shape, context.stream());
  const Graph& residual = made->windows->residual();
  Policy rest = policy;
  rest.core = {};
  rest.layout = {};
  rest.window = rest.threshold = 0;
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
  plan.backing.windows = made;
  Arena counting;
  WindowScratch::take(counting, plan, graph.num_rows());
  const std::size_t taken = (counting.used() + Arena::alignment - 1) / Arena::alignment * Arena::alignment;
  plan.workspace_bytes = taken + made->residual.workspace_bytes;
  candidate.total_us = made->residual.backing.modelled_us;  // what tensor cores take is not modelled
  candidate.chosen = true;
  PlanReport report;
  const double edges = static_cast<double>(graph.num_edges());
  report.reason = fmt::format(
      "core=tensor: windows of {} rows, columns of {} edges and more: {:.1f} % of the edges in {} columns ({:.2f} "
      "edges "
      "each), made in {:.2f} ms; the others by {}",
      shape.rows, shape.threshold, 100 * static_cast<double>(made->windows->dense_edges()) / edges,
      made->windows->dense_columns(),
      made->windows->dense_columns() > 0
          ? static_cast<double>(made->windows->dense_edges()) / static_cast<double>(made->windows->dense_columns())
          : 0.0,
      1e3 * made->windows->seconds(), to_string(made->residual));
  report.candidates.push_back(std::move(candidate));
  return report;
}

}  // namespace weft
