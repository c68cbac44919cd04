// weft bench: how fast an operator runs, beside what memory allows and what other libraries do, with
// every result checked before it is timed.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "bench/run_case.hpp"
#include "bench/table.hpp"
#include "command.hpp"
#include "core/check.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string op, width, dtype = "f32", heads = "1", reduce = "sum", variant, device, threads = "0", repeat = "0";
  std::vector<std::string> sources, policies;
  std::string json, report;
  bool unweighted = false, peers = false;
};

/// The options as values; whatever is wrong with them is said before any graph is opened.
struct Request {
  Setup setup;  // without width and dtype
  std::vector<std::int64_t> widths;
  std::vector<Dtype> dtypes;
  std::vector<NamedPolicy> policies;
  CaseOptions options;
};

void read_variant(const Options& options, Setup& setup) {
  const OpKind kind = setup.desc.kind;
  const std::string& text = options.variant;
  if (kind == OpKind::spmm && options.unweighted) setup.spmm_op = SpmmOp::copy_u;
  if (!text.empty()) {
    if (kind == OpKind::spmm)
      setup.spmm_op = as_usage("--op", [&] { return parse_spmm_op(text); });
    else if (kind == OpKind::sddmm)
      setup.sddmm_op = as_usage("--op", [&] { return parse_sddmm_op(text); });
    else if (kind == OpKind::attention)
      setup.score = as_usage("--op", [&] { return parse_score(text); });
    else
      throw UsageError(fmt::format("--op is '{}': {} has no variants", text, name(kind)));
  }
  if (kind == OpKind::spmm) {
    if (options.unweighted && uses_edge(setup.spmm_op))
      throw UsageError(
          fmt::format("--unweighted leaves {} without edge values: drop one of the two", name(setup.spmm_op)));
    setup.desc.weighted = uses_edge(setup.spmm_op);
  } else {
    if (options.unweighted && kind != OpKind::spmv)
      throw UsageError(fmt::format("--unweighted: {} has no edge weights to leave out", name(kind)));
    setup.desc.weighted = !options.unweighted;
  }
  setup.desc.reduce = as_usage("--reduce", [&] { return parse_reduce(options.reduce); });
  if (setup.desc.reduce != Reduce::sum && kind != OpKind::spmm && kind != OpKind::segment)
    throw UsageError(fmt::format("--reduce is '{}': only spmm and segment have reducers", options.reduce));
}

Request read(const Options& options) {
  Request request;
  OpDesc& desc = request.setup.desc;
  desc.kind = as_usage("OP", [&] { return parse_op_kind(options.op); });
  read_variant(options, request.setup);
  desc.heads = parse_count("--heads", options.heads, 1, 4096);
  request.widths = parse_widths(desc.kind, desc.heads, options.width);
  request.dtypes = parse_dtypes(options.dtype);
  for (const std::string& text : options.policies)
    request.policies.push_back(
        text == "auto" ? NamedPolicy{} : NamedPolicy{text, as_usage("--policy", [&] { return parse_policy(text); })});
  if (request.policies.empty()) request.policies.emplace_back();
  request.options.peers = options.peers;
  request.options.repeat = static_cast<int>(parse_count("--repeat", options.repeat, 0, 1'000'000));
  return request;
}

void print_notes(std::FILE* file, const Record& record, DeviceKind device) {
  if (!record.right())
    print_line(file,
               fmt::format("  {} is WRONG on {}: {}", record.op, record.verified.how, record.verified.first_wrong));
  if (device != DeviceKind::cpu) return;  // print_peers has a line for each
  for (const PeerRecord& peer : record.peers)
    if (!peer.detail.empty()) print_line(file, fmt::format("  {} {}: {}", peer.name, peer.status, peer.detail));
}

int run(const Options& options, const std::string& command) {
  Request request = read(options);
  for (const std::string& path : {options.json, options.report})
    if (!path.empty() && path != "-") check_savable(path);
  Context context = pick_context(options.device, parse_count("--threads", options.threads, 0, 4096));
  // With JSON on stdout, people's output goes to stderr.
  std::FILE* out = options.json == "-" ? stderr : stdout;
  print_line(out, device_line(context));
  const double load = machine_load();
  if (context.device().kind == DeviceKind::cpu && load > 0.5 * context.threads())
    print_line(out,
               fmt::format("note: this machine is busy (load {:.1f} before weft started): expect noisy times", load));
  ProgressBar bar;
  request.options.progress = bar.callback();
  const TableOptions columns{context.device().kind, request.setup.desc.kind, options.peers, !options.policies.empty()};
  std::unique_ptr<ResultTable> table;
  std::vector<Record> records;
  for (const std::string& source : options.sources) {
    const GraphFile file = open_source(source);
    // Values in the order the edges are stored in: what peers get, and what a trainer would keep.
    const PlacedGraph graph(context, file.graph);
    bar.clear();
    if (!file.note.empty() && file.note != file.name) print_line(out, "note: " + file.note);
    if (table == nullptr) table = std::make_unique<ResultTable>(out, columns);
    for (const Dtype dtype : request.dtypes)
      for (const std::int64_t width : request.widths) {
        Setup setup = request.setup;
        setup.desc.dtype = dtype;
        setup.desc.width = width;
        for (Record& record : run_cases(context, graph, setup, request.policies, request.options)) {
          record.graph = file.name;
          record.note = file.note;
          bar.clear();
          table->add(record);
          print_notes(out, record, context.device().kind);
          records.push_back(std::move(record));
        }
      }
  }
  if (context.device().kind != DeviceKind::cpu) print_peers(out, records);
  RunInfo info = this_run(context);
  info.command = command;
  info.load = load;
  const std::string json = json_text(to_json(info, records)) + "\n";
  if (options.json == "-")
    std::fputs(json.c_str(), stdout);
  else if (!options.json.empty())
    save_text(options.json, json);
  if (!options.report.empty()) save_text(options.report, to_html(info, records));
  std::size_t wrong = 0;
  for (const Record& record : records) wrong += record.right() ? 0 : 1;
  WEFT_CHECK(wrong == 0, internal, "{} of {} results are wrong: please report this with the table above", wrong,
             records.size());
  return 0;
}

// As it was given, for the record; the program's name without its folder.
std::string command_text(const Options& options) {
  std::string text = "weft bench " + options.op;
  for (const std::string& source : options.sources) text += " " + source;
  const auto add = [&](std::string_view option, const std::string& value, std::string_view standard) {
    if (value != standard) text += fmt::format(" {} {}", option, value);
  };
  add("--width", options.width, "");
  add("--dtype", options.dtype, "f32");
  add("--heads", options.heads, "1");
  add("--reduce", options.reduce, "sum");
  add("--op", options.variant, "");
  if (options.unweighted) text += " --unweighted";
  add("--device", options.device, "");
  add("--threads", options.threads, "0");
  if (options.peers) text += " --peers";
  for (const std::string& policy : options.policies) add("--policy", policy, "");
  add("--repeat", options.repeat, "0");
  return text;
}

}  // namespace

Command add_bench(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app =
      root.add_subcommand("bench", "Time an operator, its result checked, beside the gather floor and peers");
  add_operator(*app, options->op);
  app->add_option("GRAPH", options->sources, "Graph files or SPECs")->required();
  app->add_option("--width", options->width, "Features a node (a head) has: K or K,K,..");
  app->add_option("--dtype", options->dtype, "Storage types: f32, f16, bf16, f64, or several as T,T,..")
      ->capture_default_str();
  app->add_option("--heads", options->heads, "Heads")->capture_default_str();
  app->add_option("--reduce", options->reduce, "spmm and segment: sum, mean, max or min")->capture_default_str();
  app->add_option("--op", options->variant,
                  "spmm: copy_u, copy_e, u_add_e, u_sub_e, u_mul_e (default), u_div_e; sddmm: dot (default), add, sub, "
                  "mul, div, copy_lhs, copy_rhs; attention: gat (default), gatv2, dot");
  app->add_flag("--unweighted", options->unweighted, "Without edge values");
  app->add_option("--device", options->device, "cpu, cuda or cuda:N; the best there is by default");
  app->add_option("--threads", options->threads, "CPU threads; 0 takes every core")->capture_default_str();
  app->add_flag("--peers", options->peers, "Also time the other libraries this build knows, in turns with weft");
  app->add_option("--policy", options->policies,
                  "Values to fix: schedule=rows,tasks=64,prefetch=16,assignment=round_robin on a CPU, "
                  "edges=128,order=columns on a GPU; given several times, a row each (auto: the planner's choice)")
      ->allow_extra_args(false);
  app->add_option("--repeat", options->repeat, "Timed runs; 0: at least 20, fewer (never under 5) where they take long")
      ->capture_default_str();
  app->add_option("--json", options->json, "Write the records to this file (- for standard output)");
  app->add_option("--report", options->report, "Write an HTML page with table and bars to this file");
  app->footer(
      "Example:\n  weft bench spmm like:arxiv --width 16,32,64,128 --peers --json arxiv.json\n\n"
      "GB/s counts the gathered rows, x floor is the time over that of just loading them (gather floor), and a\n"
      "peer's speed-up is its time over weft's. A result that fails its check shows WRONG instead of a time.");
  return {app, [options] { return run(*options, command_text(*options)); }};
}

}  // namespace weft::tool
