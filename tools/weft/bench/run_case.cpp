#include "bench/run_case.hpp"

#include <fmt/format.h>

#include "bench/timing.hpp"

namespace weft::tool {
namespace {

struct Entered {
  std::unique_ptr<Peer> peer;
  std::size_t record = 0;      // in Record::peers
  std::size_t contestant = 0;  // in the timing
};

// Peers that gave a right result; the others' records say why they are not timed.
std::vector<Entered> enter_peers(const Workload& workload, const Sample& sample, Record& record) {
  std::vector<Entered> entered;
  const std::optional<PeerProblem> problem = workload.for_peers();
  for (const PeerLibrary& library : peer_libraries()) {
    record.peers.push_back({library.name, library.version, "not applicable", "", 0, 0, 0});
    PeerRecord& peer_record = record.peers.back();
    if (!problem) continue;
    try {
      std::unique_ptr<Peer> peer = library.make(*problem);
      if (peer == nullptr) continue;
      peer->run();
      const Verification verification = workload.verify(sample, peer->result());
      peer_record.status = verification.right ? "ok" : "wrong";
      peer_record.detail = verification.first_wrong;
      if (verification.right) entered.push_back({std::move(peer), record.peers.size() - 1, 0});
    } catch (const std::exception& error) {
      peer_record.status = "failed";
      peer_record.detail = error.what();
    }
  }
  return entered;
}

std::uint64_t result_fingerprint(const Workload& workload) {
  return fingerprint(workload.result().view().data, workload.result().bytes());
}

void describe(Record& record, const Context& context, const Graph& graph, const Setup& setup) {
  record.rows = graph.num_rows();
  record.cols = graph.num_cols();
  record.edges = graph.num_edges();
  record.op = name(setup.desc.kind);
  record.variant = setup.variant();
  record.width = setup.desc.width;
  record.heads = setup.desc.heads;
  record.dtype = setup.desc.dtype;
  record.threads = context.threads();
}

}  // namespace

Record measure(Context& context, const Graph& graph, const Setup& setup, Workload& workload,
               const CaseOptions& options) {
  Record record;
  describe(record, context, graph, setup);
  const auto tell = [&](std::string_view what, std::int64_t done, std::int64_t total) {
    if (options.progress) options.progress(what, done, total);
  };
  const std::string label = fmt::format("{} width {} {}", record.op, record.width, name(record.dtype));
  record.plan = workload.plan() ? to_string(*workload.plan()) : "planned inside the call";
  record.plan_us = workload.plan_us();

  tell(label + ": verifying", 0, 0);
  workload.run();
  const Sample sample = Sample::of(graph, workload.features_an_edge());
  record.verified = workload.verify(sample, workload.result().view().data);
  if (!record.verified.right) return record;
  const std::uint64_t verified_bits = result_fingerprint(workload);

  GatherFloor floor(workload.floor(), context.threads());
  const int ahead = floor.best_ahead();
  std::vector<Contestant> contestants;
  contestants.push_back({[&] { workload.run(); }, {}});
  contestants.push_back({[&] { floor.run(ahead); }, {}});
  std::vector<Entered> entered;
  if (options.peers) entered = enter_peers(workload, sample, record);
  for (Entered& e : entered) {
    e.contestant = contestants.size();
    contestants.push_back({[peer = e.peer.get()] { peer->run(); }, {}});
  }
  TimingOptions timing;
  timing.repeat = options.repeat;
  timing.progress = [&](int done, int total) { tell(label + ": timing", done, total); };
  time_in_turns(contestants, timing);

  record.repeatable = result_fingerprint(workload) == verified_bits;
  if (!record.repeatable) record.verified.first_wrong = "a later run gave other bits than the one that was verified";
  const std::vector<double>& times = contestants[0].microseconds;
  record.repeat = static_cast<int>(times.size());
  record.median_us = median_of(times);
  record.min_us = quantile_of(times, 0);
  record.p90_us = quantile_of(times, 0.9);
  record.floor_us = median_of(contestants[1].microseconds);
  record.floor_ratio = record.floor_us > 0 ? record.median_us / record.floor_us : 0;
  if (record.median_us > 0) {
    record.gflops = workload.flops() / record.median_us * 1e-3;
    record.gathered_gb_s = workload.floor().gathered_bytes() / record.median_us * 1e-3;
  }
  for (const Entered& e : entered) {
    PeerRecord& peer = record.peers[e.record];
    peer.median_us = median_of(contestants[e.contestant].microseconds);
    peer.min_us = quantile_of(contestants[e.contestant].microseconds, 0);
    peer.speedup = record.median_us > 0 ? peer.median_us / record.median_us : 0;
  }
  return record;
}

Record run_case(Context& context, const Graph& graph, const Setup& setup, const CaseOptions& options) {
  return measure(context, graph, setup, *make_workload(context, graph, setup), options);
}

}  // namespace weft::tool
