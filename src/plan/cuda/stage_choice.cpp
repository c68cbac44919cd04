#include "plan/cuda/stage_choice.hpp"

#include "core/check.hpp"
#include "plan/gather_shape.hpp"
#include "plan/kernel_table.hpp"
#include "plan/plan_view.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft {
namespace {

constexpr int usual_tile = 128;  // edges: what GNNOne settles on, where the policy names none

/// What of the policy only the kernel over tiles can do; empty: nothing.
std::string needs_tiles(const Policy& policy) {
  if (policy.stage_edges.value_or(0) > 0) return fmt::format("stage={}", *policy.stage_edges);
  if (policy.flush == Flush::atomic) return "flush=atomic";
  if (policy.assignment == Assignment::round_robin) return "assignment=round_robin";
  return {};
}

/// Sums in f32, and in f16 and bf16 where rows are whole packs of eight.
bool has_tile(Dtype dtype, int edges) {
  return row_index(KernelFamily::staged, KernelMessage::weighted, Reduction::sum, dtype, edges) >= 0;
}
bool has_kernel(const OpDesc& d) {
  const bool whole = size_of(d.dtype) == 4 || d.heads * d.width % 8 == 0;
  return (d.kind == OpKind::spmm || d.kind == OpKind::spmv) && d.reduce == Reduce::sum && whole &&
         has_tile(d.dtype, usual_tile);
}

/// The planner's own choice.
bool pays(const OpDesc& d, const Policy& policy, const GraphView& graph) {
  const std::int64_t features = d.heads * d.width;
  return has_kernel(d) && !policy.stage_edges && !policy.joined && policy.edges_a_group == 0 && !policy.schedule &&
         policy.vector == 0 && policy.lanes == 0 && policy.loads == 0 && policy.waves &&
         policy.accumulate == Accumulate::f32 && policy.assignment == Assignment::dynamic &&
         (d.heads == 1 || !d.weighted) && !is_narrow(features, true) &&
         tuning::stages_edges(features, mean_degree(graph), graph.num_edges);
}

}  // namespace

void choose_stage(Plan& plan, const Policy& policy, const GraphView& graph) {
  const std::string needed = needs_tiles(policy);
  if (needed.empty()) {
    if (!pays(plan.desc, policy, graph)) return;
    plan.cuda().stage_edges = usual_tile;
    plan.assignment = Assignment::round_robin;  // rows are long: the groups of a warp mostly share one
    return;
  }
  WEFT_CHECK(!policy.stage_edges || *policy.stage_edges > 0, invalid_argument,
             "policy {} with stage=registers: expected stage=32, 64 or 128, or no stage", needed);
  WEFT_CHECK(!policy.joined.value_or(false), invalid_argument,
             "policy {} with join=yes: staged tasks are a warp's; expected join=no, or no join", needed);
  const OpDesc& d = plan.desc;
  WEFT_CHECK(
      has_kernel(d), unsupported,
      "policy {} for {} {} {}: only sums of spmm and spmv in f32, or of whole packs of 8 in f16 and bf16, have a "
      "kernel that stages edges in shared memory; leave the policy out",
      needed, name(d.kind), name(d.dtype), name(d.reduce));
  plan.cuda().stage_edges = policy.stage_edges.value_or(usual_tile);
  WEFT_CHECK(has_tile(d.dtype, plan.cuda().stage_edges), unsupported,
             "policy stage={} in {}: expected 128, or 32 in f32 and f16, or 64 in f16", plan.cuda().stage_edges,
             name(d.dtype));
  WEFT_CHECK(
      size_of(d.dtype) != 2 || policy.vector == 0 || policy.vector == 8, unsupported,
      "policy vector={} with edges staged in shared memory, in {}: those kernels load 8 elements at a time; leave "
      "one of the two out",
      policy.vector, name(d.dtype));
  plan.cuda().stage_asked = true;
  plan.cuda().flush = policy.flush;
  plan.assignment = policy.assignment == Assignment::round_robin ? Assignment::round_robin : Assignment::consecutive;
}

std::string stage_text(const Plan& plan) {
  return fmt::format("stage={},assignment={},flush={}", plan.cuda().stage_edges, name(plan.assignment),
                     name(plan.cuda().flush));
}

}  // namespace weft
