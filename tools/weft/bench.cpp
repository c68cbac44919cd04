// weft bench: how fast an operator runs, beside what memory allows and what other libraries do, with
// every result checked before it is timed.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "bench/fresh.hpp"
#include "bench/request.hpp"
#include "bench/run_case.hpp"
#include "bench/table.hpp"
#include "bench/timing.hpp"
#include "command.hpp"
#include "core/check.hpp"
#include "machine.hpp"
#include "option_text.hpp"
#include "options.hpp"
#include "outputs.hpp"
#include "plan/policy_keys.hpp"
#include "progress.hpp"
#include "text.hpp"
#include "weft/sample.hpp"

namespace weft::tool {
namespace {

/// "dot (default), add, sub": the names of an enum.
template <class Enum>
std::string variants(Enum standard) {
  std::string list;
  for (const std::string_view each : all_names<Enum>())
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ", each, each == name(standard) ? " (default)" : "");
  return list;
}

/// What a run says besides its table: collected, so that the table stays in one piece.
class Remarks {
 public:
  /// Once each, in the order they were made.
  void add(std::string line) {
    if (std::find(lines_.begin(), lines_.end(), line) == lines_.end()) lines_.push_back(std::move(line));
  }
  void add_notes(const Record& record, DeviceKind device) {
    if (record.failure)
      add_failure(fmt::format("{} width {} {} policy {}", record.graph, record.width, name(record.dtype),
                              record.policy.empty() ? "auto" : record.policy),
                  *record.failure);
    else if (!record.right())
      add(fmt::format("{} of width {} on {} is WRONG on {}: {}", record.op, record.width, record.graph,
                      record.verified.how, record.verified.first_wrong));
    if (device != DeviceKind::cpu) return;  // print_peers has a line for each
    for (const PeerRecord& peer : record.peers)
      if (!peer.detail.empty()) add(fmt::format("{} {}: {}", peer.name, peer.status, peer.detail));
  }
  /// f(); where it fails and is one of several, the others still run and the first failure is kept.
  template <class F>
  void attempt(const std::string& what, bool alone, F&& f) {
    try {
      f();
    } catch (const Error& error) {
      if (alone) throw;
      add_failure(what, error);
    }
  }
  const std::vector<std::string>& lines() const { return lines_; }
  void print(std::FILE* file) const {
    for (const std::string& line : lines_) print_line(file, "note: " + line);
  }
  /// Where something failed, one line that says how much and why.
  std::string conclusion() const {
    return first_.empty() ? "" : fmt::format("{} of the measurements failed, the first so: {}", failed_, first_);
  }

 private:
  void add_failure(const std::string& what, const Error& error) {
    ++failed_;
    if (first_.empty()) first_ = error.what();
    add(fmt::format("{} failed: {}", what, error.what()));
  }

  std::vector<std::string> lines_;
  std::size_t failed_ = 0;
  std::string first_;  // failure
};

struct Run {
  BenchRequest& request;
  const BenchOptions& options;
  Context& context;
  std::FILE* out;  // people's
  ProgressBar& bar;
  Remarks remarks = {};
  std::size_t wrong = 0, results = 0;

  /// Nothing else is measured that a failure could leave standing.
  bool only_one() const {
    return options.sources.size() * request.dtypes.size() * request.widths.size() * request.policies.size() *
               request.sample_widths.size() ==
           1;
  }
  void count(std::size_t more_wrong, std::size_t more_results) {
    wrong += more_wrong;
    results += more_results;
  }

  /// body(file, setup) for every graph, type and width.
  template <class Prepare, class Body>
  void each(Prepare&& prepare, Body&& body) {
    const bool one_graph = options.sources.size() == 1;
    const bool alone = one_graph && request.dtypes.size() * request.widths.size() == 1;
    for (const std::string& source : options.sources)
      remarks.attempt(source, one_graph, [&] {
        const GraphFile file = open_source(source);
        auto graph = prepare(file);
        bar.clear();
        if (!file.note.empty() && file.note != file.name) remarks.add(file.note);
        for (const Dtype dtype : request.dtypes)
          for (const std::int64_t width : request.widths)
            remarks.attempt(fmt::format("{} width {} {}", file.name, width, name(dtype)), alone, [&] {
              Setup setup = request.setup;
              setup.desc.dtype = dtype;
              setup.desc.width = width;
              setup.desc.fits_windows = fits_windows(setup);
              setup.desc.widens = setup.desc.kind == OpKind::attention && setup.score == Score::gat;
              if (request.linear_same) setup.linear = width;
              body(file, graph, setup);
            });
      });
  }
};

/// A graph, or what a sample keeps of it.
struct BenchGraph {
  PlacedGraph placed;
  std::int64_t sample_width = 0;  // 0: all edges
  EdgeOrigin origin = {};         // of a sample's edges, on the host
  double sampling_rate = 1;
  double sample_us = 0;  // of writing the sample out, where the operator runs
};

std::vector<BenchGraph> sampled(const Context& context, const Graph& graph, EdgeSampling method,
                                const std::vector<std::int64_t>& widths) {
  std::vector<BenchGraph> graphs;
  for (const std::int64_t width : widths) {
    if (width == 0) {
      graphs.push_back({PlacedGraph(context, graph)});
      continue;
    }
    const EdgeSample sample{method, width};
    Derived kept = sample_edges(graphs.front().placed.host, sample);
    BenchGraph one{PlacedGraph(context, kept.graph), width, std::move(kept.origin)};
    one.sampling_rate = sampling_rate(graph, width);
    // The median of three, as a plan's: rows are counted in the first.
    std::vector<double> times;
    const std::unique_ptr<Timer> timer = make_wall_timer(context);
    for (int i = 0; i < 4; ++i)
      times.push_back(
          timer->microseconds([&] { sample_edges(graphs.front().placed.there, sample, context.stream()); }));
    times.erase(times.begin());
    one.sample_us = median_of(std::move(times));
    graphs.push_back(std::move(one));
  }
  return graphs;
}

/// The cases of one graph, and of a sample those that draw it in the operator before those over the edges written out.
std::vector<Record> run_samples(Run& run, const std::vector<BenchGraph>& graphs, const BenchGraph& graph,
                                const Setup& setup) {
  const BenchRequest& request = run.request;
  const auto cases = [&](const Setup& one, bool by_operator) {
    // Beside samples, a policy is for the forms that can have it: an order by columns is of edges written out, a kernel
    // that samples of those that are not.
    std::vector<NamedPolicy> policies = request.policies;
    if (graphs.size() > 1)
      std::erase_if(policies, [&](const NamedPolicy& named) {
        const WorkOrder order = named.policy.order.value_or(WorkOrder::none);
        const bool by_columns = order == WorkOrder::columns || order == WorkOrder::clusters_columns;
        return by_operator ? by_columns : named.policy.sample_kernel != SampleKernel::usual;
      });
    std::vector<Record> records = run_cases(run.context, graph.placed, one, policies, request.options);
    if (graphs.size() > 1)
      for (Record& record : records)
        record.sample = {std::string(name(request.method)), graph.sample_width, graph.sampling_rate, by_operator,
                         graph.sample_us};
    return records;
  };
  const bool samples = setup.desc.kind == OpKind::spmm || (setup.desc.kind == OpKind::attention && !setup.backward);
  std::vector<Record> records;
  if (graph.sample_width > 0 && samples) {
    Setup drawing = setup;
    drawing.desc.sample_width = graph.sample_width;
    drawing.sampled = DrawnSample{&graphs.front().placed.there, {request.method, graph.sample_width}, &graph.origin};
    records = cases(drawing, true);
  }
  for (Record& record : cases(setup, false)) records.push_back(std::move(record));
  return records;
}

std::vector<Record> measure_whole(Run& run) {
  const DeviceKind device = run.context.device().kind;
  std::vector<Record> records;
  std::unique_ptr<ResultTable> table;  // made when the first graph is there
  const BenchRequest& request = run.request;
  const bool samples = request.sample_widths.size() > 1;
  const TableOptions columns{device,  request.setup.desc.kind,    run.options.peers, !run.options.policies.empty(),
                             samples, !run.options.linear.empty()};
  // Values in the order the edges are stored in: what peers get, and what a trainer would keep.
  run.each(
      [&](const GraphFile& file) { return sampled(run.context, file.graph, request.method, request.sample_widths); },
      [&](const GraphFile& file, const std::vector<BenchGraph>& graphs, const Setup& setup) {
        for (const BenchGraph& graph : graphs)
          for (Record& record : run_samples(run, graphs, graph, setup)) {
            if (record.failure && run.only_one()) throw *record.failure;
            record.graph = file.name;
            record.note = file.note;
            run.bar.clear();
            if (table == nullptr) table = std::make_unique<ResultTable>(run.out, columns);
            table->add(record);
            run.remarks.add_notes(record, device);
            records.push_back(std::move(record));
          }
      });
  run.bar.clear();
  if (device != DeviceKind::cpu) print_peers(run.out, records);
  for (const Record& record : records)
    if (!record.failure) run.count(record.right() ? 0 : 1, 1);
  return records;
}

nlohmann::json measure_subgraphs(Run& run, const RunInfo& info) {
  FreshOptions options{run.request.subgraphs, run.request.setup.seed, run.request.options};
  std::vector<FreshRecord> records;
  run.each([&](const GraphFile& file) { return file.graph; },
           [&](const GraphFile& file, const Graph& graph, const Setup& setup) {
             records.push_back(run_fresh(run.context, graph, setup, run.request.policies, options));
             records.back().graph = file.name;
             records.back().note = file.note;
             if (records.back().wrong > 0)
               run.remarks.add(fmt::format("WRONG on a subgraph of {}: {}", file.name, records.back().first_wrong));
             run.count(records.back().wrong, static_cast<std::size_t>(options.count));
           });
  run.bar.clear();
  print_fresh(run.out, records);
  nlohmann::json json = to_json(info, std::vector<Record>{});
  json["subgraphs"] = nlohmann::json::array();
  for (const FreshRecord& record : records) json["subgraphs"].push_back(to_json(record));
  return json;
}

int run(const BenchOptions& options, const std::string& command) {
  BenchRequest request = read(options);
  std::vector<NamedPath> inputs;
  for (const std::string& graph : options.sources) inputs.push_back({"GRAPH", &graph});
  check_distinct({{"--json", &options.json}, {"--report", &options.report}}, inputs);
  for (const std::string& path : {options.json, options.report})
    if (!path.empty() && path != "-") check_savable(path);
  Context context = pick_context(options.device, parse_count("--threads", options.threads, 0, 4096));
  context.expect_runs(parse_count("--runs", options.runs, 1, most_expected_runs));
  for (const NamedPolicy& policy : request.policies)
    as_usage("--policy", [&] { check_policy_keys(policy.text, context.device().kind); });
  // With JSON or the page on stdout, people's output goes to stderr.
  std::FILE* out = options.json == "-" || options.report == "-" ? stderr : stdout;
  print_line(out, device_line(context));
  RunInfo info = this_run(context);
  info.command = command;
  info.load = machine_load();
  if (const std::string busy = busy_note(info); !busy.empty()) print_line(out, "note: " + busy);
  if (info.gpu) print_line(out, fmt::format("copy: {:.0f} GB/s, read and written", info.copy_gb_s));
  ProgressBar bar;
  request.options.progress = bar.callback();
  Run all{request, options, context, out, bar};
  std::vector<Record> records;
  nlohmann::json json;
  if (request.subgraphs > 0) {
    json = measure_subgraphs(all, info);
  } else {
    records = measure_whole(all);
    json = to_json(info, records);
  }
  all.remarks.print(out);
  Outputs outputs(out);
  outputs.add_text("--json", options.json, [&] { return json_text(json) + "\n"; });
  outputs.add_text("--report", options.report, [&] { return to_html(info, records, all.remarks.lines()); });
  const int status = outputs.write_all();
  WEFT_CHECK(all.wrong == 0, internal, "{} of {} results are wrong: please report this with the table above", all.wrong,
             all.results);
  if (const std::string failed = all.remarks.conclusion(); !failed.empty()) {
    complain(failed);
    return 1;
  }
  return status;
}

}  // namespace

Command add_bench(CLI::App& root) {
  auto options = std::make_shared<BenchOptions>();
  Adding app(root, "bench", "Time an operator, its result checked, beside the gather floor and peers");
  add_operator(*app, options->op);
  app->add_option("GRAPH", options->sources, "Graphs: files, folders or names (docs/formats.md), or SPECs")
      ->type_name("GRAPH")
      ->required();
  app->add_option("--width", options->width, "Features per node (per head): K or K,K,..")->type_name("K");
  app->add_option("--dtype", options->dtype, "Storage type, or several as T,T,..")
      ->type_name(one_of_floating_dtypes())
      ->capture_default_str();
  app->add_option("--heads", options->heads, "Heads")->type_name("N")->capture_default_str();
  app->add_option("--reduce", options->reduce, "spmm and segment: the reducer")
      ->type_name(one_of<Reduce>())
      ->capture_default_str();
  const Setup standard;
  app->add_option("--op", options->variant,
                  fmt::format("Variant; spmm: {}; sddmm: {}; attention: {}", variants(standard.spmm_op),
                              variants(standard.sddmm_op), variants(standard.score)))
      ->type_name("NAME");
  app->add_flag("--unweighted", options->unweighted, "Without edge values");
  app->add_flag("--edge-vectors", options->edge_vectors, "spmm: edges with a value for every feature");
  app->add_option("--linear", options->linear,
                  "spmm: the sums meet weights with so many columns (same: as --width) in one kernel, beside two")
      ->type_name("N");
  app->add_flag("--backward", options->backward,
                "attention, spmm with --linear: the gradients, after one forward that is not timed");
  add_device(*app, options->device, options->threads);
  app->add_flag("--peers", options->peers, "Also time the other libraries this build knows, in turns with weft");
  app->add_option("--policy", options->policies,
                  "Values to fix, such as schedule=rows,tasks=64,prefetch=16 on a CPU or "
                  "edges=128,order=columns on a GPU; given several times, a row each (auto: the planner's choice)")
      ->type_name("KEY=VALUE,..")
      ->allow_extra_args(false);
  app->add_option("--repeat", options->repeat, "Timed runs; 0: at least 20, fewer (never under 5) where they take long")
      ->type_name("N")
      ->capture_default_str();
  add_runs(*app, options->runs);
  app->add_option("--sample", options->sample, "With --sample-width, which edges of a row are kept (default fastrand)")
      ->type_name(one_of<EdgeSampling>());
  app->add_option(
         "--sample-width", options->sample_width,
         "Time the operator over at most so many edges of every row as well (ES-SpMM): a line for each, beside "
         "that of all edges")
      ->type_name("N,N,..");
  app->add_option(
         "--subgraphs", options->subgraphs,
         "Instead of the whole graph so many subgraphs of 1,000 to 50,000 nodes, walks and drawn nodes in turn, "
         "planning counted; 0: the whole graph")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--seed", options->seed, "Of the inputs, and of the subgraphs")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--json", options->json, "Write the records to this file (- for standard output)")->type_name("FILE");
  app->add_option("--report", options->report,
                  "Write an HTML page with table and bars to this file (- for standard output)")
      ->type_name("FILE");
  app->footer(
      "Example:\n  weft bench spmm like:arxiv --width 16,32,64,128 --peers --json arxiv.json\n\n"
      "GB/s counts the gathered rows, x floor is the time over that of just loading\n"
      "them (gather floor), and a peer's speed-up is its time over weft's. With\n"
      "--subgraphs times are geometric means: fresh us counts planning (a peer's\n"
      "descriptors and preprocessing), run us does not, launching is in both. A result\n"
      "that fails its check shows WRONG instead of a time. A measurement that fails has\n"
      "a row and a note with the reason; the others are measured all the same, and the\n"
      "exit status is 1.");
  return {app, [options] { return run(*options, command_text(*options)); }};
}

}  // namespace weft::tool
