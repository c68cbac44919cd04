// What every battery sweeps over, and how a sweep stays affordable: combinations that cost more than a
// few thousand terms are thinned out, by a hash of the combination, to that cost on average.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cuda/gpu.hpp"
#include "plan/tuning/cuda.hpp"
#include "support/graphs.hpp"
#include "support/oracle.hpp"
#include "weft/plan.hpp"

namespace weft::test {

inline constexpr std::int64_t battery_widths[] = {1, 2, 3, 4, 6, 7, 8, 16, 31, 32, 33, 41, 47, 64, 100, 128, 256, 602};
inline constexpr SpmmOp spmm_ops[] = {SpmmOp::copy_u,  SpmmOp::copy_e,  SpmmOp::u_add_e,
                                      SpmmOp::u_sub_e, SpmmOp::u_mul_e, SpmmOp::u_div_e};
inline constexpr Reduce reducers[] = {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min};
inline constexpr SddmmOp sddmm_ops[] = {SddmmOp::dot, SddmmOp::add,      SddmmOp::sub,     SddmmOp::mul,
                                        SddmmOp::div, SddmmOp::copy_lhs, SddmmOp::copy_rhs};
inline constexpr Target targets[] = {Target::u, Target::v, Target::e};
inline constexpr Score score_kinds[] = {Score::gat, Score::gatv2, Score::dot};

/// Numbers the combinations of a sweep and says which to run.
class Sweep {
 public:
  explicit Sweep(std::int64_t terms_each) : terms_each_(terms_each) {}

  /// Whether to run the next combination, which costs `terms`.
  bool next(std::int64_t terms) {
    seed_ = Random(++count_).next();
    return static_cast<std::int64_t>(seed_ % static_cast<std::uint64_t>(terms / terms_each_ + 1)) == 0;
  }
  /// The combination's own seed.
  std::uint64_t seed() const { return seed_; }

 private:
  std::int64_t terms_each_;
  std::uint64_t count_ = 0, seed_ = 0;
};

/// One way to run an operator: threads and a policy.
struct Way {
  std::string name;
  Context context;
  Policy policy;
};

/// Ways that must all agree: on a CPU to the bit, on a GPU within the bound.
inline std::vector<Way> ways_to_run(Device device = {}) {
  std::vector<Way> ways;
  const auto add_cpu = [&](int threads, const char* policy) {
    ways.push_back({fmt::format("threads={},{}", threads, policy), Context::cpu(threads), parse_policy(policy)});
  };
  const auto add_gpu = [&](const char* policy) {
    ways.push_back({fmt::format("{} '{}'", to_string(device), policy), Context::on(device), parse_policy(policy)});
  };
  if (device.kind == DeviceKind::cuda) {
    for (const char* policy : {"", "edges=8", "edges=32,join=no", "edges=64,order=columns", "edges=16,order=clusters",
                               "edges=32,order=clusters+columns", "edges=512,order=none", "schedule=rows,edges=24"})
      add_gpu(policy);
    return ways;
  }
  add_cpu(2, "schedule=edge_split");
  add_cpu(1, "schedule=edge_split,tasks=1");
  add_cpu(2, "schedule=rows,tasks=3");
  add_cpu(3, "schedule=edge_split,tasks=17,assignment=round_robin");
  add_cpu(2, "schedule=rows,tasks=64,assignment=round_robin,prefetch=0");
  return ways;
}

/// The way a combination takes.
inline Way& way_for(std::vector<Way>& ways, std::uint64_t seed) { return ways[(seed >> 32) % ways.size()]; }

/// A plan by that way, its workspace reserved. What cannot be clustered keeps its order, and so on.
inline Plan planned(Way& way, const Graph& graph, const OpDesc& desc) {
  Policy policy = way.policy;
  const bool clusters =
      policy.order && (*policy.order == WorkOrder::clusters || *policy.order == WorkOrder::clusters_columns);
  if (clusters && (!graph.is_square() || graph.num_edges() == 0)) policy.order = WorkOrder::none;
  // One group of threads takes whole rows, which must not be long, and reduces them.
  const bool rows_refused = desc.kind == OpKind::sddmm || graph.view().longest_row > tuning::most_edges_in_sequence;
  if (graph.device().kind == DeviceKind::cuda && rows_refused) policy.schedule.reset();
  Plan plan = make_plan(way.context, graph, desc, policy);
  way.context.reserve(plan.workspace_bytes);
  return plan;
}

/// What a battery runs on: a storage type and a device.
struct Setting {
  Dtype dtype;
  Device device = {};
};
inline std::string text_of(const ::testing::TestParamInfo<Setting>& tested) {
  return fmt::format("{}_{}", name(tested.param.dtype), tested.param.device.kind == DeviceKind::cuda ? "gpu" : "cpu");
}
inline std::vector<Setting> settings() {
  std::vector<Setting> all;
  for (const Dtype dtype : floating_dtypes) all.push_back({dtype});
  for (const Dtype dtype : floating_dtypes) all.push_back({dtype, {DeviceKind::cuda, 0}});
  return all;
}

/// A copy of a tensor or graph on a device; a graph that stays on the host is itself.
inline Tensor on(Device device, const Tensor& tensor) {
  if (!tensor) return {};
  return tensor.to(device);
}
inline Graph on(Device device, const Graph& graph) { return device.kind == DeviceKind::cpu ? graph : graph.to(device); }

/// Batteries that run on every device; those of a GPU skip, and say why, where there is none.
class Battery : public ::testing::TestWithParam<Setting> {
 protected:
  void SetUp() override {
    if (GetParam().device.kind != DeviceKind::cuda) return;
    if (const std::string why = why_no_gpu_tests(); !why.empty()) GTEST_SKIP() << why;
  }
};

}  // namespace weft::test
