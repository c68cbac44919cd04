// One line of the benchmark: verify first, then time weft, the gather floor and the peers in turns.
#pragma once

#include <functional>
#include <string>

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

/// Whatever it is given is verified, and timed only when right.
Record measure(Context& context, const Graph& graph, const Setup& setup, Workload& workload,
               const CaseOptions& options);
/// The same with the operator's own workload. The graph's ids must be in stored order.
Record run_case(Context& context, const Graph& graph, const Setup& setup, const CaseOptions& options);

}  // namespace weft::tool
