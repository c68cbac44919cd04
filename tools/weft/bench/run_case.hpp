// One line of the benchmark: verify first, then time weft, the gather floor and the peers in turns.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/record.hpp"
#include "bench/workload.hpp"
#include "weft/context.hpp"
#include "weft/graph.hpp"

namespace weft::tool {

struct CaseOptions {
  bool peers = false;
  int repeat = 0;  // 0: as many as timing.hpp says
  std::function<void(std::string_view what, std::int64_t done, std::int64_t total)> progress;
};

/// Whatever it is given is verified, and timed only when right. The graph is the one on the host.
Record measure(Context& context, const Graph& graph, const Setup& setup, Workload& workload,
               const CaseOptions& options);
/// A graph on the host, where results are verified, and on the device where the operator runs; on the cpu they are one.
/// Ids are in stored order.
struct PlacedGraph {
  Graph host, there;

  PlacedGraph(const Context& context, const Graph& graph);
};

struct NamedPolicy {
  std::string text;  // as it was given; empty: the planner's choice
  Policy policy;
};

/// The operator's own workload, once a policy; peers are timed beside the first that runs. A policy that fails has a
/// record with the reason, and the others are measured all the same.
std::vector<Record> run_cases(Context& context, const PlacedGraph& graph, const Setup& setup,
                              const std::vector<NamedPolicy>& policies, const CaseOptions& options);

}  // namespace weft::tool
