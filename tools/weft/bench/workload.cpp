#include "bench/workload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/check.hpp"
#include "options.hpp"

namespace weft::tool {

std::string Setup::variant() const {
  switch (desc.kind) {
    case OpKind::spmm:
      return fmt::format("{}{}.{}{}{}", name(spmm_op), edge_vectors ? "[]" : "", name(desc.reduce),
                         linear > 0 ? fmt::format(".linear{}", linear) : "", backward ? ".backward" : "");
    case OpKind::spmv: return desc.weighted ? "weighted" : "unweighted";
    case OpKind::sddmm: return std::string(name(sddmm_op));
    case OpKind::attention: return fmt::format("{}{}", name(score), backward ? ".backward" : "");
    case OpKind::segment: return std::string(name(desc.reduce));
    case OpKind::softmax: return "forward";
  }
  return "";
}

Tensor DrawnSample::of_all(const Tensor& of_kept) const {
  Shape shape = of_kept.shape();
  shape.rows = whole->num_edges();
  Tensor all = Tensor::zeros(shape, of_kept.dtype(), "values of all edges");
  const std::size_t bytes = static_cast<std::size_t>(shape.row_size()) * size_of(of_kept.dtype());
  const auto* from = static_cast<const std::byte*>(of_kept.view().data);
  auto* const to = static_cast<std::byte*>(all.view().mutable_data());
  for (const EdgeId id : origin->ids()) {
    std::memcpy(to + static_cast<std::size_t>(id) * bytes, from, bytes);
    from += bytes;
  }
  return all;
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
  return make_plan(context, setup.sampled ? *setup.sampled->whole : graph, setup.desc, setup.policy);
}

void Workload::plan_once(Context& context, const Graph& graph, const Setup& setup) {
  if (!plan_) return;
  plan_ = planned(context, graph, setup);
  context.reserve(workspace_bytes());
}

std::unique_ptr<Workload> make_workload(Context& context, const Graph& graph, const Setup& setup) {
  switch (setup.desc.kind) {
    case OpKind::spmm:
      return (setup.linear > 0 ? make_spmm_linear_workload : make_spmm_workload)(context, graph, setup);
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
