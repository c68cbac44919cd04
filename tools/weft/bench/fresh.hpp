// An operator on many small graphs, each seen once: what it takes including planning and launching, beside the peers
// with all that they do once a matrix.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/run_case.hpp"
#include "bench/subgraphs.hpp"

namespace weft::tool {

/// weft under one policy, or one peer, over all subgraphs it was right on.
struct FreshMethod {
  std::string name;
  std::int64_t graphs = 0;          // it was right on and is timed on
  double fresh_us = 0, run_us = 0;  // geometric means; with and without what it does once per graph
  std::string trouble;              // what was wrong or unsupported, the first time
};

struct FreshGraph {
  Sampler sampler = Sampler::walk;
  std::int64_t nodes = 0, edges = 0;
  double weft_us = 0, weft_run_us = 0;  // under the first policy
  std::string best;                     // peer, all counted; empty: none
  double best_us = 0, best_run_us = 0;  // of the best peer in each of the two ways
};

struct FreshRecord {
  std::string graph, note, op, variant;
  std::int64_t width = 1, heads = 1;
  Dtype dtype = Dtype::f32;
  std::uint64_t seed = 1;
  int repeat = 0;
  std::size_t wrong = 0;  // results of weft that failed their check; never timed
  std::string first_wrong;
  std::vector<FreshMethod> methods;     // weft's first
  std::vector<FreshGraph> subgraphs;    // those weft was right on
  double speedup = 0, run_speedup = 0;  // geometric means of best peer over weft; 0: no peers
};

struct FreshOptions {
  std::int64_t count = 0;
  std::uint64_t seed = 1;
  CaseOptions run;
};

/// Times are medians over repetitions on one subgraph, from the call until the device is done.
FreshRecord run_fresh(Context& context, const Graph& graph, const Setup& setup,
                      const std::vector<NamedPolicy>& policies, const FreshOptions& options);

nlohmann::json to_json(const FreshRecord& record);
void print_fresh(std::FILE* file, const std::vector<FreshRecord>& records);

}  // namespace weft::tool
