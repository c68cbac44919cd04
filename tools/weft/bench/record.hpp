// What one benchmark run leaves behind, as a table's row, as JSON and as a page.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/cuda/measure.hpp"
#include "bench/peers/peer.hpp"
#include "bench/verify.hpp"
#include "weft/context.hpp"
#include "weft/error.hpp"
#include "weft/types.hpp"

namespace weft::tool {

struct PeerRecord {
  std::string name, version;
  std::string status;  // "ok", "wrong", "failed", "unsupported", "not applicable"
  std::string detail;  // what was wrong, failed or is not supported
  double median_us = 0, min_us = 0, speedup = 0;
  double prepare_us = 0;  // what it does once a matrix, not counted in its time
};

/// What of a graph's edges was kept.
struct SampleRecord {
  std::string method;
  std::int64_t width = 0;    // edges of a row at most; 0: all
  double rate = 1;           // of all edges
  bool by_operator = false;  // the operator samples as it runs; else over the edges written out
  double us = 0;             // of writing them out
};

struct Record {
  std::string graph, note;
  std::int64_t rows = 0, cols = 0, edges = 0;
  std::string op, variant;
  std::int64_t width = 1, heads = 1;
  Dtype dtype = Dtype::f32;
  int threads = 1;
  std::string policy;  // as given; empty: the planner's choice
  std::string plan;
  double plan_us = 0;
  Verification verified;
  bool repeatable = true;     // the last timed run's bits are those that were verified
  bool bits_promised = true;  // as every plan does but one with flush=atomic
  int repeat = 0;
  double median_us = 0, min_us = 0, p90_us = 0, gflops = 0, gathered_gb_s = 0, floor_us = 0, floor_ratio = 0;
  double spmm_us = 0, spmm_ratio = 0;  // attention: the SpMM of as many features, timed in turns with it
  double two_us = 0, two_ratio = 0;    // spmm into a product: as two kernels, in turns with it, and that over its time
  std::vector<PeerRecord> peers;
  std::optional<SampleRecord> sample;  // where samples are measured
  std::optional<Error> failure;        // why there is no result: no plan exists for the policy, or memory ran out

  bool right() const { return !failure && verified.right && (repeatable || !bits_promised); }
};

/// The fastest right peer; null where there is none.
const PeerRecord* best_peer(const Record& record);

/// Where and with what a set of records was measured.
struct RunInfo {
  std::string version, commit, date, compiler, command;
  std::string device, cpu_model, target;
  int threads = 1;
  double load = 0;  // of the machine when the run began
  std::optional<GpuFacts> gpu;
  std::string gpu_driver;          // the kernel module's version
  double copy_gb_s = 0;            // of the GPU, bytes read and bytes written
  std::vector<PeerVersion> peers;  // that run on the device
};
RunInfo this_run(const Context& context);
/// The warning that other programs were running; empty where times can be trusted.
std::string busy_note(const RunInfo& run);

nlohmann::json to_json(const RunInfo& run, const std::vector<Record>& records);
/// A page that needs nothing else: a table and bars, with the notes that the terminal shows.
std::string to_html(const RunInfo& run, const std::vector<Record>& records, const std::vector<std::string>& notes = {});

}  // namespace weft::tool
