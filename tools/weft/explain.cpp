// weft explain: how an operator would run on a graph, what else was weighed, and why it lost.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "options.hpp"
#include "text.hpp"
#include "weft/plan.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string op, source, width, heads = "1", dtype = "f32", reduce = "sum", device, threads = "0", policy;
  bool unweighted = false, json = false;
};

nlohmann::json to_json(const PlanCandidate& candidate) {
  const Plan& plan = candidate.plan;
  return {{"plan", to_string(plan)},
          {"schedule", name(plan.schedule)},
          {"assignment", name(plan.assignment)},
          {"tasks", plan.tasks},
          {"piece_edges", plan.piece_edges},
          {"long_rows", plan.long_rows},
          {"pieces", plan.pieces},
          {"prefetch_edges", plan.prefetch_edges},
          {"workspace_bytes", plan.workspace_bytes},
          {"gather_us", candidate.gather_us},
          {"stream_us", candidate.stream_us},
          {"compute_us", candidate.compute_us},
          {"imbalance", candidate.imbalance},
          {"overhead_us", candidate.overhead_us},
          {"total_us", candidate.total_us},
          {"chosen", candidate.chosen}};
}

void print(const GraphFile& file, const OpDesc& desc, const PlanReport& report) {
  const DegreeStats d = file.graph.degree_stats();
  print_line(stdout,
             fmt::format("graph    {}: {} x {}, {} edges; in-degree median {}, mean {}, p99 {}, max {}; {} empty rows",
                         file.name, grouped(file.graph.num_rows()), grouped(file.graph.num_cols()),
                         grouped(file.graph.num_edges()), grouped(d.median), short_number(d.mean), grouped(d.p99),
                         grouped(d.max), grouped(d.empty)));
  if (!file.note.empty()) print_line(stdout, "note     " + file.note);
  print_line(stdout, fmt::format("operator {}: {}, {} head{} of width {}, {}{}", name(desc.kind), name(desc.dtype),
                                 desc.heads, desc.heads == 1 ? "" : "s", desc.width, name(desc.reduce),
                                 desc.weighted ? "" : ", unweighted"));
  print_line(stdout, "");
  TextTable table(stdout, {{"", 2, Align::left},
                           {"schedule", 10, Align::left},
                           {"assignment", 11, Align::left},
                           {"tasks", 7},
                           {"prefetch", 8},
                           {"long rows", 9},
                           {"pieces", 7},
                           {"gather us", 10},
                           {"stream us", 10},
                           {"compute us", 10},
                           {"imbalance", 9},
                           {"overhead us", 11},
                           {"total us", 10}});
  table.print_header();
  for (const PlanCandidate& c : report.candidates)
    table.print_row({c.chosen ? "->" : "", std::string(name(c.plan.schedule)), std::string(name(c.plan.assignment)),
                     grouped(c.plan.tasks), fmt::format("{}", c.plan.prefetch_edges), grouped(c.plan.long_rows),
                     grouped(c.plan.pieces), fmt::format("{:.1f}", c.gather_us), fmt::format("{:.1f}", c.stream_us),
                     fmt::format("{:.1f}", c.compute_us), fmt::format("{:.2f}", c.imbalance),
                     fmt::format("{:.1f}", c.overhead_us), fmt::format("{:.1f}", c.total_us)});
  print_line(stdout, "");
  for (const PlanCandidate& c : report.candidates)
    if (c.chosen) print_line(stdout, "choice   " + to_string(c.plan));
  print_line(stdout, "why      " + report.reason);
}

int run(const Options& options) {
  OpDesc desc;
  desc.kind = as_usage("OP", [&] { return parse_op_kind(options.op); });
  const auto dtypes = parse_dtypes(options.dtype);
  if (dtypes.size() != 1) throw UsageError("--dtype takes one type here");
  desc.dtype = dtypes.front();
  desc.heads = parse_count("--heads", options.heads, 1, 4096);
  const auto widths = parse_widths(desc.kind, desc.heads, options.width);
  if (widths.size() != 1) throw UsageError(fmt::format("--width is '{}': expected one width", options.width));
  desc.width = widths.front();
  desc.reduce = as_usage("--reduce", [&] { return parse_reduce(options.reduce); });
  desc.weighted = !options.unweighted;
  const Policy policy =
      as_usage("--policy", [&] { return options.policy.empty() ? Policy{} : parse_policy(options.policy); });
  const Context context = pick_context(options.device, parse_count("--threads", options.threads, 0, 4096));
  const GraphFile file = open_source(options.source);
  const PlanReport report = explain_plan(context, file.graph, desc, policy);
  if (options.json) {
    nlohmann::json json = {{"graph", file.name},
                           {"note", file.note},
                           {"rows", file.graph.num_rows()},
                           {"cols", file.graph.num_cols()},
                           {"edges", file.graph.num_edges()},
                           {"op", name(desc.kind)},
                           {"dtype", name(desc.dtype)},
                           {"heads", desc.heads},
                           {"width", desc.width},
                           {"reduce", name(desc.reduce)},
                           {"weighted", desc.weighted},
                           {"device", to_string(context.device())},
                           {"threads", context.threads()},
                           {"reason", report.reason},
                           {"candidates", nlohmann::json::array()}};
    for (const PlanCandidate& candidate : report.candidates) json["candidates"].push_back(to_json(candidate));
    print_line(stdout, json_text(json));
    return 0;
  }
  print_line(stdout, device_line(context));
  print(file, desc, report);
  return 0;
}

}  // namespace

Command add_explain(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("explain", "Show how an operator would run on a graph, and why");
  add_operator(*app, options->op);
  app->add_option("GRAPH", options->source, "A graph file or a SPEC")->required();
  app->add_option("--width", options->width, "Features a node (a head) has");
  app->add_option("--heads", options->heads, "Heads")->capture_default_str();
  app->add_option("--dtype", options->dtype, "Storage type: f32, f16, bf16 or f64")->capture_default_str();
  app->add_option("--reduce", options->reduce, "sum, mean, max or min")->capture_default_str();
  app->add_flag("--unweighted", options->unweighted, "Without edge values");
  app->add_option("--device", options->device, "cpu, cuda or cuda:N; the best there is by default");
  app->add_option("--threads", options->threads, "CPU threads; 0 takes every core")->capture_default_str();
  app->add_option("--policy", options->policy,
                  "Values to fix: schedule=rows,tasks=64,prefetch=16,assignment=round_robin on a CPU, "
                  "edges=128,order=columns on a GPU");
  app->add_flag("--json", options->json, "Print one JSON object instead of text");
  app->footer("Example:\n  weft explain spmm like:arxiv --width 64");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::tool
