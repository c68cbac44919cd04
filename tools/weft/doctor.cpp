// weft doctor: what this build is, what this machine has, and whether the two work together.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "bench/run_case.hpp"
#include "bench/workload.hpp"
#include "command.hpp"
#include "help.hpp"
#include "kernels/cpu/target.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "plan/kernel_table.hpp"
#include "text.hpp"
#include "weft/generate.hpp"
#include "weft/version.hpp"

namespace weft::tool {
namespace {

struct Check {
  std::string what;
  bool passed = false;
  std::string detail;
};

constexpr OpKind tested_kinds[] = {OpKind::spmm, OpKind::sddmm, OpKind::softmax, OpKind::attention};
std::vector<Dtype> dtypes_on(Device device) {
  if (device.kind == DeviceKind::cuda) return {Dtype::f32, Dtype::f16, Dtype::f64};
  return {Dtype::f32, Dtype::f16};
}

// A skewed graph with a row long enough to be cut, and widths that are no multiple of a vector.
void self_test(Device device, std::vector<Check>& checks) {
  PowerlawSpec spec;
  spec.nodes = 2000;
  spec.edges = 40000;
  const Graph graph = in_stored_order(generate(spec)).graph;
  for (const OpKind kind : tested_kinds)
    for (const Dtype dtype : dtypes_on(device)) {
      Setup setup;
      setup.desc.kind = kind;
      setup.desc.dtype = dtype;
      setup.desc.width = kind == OpKind::softmax ? 1 : 41;
      setup.desc.heads = kind == OpKind::attention ? 2 : 1;
      setup.desc.weighted = kind == OpKind::spmm;
      Check check{fmt::format("{} {} on {}", name(kind), name(dtype), to_string(device)), false, ""};
      try {
        Context context = Context::on(device);
        const PlacedGraph placed(context, graph);
        const auto workload = make_workload(context, placed.there, setup);
        workload->run();
        context.synchronise();
        const Sample sample = Sample::of(graph, workload->features_an_edge());
        const Verification verification = workload->reference(sample).compare(context, workload->result());
        check.passed = verification.right;
        check.detail = verification.first_wrong;
      } catch (const std::exception& error) {
        check.detail = error.what();
      }
      checks.push_back(std::move(check));
    }
}

struct Findings {
  Machine machine;
  std::vector<CudaDevice> gpus;
  std::string no_gpu;
  std::vector<PeerVersion> peers;
  std::vector<GraphFormat> formats;
  std::vector<Check> checks;

  bool healthy() const {
    for (const Check& check : checks)
      if (!check.passed) return false;
    return true;
  }
};

Findings examine() {
  Findings found;
  found.machine = this_machine();
  found.gpus = cuda_devices(&found.no_gpu);
  found.peers = peer_versions();
  found.formats = graph_formats();
  self_test(Device{}, found.checks);
  for (const CudaDevice& gpu : found.gpus) self_test({DeviceKind::cuda, gpu.index}, found.checks);
  return found;
}

nlohmann::json to_json(const Findings& found) {
  using nlohmann::json;
  const Machine& m = found.machine;
  json caches = json::array(), gpus = json::array(), peers = json::array(), formats = json::array(),
       checks = json::array();
  for (const Cache& c : m.caches)
    caches.push_back({{"level", c.level}, {"type", c.type}, {"bytes", c.bytes}, {"shared_by", c.shared_by}});
  for (const CudaDevice& d : found.gpus)
    gpus.push_back({{"index", d.index},
                    {"name", d.name},
                    {"compute_capability", d.compute_capability},
                    {"memory_bytes", d.memory_bytes}});
  for (const PeerVersion& p : found.peers)
    peers.push_back(
        {{"name", p.name}, {"version", p.version}, {"device", p.device == DeviceKind::cpu ? "cpu" : "cuda"}});
  for (const GraphFormat& f : found.formats)
    formats.push_back({{"name", f.name},
                       {"endings", f.endings},
                       {"readable", f.readable},
                       {"writable", f.writable},
                       {"description", f.description}});
  for (const Check& c : found.checks) checks.push_back({{"check", c.what}, {"passed", c.passed}, {"detail", c.detail}});
  return {
      {"weft", version()},
      {"commit", build_commit()},
      {"compiler", compiler_text()},
      {"system", m.system},
      {"cpu",
       {{"model", m.cpu_model},
        {"processors", m.processors},
        {"usable_threads", available_threads()},
        {"target", cpu::cpu_target()},
        {"caches", caches}}},
      {"memory", {{"bytes", m.memory_bytes}, {"available_bytes", m.available_bytes}, {"huge_pages", m.huge_pages}}},
      {"cuda", {{"built", built_with_cuda()}, {"devices", gpus}, {"why_none", found.gpus.empty() ? found.no_gpu : ""}}},
      {"peers", peers},
      {"formats", formats},
      {"self_test", {{"passed", found.healthy()}, {"checks", checks}}}};
}

std::string or_unknown(const std::string& text) { return text.empty() ? "unknown" : text; }

void print(const Findings& found) {
  const Machine& m = found.machine;
  // `indent`: of what goes on below, behind the label.
  const auto line = [](std::string_view label, const std::string& text, std::size_t indent = 0) {
    constexpr std::size_t column = 12;
    const std::string first = text.substr(0, indent);
    print_line(stdout,
               fmt::format("{:<{}}{}{}", label, column, first,
                           wrapped(std::string_view(text).substr(first.size()), column + indent, column + indent)));
  };
  const auto widest = [](const auto& list, const auto& text_of) {
    std::size_t most = 0;
    for (const auto& each : list) most = std::max(most, text_of(each).size());
    return most;
  };
  line("weft", fmt::format("{} ({}), built with {}", version(), build_commit(), compiler_text()));
  line("system", or_unknown(m.system));
  line("cpu", or_unknown(m.cpu_model));
  line("cores", fmt::format("{} usable of {}", available_threads(), m.processors));
  line("vectors", std::string(cpu::cpu_target()));
  std::string caches;
  for (const Cache& c : m.caches)
    caches += fmt::format("{}L{}{} {}", caches.empty() ? "" : ", ", c.level,
                          c.type == "Data"          ? "d"
                          : c.type == "Instruction" ? "i"
                                                    : "",
                          bytes_text(static_cast<double>(c.bytes)));
  line("caches", or_unknown(caches));
  line("memory", fmt::format("{}, {} available", bytes_text(static_cast<double>(m.memory_bytes)),
                             bytes_text(static_cast<double>(m.available_bytes))));
  line("huge pages",
       or_unknown(m.huge_pages) + (m.huge_pages == "never" ? " (madvise would make large gathers faster)" : ""));
  if (found.gpus.empty()) line("cuda", (built_with_cuda() ? "built in, no GPU: " : "none: ") + found.no_gpu);
  if (!built_with_cuda() && has_gpu_driver()) line("gpu", "present, not used: this build has no CUDA");
  for (const CudaDevice& d : found.gpus)
    line("cuda", fmt::format("cuda:{} {}, sm_{}, {}", d.index, d.name, d.compute_capability,
                             bytes_text(static_cast<double>(d.memory_bytes))));
  std::string peers;
  for (const PeerVersion& p : found.peers)
    peers += fmt::format("{}{} {}", peers.empty() ? "" : ", ", p.name, p.version);
  line("peers", peers.empty() ? "none compiled in" : peers);
  const std::size_t names = widest(found.formats, [](const GraphFormat& f) { return std::string_view(f.name); });
  std::string_view label = "formats";
  for (const GraphFormat& f : found.formats) {
    const std::string access = f.readable && f.writable ? "read, write" : f.readable ? "read" : "write";
    const std::string head = fmt::format("{:<{}}  {:<11}  ", f.name, names, access);
    line(label, head + std::string(f.description), head.size());
    label = "";
  }
  const std::size_t whats = widest(found.checks, [](const Check& c) { return std::string_view(c.what); });
  label = "self-test";
  for (const Check& c : found.checks) {
    const std::string head = fmt::format("{:<{}}  {}", c.what, whats, c.passed ? "pass" : "FAIL");
    line(label, head + (c.detail.empty() ? "" : ": " + c.detail), head.size());
    label = "";
  }
}

/// Those of the kernel table; none in a build without CUDA.
int list_kernels(bool json) {
  const std::vector<Kernel> kernels = built_with_cuda() ? built_kernels() : std::vector<Kernel>{};
  nlohmann::json list = nlohmann::json::array();
  for (const Kernel& kernel : kernels) {
    if (json)
      list.push_back(to_string(kernel));
    else
      print_line(stdout, to_string(kernel));
  }
  if (json) print_line(stdout, json_text({{"kernels", std::move(list)}}));
  if (!json && kernels.empty()) print_line(stdout, "none: this build has no CUDA");
  return 0;
}

}  // namespace

Command add_doctor(CLI::App& root) {
  auto json = std::make_shared<bool>(false), kernels = std::make_shared<bool>(false);
  Adding app(root, "doctor", "Show what this build and this machine can do, and test that it works");
  app->add_flag("--json", *json, "Print one JSON object instead of text");
  app->add_flag("--kernels", *kernels,
                "List the CUDA kernels that this build has to gather features with, a line each");
  app->footer("Example:\n  weft doctor");
  return {app, [json, kernels] {
            if (*kernels) return list_kernels(*json);
            const Findings found = examine();
            if (*json)
              print_line(stdout, json_text(to_json(found)));
            else
              print(found);
            if (found.healthy()) return 0;
            throw Error(ErrorCode::internal,
                        "the self-test failed: please report it with the output of weft doctor --json");
          }};
}

}  // namespace weft::tool
