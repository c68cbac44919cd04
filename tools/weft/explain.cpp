// weft explain: how an operator would run on a graph, what else was weighed, and why it lost.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "command.hpp"
#include "ops/operands.hpp"
#include "option_text.hpp"
#include "options.hpp"
#include "plan/cuda/select.hpp"
#include "plan/gather_shape.hpp"
#include "plan/policy_keys.hpp"
#include "text.hpp"
#include "weft/plan.hpp"
#include "weft/sample.hpp"
#include "window_facts.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string op, source, width, heads = "1", dtype = "f32", reduce = "sum", device, threads = "0", runs = "1", policy,
                                 sample_width;
  bool unweighted = false, backward = false, json = false;
};

nlohmann::json choices_json(const CpuPlan& cpu) {
  return {{"threads", cpu.threads},
          {"piece_edges", cpu.piece_edges},
          {"long_rows", cpu.long_rows},
          {"pieces", cpu.pieces},
          {"prefetch_edges", cpu.prefetch_edges}};
}
nlohmann::json choices_json(const CudaPlan& cuda) {
  return {{"edges_a_task", cuda.edges_a_task},
          {"rows_a_task", cuda.rows_a_task},
          {"order", name(cuda.order)},
          {"joined", cuda.joined},
          {"whole_row", cuda.whole_row},
          {"finish_pass", cuda.finish_pass},
          {"stage_edges", cuda.stage_edges},
          {"flush", name(cuda.flush)},
          {"accumulate", name(cuda.accumulate)},
          {"sample_kernel", name(cuda.sample_kernel)},
          {"lanes", cuda.lanes},
          {"vector", cuda.vector},
          {"steps", cuda.steps},
          {"loads", cuda.loads},
          {"head_width", cuda.head_width}};
}

nlohmann::json to_json(const PlanCandidate& candidate) {
  const Plan& plan = candidate.plan;
  nlohmann::json json = {{"plan", to_string(plan)},
                         {"schedule", name(plan.schedule)},
                         {"assignment", name(plan.assignment)},
                         {"tasks", plan.tasks},
                         {"workspace_bytes", plan.workspace_bytes},
                         {"gather_us", candidate.gather_us},
                         {"stream_us", candidate.stream_us},
                         {"compute_us", candidate.compute_us},
                         {"imbalance", candidate.imbalance},
                         {"overhead_us", candidate.overhead_us},
                         {"total_us", candidate.total_us},
                         {"chosen", candidate.chosen}};
  if (const auto kernel = usual_kernel(plan)) json["kernel"] = to_string(*kernel);
  if (const auto windows = window_facts(plan)) json["windows"] = windows_json(*windows);
  json.update(std::visit([](const auto& how) { return choices_json(how); }, plan.how));
  return json;
}

/// What is planned, and for which graph.
struct Subject {
  OpDesc desc;
  Graph graph;        // on the host
  bool out = false;   // its rows are sources
  std::string about;  // what the plan is for, where the operator's name does not say it
};

/// The gradients' own plan: of all of them where one visit of the edges gives them, else of the sum over the transpose
/// that is most of their work.
Subject backward_of(const OpDesc& forward, const Graph& graph, DeviceKind device) {
  Subject subject{forward, graph.transpose(), true, ""};
  subject.desc.backward = device == DeviceKind::cuda || forward.dtype == accumulator(forward.dtype);
  if (!subject.desc.backward) subject.desc.kind = OpKind::spmm;
  return subject;
}
/// What the plan of a backward is one of.
std::string about_backward(const OpDesc& forward, const Plan& plan) {
  constexpr const char* one_visit =
      "the backward's one visit of the edges, over the transpose, which gat has without terms of edges; other scores "
      "take several operators, each with its plan";
  if (plan.device.kind == DeviceKind::cpu) {
    if (plan.desc.backward) return one_visit;
    return "the backward of halves is several operators on a cpu, each with its plan: this is the sum over the "
           "transpose that gives the gradient of value";
  }
  const std::int64_t width = plan.cuda().head_width > 0 ? plan.cuda().head_width : forward.width;
  const GatherShape shape =
      gather_shape_of_heads(forward.heads, width, static_cast<int>(size_of(forward.dtype)), plan.cuda().vector);
  if (heads_lie_evenly(forward.heads, width, shape)) return one_visit;
  return fmt::format(
      "{} heads of width {} do not lie evenly in {} lanes: their backward is several operators, each "
      "with its plan, and this is of none of them",
      forward.heads, forward.width, shape.lanes);
}

// What a plan decides on a CPU, and on a GPU.
std::vector<Column> choices_header(bool host) {
  if (host) return {{"assignment", 11, Align::left}, {"prefetch", 8}, {"long rows", 9}, {"pieces", 7}};
  return {
      {"task", 12}, {"order", 16, Align::left}, {"of a", 5, Align::left}, {"passes", 6}, {"lanes", 5}, {"vector", 6},
      {"loads", 5}};
}
std::vector<std::string> choices(const Plan& plan) {
  if (const auto* cpu = std::get_if<CpuPlan>(&plan.how))
    return {std::string(name(plan.assignment)), fmt::format("{}", cpu->prefetch_edges), grouped(cpu->long_rows),
            grouped(cpu->pieces)};
  const CudaPlan& cuda = plan.cuda();
  return {task_size(plan),
          std::string(name(cuda.order)),
          std::string(task_owner(plan)),
          cuda.finish_pass ? "2" : "1",
          fmt::format("{}", cuda.lanes),
          fmt::format("{}", cuda.vector),
          fmt::format("{}", cuda.loads)};
}

void print(const GraphFile& file, const Subject& subject, Device device, const PlanReport& report) {
  const Graph& graph = subject.graph;
  const OpDesc& desc = subject.desc;
  const DegreeStats d = graph.degree_stats();
  print_line(
      stdout,
      fmt::format("graph    {}{}: {} x {}, {} edges; {}-degree median {}, mean {}, p99 {}, max {}; {} empty rows",
                  file.name, subject.out ? ", transposed" : "", grouped(graph.num_rows()), grouped(graph.num_cols()),
                  grouped(graph.num_edges()), subject.out ? "out" : "in", grouped(d.median), short_number(d.mean),
                  grouped(d.p99), grouped(d.max), grouped(d.empty)));
  if (!file.note.empty()) print_line(stdout, "note     " + file.note);
  if (!subject.about.empty()) print_line(stdout, "note     " + subject.about);
  print_line(stdout, fmt::format("operator {}: {}, {} head{} of width {}, {}{}", name(desc.kind), name(desc.dtype),
                                 desc.heads, desc.heads == 1 ? "" : "s", desc.width, name(desc.reduce),
                                 desc.weighted ? "" : ", unweighted"));
  if (desc.sample_width > 0)
    print_line(stdout, fmt::format("sample   at most {} edges of a row: {} are kept, {:.1f} %", desc.sample_width,
                                   grouped(kept_edges(graph, desc.sample_width)),
                                   100 * sampling_rate(graph, desc.sample_width)));
  print_line(stdout, "");
  const bool host = device.kind == DeviceKind::cpu;
  std::vector<Column> columns{{"", 2, Align::left}, {"schedule", 10, Align::left}, {"tasks", 9}};
  for (Column& column : choices_header(host)) columns.push_back(std::move(column));
  for (const char* title : {"gather us", "stream us", "compute us", "imbalance", "overhead us", "total us"})
    columns.push_back({title, 10});
  TextTable table(stdout, std::move(columns));
  table.print_header();
  for (const PlanCandidate& c : report.candidates) {
    std::vector<std::string> cells{c.chosen ? "->" : "", std::string(name(c.plan.schedule)), grouped(c.plan.tasks)};
    for (std::string& cell : choices(c.plan)) cells.push_back(std::move(cell));
    for (const double us : {c.gather_us, c.stream_us, c.compute_us}) cells.push_back(fmt::format("{:.1f}", us));
    cells.push_back(fmt::format("{:.2f}", c.imbalance));
    for (const double us : {c.overhead_us, c.total_us}) cells.push_back(fmt::format("{:.1f}", us));
    table.print_row(cells);
  }
  print_line(stdout, "");
  for (const PlanCandidate& c : report.candidates) {
    if (!c.chosen) continue;
    print_line(stdout, "choice   " + to_string(c.plan));
    if (const auto kernel = usual_kernel(c.plan)) print_line(stdout, "kernel   " + to_string(*kernel));
    if (const auto windows = window_facts(c.plan))
      for (const std::string& line : window_lines(*windows)) print_line(stdout, line);
  }
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
  desc.fits_windows = true;  // as weft bench runs the operator, of whose scores gat is the first
  desc.widens = desc.kind == OpKind::attention;
  if (desc.reduce != Reduce::sum && desc.kind != OpKind::spmm && desc.kind != OpKind::segment)
    throw UsageError(fmt::format("--reduce is '{}': only spmm and segment have reducers", options.reduce));
  if (options.unweighted && desc.kind != OpKind::spmm && desc.kind != OpKind::spmv)
    throw UsageError(fmt::format("--unweighted: {} has no edge weights to leave out", name(desc.kind)));
  if (options.backward && desc.kind != OpKind::attention)
    throw UsageError(
        fmt::format("--backward: {} plans its gradients inside their call; attention alone has it", name(desc.kind)));
  if (!options.sample_width.empty()) {
    if ((desc.kind != OpKind::spmm && desc.kind != OpKind::attention) || options.backward)
      throw UsageError(fmt::format("--sample-width is '{}': {}{} does not sample edges; spmm and attention do",
                                   options.sample_width, name(desc.kind), options.backward ? " --backward" : ""));
    desc.sample_width = parse_count("--sample-width", options.sample_width, 1, std::int64_t{1} << 40);
  }
  const std::string policy_text = options.policy == "auto" ? "" : options.policy;  // as weft bench spells it
  const Policy policy =
      as_usage("--policy", [&] { return policy_text.empty() ? Policy{} : parse_policy(policy_text); });
  Context context = pick_context(options.device, parse_count("--threads", options.threads, 0, 4096));
  context.expect_runs(parse_count("--runs", options.runs, 1, most_expected_runs));
  const DeviceKind device = context.device().kind;
  as_usage("--policy", [&] { check_policy_keys(policy_text, device); });
  const GraphFile file = open_source(options.source);
  Subject subject = options.backward ? backward_of(desc, file.graph, device) : Subject{desc, file.graph, false, ""};
  const Graph given = device == DeviceKind::cpu ? file.graph : file.graph.to(context.device());
  const Graph graph = options.backward ? given.transpose() : given;
  const PlanReport report = explain_plan(context, graph, subject.desc, policy);
  if (options.backward)
    for (const PlanCandidate& c : report.candidates)
      if (c.chosen) subject.about = about_backward(desc, c.plan);
  if (options.json) {
    nlohmann::json json = {{"graph", file.name},
                           {"note", file.note},
                           {"rows", subject.graph.num_rows()},
                           {"cols", subject.graph.num_cols()},
                           {"edges", file.graph.num_edges()},
                           {"op", name(desc.kind)},
                           {"planned_op", name(subject.desc.kind)},
                           {"dtype", name(desc.dtype)},
                           {"heads", desc.heads},
                           {"width", desc.width},
                           {"reduce", name(desc.reduce)},
                           {"weighted", desc.weighted},
                           {"backward", options.backward},
                           {"sample_width", desc.sample_width},
                           {"device", to_string(context.device())},
                           {"threads", context.threads()},
                           {"reason", report.reason},
                           {"candidates", nlohmann::json::array()}};
    if (!subject.about.empty()) json["about"] = subject.about;
    for (const PlanCandidate& candidate : report.candidates) json["candidates"].push_back(to_json(candidate));
    print_line(stdout, json_text(json));
    return 0;
  }
  print_line(stdout, device_line(context));
  print(file, subject, context.device(), report);
  return 0;
}

}  // namespace

Command add_explain(CLI::App& root) {
  auto options = std::make_shared<Options>();
  Adding app(root, "explain", "Show how an operator would run on a graph, and why");
  add_operator(*app, options->op);
  app->add_option("GRAPH", options->source, "A graph: a file, folder or name (docs/formats.md), or a SPEC")
      ->type_name("GRAPH")
      ->required();
  app->add_option("--width", options->width, "Features per node (per head)")->type_name("K");
  app->add_option("--heads", options->heads, "Heads")->type_name("N")->capture_default_str();
  app->add_option("--dtype", options->dtype, "Storage type")
      ->type_name(one_of_floating_dtypes())
      ->capture_default_str();
  app->add_option("--reduce", options->reduce, "spmm and segment: the reducer")
      ->type_name(one_of<Reduce>())
      ->capture_default_str();
  app->add_flag("--unweighted", options->unweighted, "spmm and spmv: without edge values");
  app->add_flag("--backward", options->backward, "attention: the plan of its gradients, over the transpose");
  app->add_option("--sample-width", options->sample_width, "spmm and attention: at most so many edges of a row")
      ->type_name("S");
  add_device(*app, options->device, options->threads);
  add_runs(*app, options->runs);
  app->add_option("--policy", options->policy,
                  "Values to fix, such as schedule=rows,tasks=64,prefetch=16 on a CPU or "
                  "edges=128,order=columns on a GPU; all keys are in docs/policies.md")
      ->type_name("KEY=VALUE,..");
  app->add_flag("--json", options->json, "Print one JSON object instead of text");
  app->footer(
      "Example:\n  weft explain spmm like:arxiv --width 64\n  weft explain attention like:arxiv --width 16 --heads "
      "4\n\n"
      "The operator is the one that weft bench runs without --op: u_mul_e (copy_u with\n"
      "--unweighted), dot, and gat without bias and dropout.");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::tool
