#include "bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "options.hpp"

namespace weft::tool {

std::string Setup::variant() const {
  switch (desc.kind) {
    case OpKind::spmm: return fmt::format("{}{}.{}", name(spmm_op), edge_vectors ? "[]" : "", name(desc.reduce));
    case OpKind::spmv: return desc.weighted ? "weighted" : "unweighted";
    case OpKind::sddmm: return std::string(name(sddmm_op));
    case OpKind::attention: return fmt::format("{}{}", name(score), backward ? ".backward" : "");
    case OpKind::segment: return std::string(name(desc.reduce));
    case OpKind::softmax: return "forward";
  }
  return "";
}

void Workload::make_plan_for(Context& context, const Graph& graph, const Setup& setup) {
  std::array<double, 3> seconds{};
  for (double& s : seconds) {
    const Stopwatch watch;
    plan_ = planned(context, graph, setup);
    context.synchronise();
    s = watch.seconds();
  }
  std::sort(seconds.begin(), seconds.end());
  plan_us_ = plan_ ? seconds[1] * 1e6 : 0;
  context.reserve(workspace_bytes());
}

std::optional<Plan> Workload::planned(Context& context, const Graph& graph, const Setup& setup) {
  return make_plan(context, graph, setup.desc, setup.policy);
}

void Workload::plan_once(Context& context, const Graph& graph, const Setup& setup) {
  if (!plan_) return;
  plan_ = planned(context, graph, setup);
  context.reserve(workspace_bytes());
}

std::unique_ptr<Workload> make_workload(Context& context, const Graph& graph, const Setup& setup) {
  switch (setup.desc.kind) {
    case OpKind::spmm:
    case OpKind::spmv: return make_spmm_workload(context, graph, setup);
    case OpKind::sddmm: return make_sddmm_workload(context, graph, setup);
    case OpKind::softmax: return make_softmax_workload(context, graph, setup);
    case OpKind::attention:
      return (setup.backward ? make_attention_backward_workload : make_attention_workload)(context, graph, setup);
    case OpKind::segment: return make_segment_workload(context, graph, setup);
  }
  fail(ErrorCode::internal, "operator {} has no benchmark", static_cast<int>(setup.desc.kind));
}

}  // namespace weft::tool
