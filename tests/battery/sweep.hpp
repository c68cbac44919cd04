// What every battery sweeps over, and how a sweep stays affordable: combinations that cost more than a
// few thousand terms are thinned out, by a hash of the combination, to that cost on average.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

/// Ways that must all give the same bits.
inline std::vector<Way> ways_to_run() {
  std::vector<Way> ways;
  const auto add = [&](int threads, const char* policy) {
    ways.push_back({fmt::format("threads={},{}", threads, policy), Context::cpu(threads), parse_policy(policy)});
  };
  add(2, "schedule=edge_split");
  add(1, "schedule=edge_split,tasks=1");
  add(2, "schedule=rows,tasks=3");
  add(3, "schedule=edge_split,tasks=17,assignment=round_robin");
  add(2, "schedule=rows,tasks=64,assignment=round_robin,prefetch=0");
  return ways;
}

/// The way a combination takes.
inline Way& way_for(std::vector<Way>& ways, std::uint64_t seed) { return ways[(seed >> 32) % ways.size()]; }

/// A plan by that way, its workspace reserved.
inline Plan planned(Way& way, const Graph& graph, const OpDesc& desc) {
  Plan plan = make_plan(way.context, graph, desc, way.policy);
  way.context.reserve(plan.workspace_bytes);
  return plan;
}

}  // namespace weft::test
