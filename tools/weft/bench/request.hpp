// What `weft bench` was asked for: its options as they were given, and as values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/run_case.hpp"
#include "weft/sample.hpp"

namespace weft::tool {

struct BenchOptions {
  std::string op, width, dtype = "f32", heads = "1", reduce = "sum", variant, device, threads = "0", repeat = "0",
                         runs = "1", subgraphs = "0", seed = "1", sample, sample_width, linear;
  std::vector<std::string> sources, policies;
  std::string json, report;
  bool unweighted = false, edge_vectors = false, backward = false, peers = false;
};

/// The options as values; whatever is wrong with them is said before any graph is opened.
struct BenchRequest {
  Setup setup;  // without width and dtype
  std::vector<std::int64_t> widths;
  std::vector<Dtype> dtypes;
  std::vector<NamedPolicy> policies;
  bool linear_same = false;  // weights as wide as the features
  CaseOptions options;
  std::int64_t subgraphs = 0;
  EdgeSampling method = EdgeSampling::fastrand;
  std::vector<std::int64_t> sample_widths;  // 0: all edges
};

BenchRequest read(const BenchOptions& options);
/// Whether policy auto may run by windows: inputs are in the type of --dtype, and scores have no bias and no dropout.
bool fits_windows(const Setup& setup);
/// The options as they were given, for the record; the program's name without its folder.
std::string command_text(const BenchOptions& options);

}  // namespace weft::tool
