#include "bench/record.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/timing.hpp"
#include "kernels/cpu/target.hpp"
#include "machine.hpp"
#include "weft/version.hpp"

namespace weft::tool {
namespace {

using nlohmann::json;

json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

json to_json(const PeerRecord& peer) {
  json out = {{"name", peer.name}, {"version", peer.version}, {"status", peer.status}};
  if (!peer.detail.empty()) out["detail"] = peer.detail;
  if (peer.status == "ok")
    out.update({{"median_us", peer.median_us},
                {"min_us", peer.min_us},
                {"prepare_us", peer.prepare_us},
                {"speedup", peer.speedup}});
  return out;
}

json to_json(const Record& r) {
  json out = {{"graph", r.graph},     {"nodes", r.rows},   {"cols", r.cols},
              {"edges", r.edges},     {"op", r.op},        {"variant", r.variant},
              {"width", r.width},     {"heads", r.heads},  {"dtype", name(r.dtype)},
              {"threads", r.threads}, {"policy", r.policy}};
  if (!r.note.empty()) out["note"] = r.note;
  if (r.sample && r.sample->width > 0)
    out["sample"] = {{"method", r.sample->method},
                     {"width", r.sample->width},
                     {"rate", number(r.sample->rate)},
                     {"form", r.sample->by_operator ? "by the operator" : "written out"},
                     {"sample_us", r.sample->by_operator ? nlohmann::json() : number(r.sample->us)}};
  if (r.failure) {
    out["error"] = r.failure->what();
    return out;
  }
  out.update({{"plan", r.plan},
              {"plan_us", number(r.plan_us)},
              {"verified",
               {{"right", r.right()},
                {"how", r.verified.how},
                {"max_error_over_bound", number(r.verified.worst)},
                {"repeatable", r.repeatable}}},
              {"peers", json::array()}});
  if (!r.verified.first_wrong.empty()) out["verified"]["first_wrong"] = r.verified.first_wrong;
  if (r.right())  // a wrong result has no time
    out.update({{"median_us", r.median_us},
                {"min_us", r.min_us},
                {"p90_us", r.p90_us},
                {"repeat", r.repeat},
                {"gflops", number(r.gflops)},
                {"gathered_gb_s", number(r.gathered_gb_s)},
                {"floor_us", number(r.floor_us)},
                {"floor_ratio", number(r.floor_ratio)}});
  if (r.right() && r.spmm_us > 0) out.update({{"spmm_us", r.spmm_us}, {"spmm_ratio", number(r.spmm_ratio)}});
  if (r.right() && r.two_us > 0) out.update({{"two_kernels_us", r.two_us}, {"two_kernels_ratio", number(r.two_ratio)}});
  for (const PeerRecord& peer : r.peers) out["peers"].push_back(to_json(peer));
  return out;
}

json device_json(const RunInfo& run) {
  json out = {{"kind", run.device}, {"cpu", run.cpu_model}, {"threads", run.threads}, {"target", run.target}};
  if (run.gpu)
    out["gpu"] = {{"name", run.gpu->name},
                  {"compute_capability", run.gpu->compute_capability},
                  {"multiprocessors", run.gpu->multiprocessors},
                  {"memory_bytes", run.gpu->memory_bytes},
                  {"l2_bytes", run.gpu->l2_bytes},
                  {"clock_mhz", run.gpu->clock_mhz},
                  {"memory_clock_mhz", run.gpu->memory_clock_mhz},
                  {"driver", run.gpu_driver},
                  {"driver_cuda", run.gpu->driver},
                  {"runtime_cuda", run.gpu->runtime},
                  {"copy_gb_s", number(run.copy_gb_s)}};
  return out;
}

}  // namespace

const PeerRecord* best_peer(const Record& record) {
  const PeerRecord* best = nullptr;
  for (const PeerRecord& peer : record.peers)
    if (peer.status == "ok" && (best == nullptr || peer.median_us < best->median_us)) best = &peer;
  return best;
}

RunInfo this_run(const Context& context) {
  RunInfo run;
  run.version = version();
  run.commit = build_commit();
  run.date = utc_now();
  run.compiler = compiler_text();
  run.device = to_string(context.device());
  run.cpu_model = this_machine().cpu_model;
  run.target = cpu::cpu_target();
  run.threads = context.threads();
  for (PeerVersion& peer : peer_versions())
    if (peer.device == context.device().kind) run.peers.push_back(std::move(peer));
  if (context.device().kind == DeviceKind::cuda) {
    run.gpu = gpu_facts(context.device().index);
    run.gpu_driver = gpu_driver_version();
    run.copy_gb_s = copy_gb_s(context);
  }
  return run;
}

std::string busy_note(const RunInfo& run) {
  if (run.gpu || run.load <= 0.5 * run.threads) return "";
  return fmt::format("this machine is busy (load {:.1f} before weft started): expect noisy times", run.load);
}

nlohmann::json to_json(const RunInfo& run, const std::vector<Record>& records) {
  json results = json::array();
  for (const Record& record : records) results.push_back(to_json(record));
  json peers = json::array();
  for (const PeerVersion& peer : run.peers) peers.push_back({{"name", peer.name}, {"version", peer.version}});
  return {{"weft", run.version},        {"commit", run.commit},   {"date", run.date},
          {"compiler", run.compiler},   {"command", run.command}, {"load", run.load},
          {"device", device_json(run)}, {"peers", peers},         {"results", results}};
}

}  // namespace weft::tool
