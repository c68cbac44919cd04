#include "bench/run_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "bench/inputs.hpp"
#include "bench/timing.hpp"

namespace weft::tool {
namespace {

struct Entered {
  std::unique_ptr<Peer> peer;
  std::size_t record = 0;      // in Record::peers
  std::size_t contestant = 0;  // in the timing
};

// Its own preparation is timed apart, as weft's plan is: by the clock, until the device is done with it.
double prepare(Peer& peer, const Context& context) {
  const std::unique_ptr<Timer> timer = make_wall_timer(context);
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) times.push_back(timer->microseconds([&] { peer.prepare(); }));
  return median_of(std::move(times));
}

// Peers that gave a right result; the others' records say why they are not timed.
std::vector<Entered> enter_peers(const Context& context, Workload& workload, const Reference& reference,
                                 Record& record) {
  std::vector<Entered> entered;
  const std::optional<PeerProblem> problem = workload.for_peers();
  const OpKind kind = problem ? problem->kind : OpKind::spmm;
  for (const PeerLibrary& library : peer_libraries(context.device().kind, kind)) {
    PeerRecord& peer_record = record.peers.emplace_back();
    peer_record.name = library.name;
    peer_record.version = library.version;
    peer_record.status = "not applicable";
    if (!problem) continue;
    try {
      std::unique_ptr<Peer> peer = library.make(*problem);
      if (peer == nullptr) continue;
      peer_record.prepare_us = prepare(*peer, context);
      peer->run();
      context.synchronise();
      ConstTensorView result = workload.result().view();
      result.data = peer->result();
      const Verification verification = reference.compare(context, result);
      peer_record.status = verification.right ? "ok" : "wrong";
      peer_record.detail = verification.first_wrong;
      if (verification.right) entered.push_back({std::move(peer), record.peers.size() - 1, 0});
    } catch (const Error& error) {
      peer_record.status = error.code() == ErrorCode::unsupported ? "unsupported" : "failed";
      peer_record.detail = error.what();
    } catch (const std::exception& error) {
      peer_record.status = "failed";
      peer_record.detail = error.what();
    }
  }
  return entered;
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

/// Null where the workload has no plan for a GPU.
const CudaPlan* cuda_part(const Workload& workload) {
  return workload.plan() ? std::get_if<CudaPlan>(&workload.plan()->how) : nullptr;
}

/// How often plans that promise no more round a sum of so many terms to halves on the way: batches added up in pairs (a
/// weight's scaling, a product and seven additions), and atomics (each part of a row, and each sum it is added to).
std::function<double(std::int64_t)> roundings_on_the_way(const Workload& workload) {
  const CudaPlan* const cuda = cuda_part(workload);
  if (cuda == nullptr || size_of(workload.plan()->desc.dtype) != 2) return {};
  if (cuda->accumulate == Accumulate::half2) return [](std::int64_t) { return 9.0; };
  if (cuda->flush != Flush::atomic) return {};
  const std::int64_t part = std::max<std::int64_t>(1, std::int64_t{cuda->stage_edges} * cuda->lanes / 32);
  return [part](std::int64_t terms) { return 2.0 * static_cast<double>(terms / part + 2); };
}

Record measure_against(const Reference& reference, Context& context, const Graph& graph, const Setup& setup,
                       Workload& workload, const CaseOptions& options) {
  Record record;
  describe(record, context, graph, setup);
  const auto tell = [&](std::string_view what, std::int64_t done, std::int64_t total) {
    if (options.progress) options.progress(what, done, total);
  };
  const std::string label = fmt::format("{} width {} {}", record.op, record.width, name(record.dtype));
  record.plan = workload.plan_text();
  record.plan_us = workload.plan_us();

  tell(label + ": verifying", 0, 0);
  forget(context, workload.result());
  workload.run();
  context.synchronise();
  const auto on_the_way = roundings_on_the_way(workload);
  record.verified = reference.compare(context, workload.result(), on_the_way);
  if (!record.verified.right) return record;
  const std::uint64_t verified_bits = fingerprint(context, workload.result());

  const std::unique_ptr<GatherFloor> floor = make_gather_floor(context, workload.floor());
  std::vector<Contestant> contestants;
  contestants.push_back({[&] { workload.run(); }, {}});
  contestants.push_back({[&] { floor->run(); }, {}});
  Workload* const yardstick = workload.yardstick();
  const std::size_t by_yardstick = contestants.size();
  if (yardstick != nullptr) contestants.push_back({[&] { yardstick->run(); }, {}});
  std::vector<Entered> entered;
  if (options.peers) entered = enter_peers(context, workload, reference, record);
  for (Entered& e : entered) {
    e.contestant = contestants.size();
    contestants.push_back({[peer = e.peer.get()] { peer->run(); }, {}});
  }
  TimingOptions timing = timing_for(context.device());
  timing.repeat = options.repeat;
  timing.progress = [&](int done, int total) { tell(label + ": timing", done, total); };
  time_in_turns(*make_timer(context), contestants, timing);

  record.repeatable = fingerprint(context, workload.result()) == verified_bits;
  const CudaPlan* const cuda = cuda_part(workload);
  record.bits_promised = cuda == nullptr || cuda->flush == Flush::ordered;
  if (!record.repeatable && record.bits_promised)
    record.verified.first_wrong = "a later run gave other bits than the one that was verified";
  // Atomics add in any order: the last result must be right as well, if not to the bit.
  if (!record.repeatable && !record.bits_promised)
    record.verified = reference.compare(context, workload.result(), on_the_way);
  const std::vector<double>& times = contestants[0].microseconds;
  record.repeat = static_cast<int>(times.size());
  record.median_us = median_of(times);
  record.min_us = quantile_of(times, 0);
  record.p90_us = quantile_of(times, 0.9);
  record.floor_us = median_of(contestants[1].microseconds);
  record.floor_ratio = record.floor_us > 0 ? record.median_us / record.floor_us : 0;
  if (yardstick != nullptr && setup.linear > 0) {
    record.two_us = median_of(contestants[by_yardstick].microseconds);
    record.two_ratio = record.median_us > 0 ? record.two_us / record.median_us : 0;
  } else if (yardstick != nullptr) {
    record.spmm_us = median_of(contestants[by_yardstick].microseconds);
    record.spmm_ratio = record.spmm_us > 0 ? record.median_us / record.spmm_us : 0;
  }
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

}  // namespace

Record measure(Context& context, const Graph& graph, const Setup& setup, Workload& workload,
               const CaseOptions& options) {
  const Sample sample = Sample::of(workload.reduced_over(graph), workload.features_an_edge());
  const Reference reference = workload.reference(sample);
  return measure_against(reference, context, graph, setup, workload, options);
}

PlacedGraph::PlacedGraph(const Context& context, const Graph& graph)
    : host(graph.has_edge_ids() ? in_stored_order(graph).graph : graph),
      there(context.device().kind == DeviceKind::cpu ? host : host.to(context.device(), context.stream())) {}

std::vector<Record> run_cases(Context& context, const PlacedGraph& graph, const Setup& setup,
                              const std::vector<NamedPolicy>& policies, const CaseOptions& options) {
  std::unique_ptr<Workload> workload;  // inputs and reference are made once, with the first policy that has a plan
  std::optional<Sample> sample;
  std::optional<Reference> reference;
  bool peers_timed = false;
  std::vector<Record> records;
  for (const NamedPolicy& named : policies) {
    Setup one = setup;
    one.policy = named.policy;
    CaseOptions chosen = options;
    chosen.peers = options.peers && !peers_timed;
    Record& record = records.emplace_back();
    try {
      if (workload == nullptr)
        workload = make_workload(context, graph.there, one);
      else
        workload->plan_again(context, graph.there, one);
      if (!reference) {
        sample.emplace(Sample::of(workload->reduced_over(graph.host), workload->features_an_edge()));
        reference.emplace(workload->reference(*sample));
      }
      record = measure_against(*reference, context, graph.host, one, *workload, chosen);
      peers_timed = true;
    } catch (const Error& error) {
      record = {};
      describe(record, context, graph.host, one);
      record.failure = error;
    }
    record.policy = named.text;
  }
  return records;
}

}  // namespace weft::tool
