// weft convert: from one graph file or dataset to another, cleaned up on the way.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "core/names.hpp"
#include "data_options.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"
#include "weft/graph.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string in, out, self_loops = "keep";
  bool symmetric = false, directed = false, keep_duplicates = false, json = false;
  DataOptions parts;
};

/// The graph and its values, changed one step at a time; each step leaves a note.
class Pipeline {
 public:
  explicit Pipeline(Dataset data) : data_(std::move(data)) {}

  void apply(std::string_view what, Derived derived, Duplicates duplicates) {
    const std::int64_t before = graph().num_edges(), after = derived.graph.num_edges();
    if (data_.values) data_.values = carry_values(derived.origin, data_.values, duplicates);
    data_.graph = std::move(derived.graph);
    steps_.push_back({std::string(what), before, after});
  }
  const Graph& graph() const { return data_.graph; }
  const Tensor& values() const { return data_.values; }
  Dataset& data() { return data_; }

  struct Step {
    std::string what;
    std::int64_t before, after;
  };
  const std::vector<Step>& steps() const { return steps_; }
  /// "; then self-loops added": what a note must add so that it still describes the graph.
  std::string changes() const {
    std::string text;
    for (const Step& step : steps_)
      if (step.before != step.after) text += (text.empty() ? "; then " : ", ") + step.what;
    return text;
  }

 private:
  Dataset data_;
  std::vector<Step> steps_;
};

constexpr const char* self_loop_words = "keep|add|remove";

SelfLoops parse_self_loops(const std::string& text) {
  constexpr NameTable<SelfLoops, 3> names{
      {{SelfLoops::keep, "keep"}, {SelfLoops::add, "add"}, {SelfLoops::remove, "remove"}}};
  return as_usage("--self-loops", [&] { return parse_in(names, "treatment", text); });
}

void clean(Pipeline& pipeline, const Options& options, SelfLoops loops) {
  // Parallel edges first, so that symmetrising meets each direction once. Of an edge and its reverse
  // that are both there already, both stay as they are: their values are not added up.
  if (!options.keep_duplicates) {
    const Duplicates how = pipeline.values() ? Duplicates::merge : Duplicates::drop;
    pipeline.apply("duplicates merged", simplify(pipeline.graph(), how), how);
  }
  if (options.symmetric) {
    const Duplicates how = options.keep_duplicates ? Duplicates::keep : Duplicates::drop;
    pipeline.apply("reverse edges added", symmetrise(pipeline.graph(), how), how);
  }
  if (loops != SelfLoops::keep)
    pipeline.apply(loops == SelfLoops::add ? "self-loops added" : "self-loops removed",
                   with_self_loops(pipeline.graph(), loops), Duplicates::keep);
}

/// "features, labels": what a file of that name does not keep.
std::string left_out(const Dataset& data, const std::string& path) {
  if (lower_case(path).ends_with(".weft")) return {};
  std::string list;
  const auto add = [&](bool there, const char* what) {
    if (there) list += (list.empty() ? "" : ", ") + std::string(what);
  };
  add(data.has_features(), "features");
  add(static_cast<bool>(data.labels), "labels");
  add(data.train || data.val || data.test, "splits");
  add(static_cast<bool>(data.node_ids), "node ids");
  add(static_cast<bool>(data.node_names), "node names");
  add(data.graph_ids || data.graph_labels, "graphs of a collection");
  return list;
}

int run(const Options& options) {
  const SelfLoops loops = parse_self_loops(options.self_loops);
  if (options.directed && options.symmetric)
    throw UsageError("--directed and --undirected (--symmetric) contradict each other: give one");
  options.parts.check();
  check_output(options.out);
  const Stopwatch watch;
  Dataset file = open_data(options.in);
  const double read_seconds = watch.seconds();
  std::string note = file.note;
  const std::string format = file.format;
  const std::int64_t edges_read = file.graph.num_edges(), rows_read = file.graph.num_rows();
  const std::int64_t cols_read = file.graph.num_cols();
  Pipeline pipeline(std::move(file));
  clean(pipeline, options, loops);
  if (!note.empty()) note += pipeline.changes();
  pipeline.data().note = note;
  const std::vector<std::string> given = options.parts.apply(pipeline.data());  // after all changes: degrees are final
  note = pipeline.data().note;
  const double clean_seconds = watch.seconds() - read_seconds;
  {
    ProgressBar bar;
    write_dataset(options.out, pipeline.data(), bar.callback());
  }
  const double write_seconds = watch.seconds() - read_seconds - clean_seconds;
  std::error_code ignored;
  const auto size = std::filesystem::file_size(options.out, ignored);
  const Graph& graph = pipeline.graph();
  const std::string left = left_out(pipeline.data(), options.out);
  if (options.json) {
    nlohmann::json steps = nlohmann::json::array();
    for (const auto& step : pipeline.steps())
      steps.push_back({{"step", step.what}, {"edges_before", step.before}, {"edges_after", step.after}});
    const nlohmann::json json = {
        {"in", options.in},
        {"out", options.out},
        {"note", note},
        {"rows", graph.num_rows()},
        {"cols", graph.num_cols()},
        {"edges_read", edges_read},
        {"edges_written", graph.num_edges()},
        {"values", pipeline.values() ? nlohmann::json(name(pipeline.values().dtype())) : nullptr},
        {"steps", steps},
        {"given", given},
        {"left_out", left},
        {"bytes", ignored ? nlohmann::json() : nlohmann::json(size)},
        {"read_seconds", read_seconds},
        {"clean_seconds", clean_seconds},
        {"write_seconds", write_seconds}};
    print_line(stdout, json_text(json));
    return 0;
  }
  print_line(stdout, fmt::format("read     {} ({}): {} x {}, {} edges in {}", options.in, format, grouped(rows_read),
                                 grouped(cols_read), grouped(edges_read), seconds_text(read_seconds)));
  if (!note.empty()) print_line(stdout, "note     " + note);
  if (!left.empty()) print_line(stdout, fmt::format("left out {}: only .weft keeps them", left));
  if (options.directed) print_line(stdout, "edges    directed: none gets a reverse");
  for (const auto& step : pipeline.steps())
    if (step.before != step.after)
      print_line(stdout,
                 fmt::format("change   {}: {} -> {} edges", step.what, grouped(step.before), grouped(step.after)));
  for (const std::string& line : given) print_line(stdout, line);
  print_line(stdout,
             fmt::format("wrote    {}: {} edges{}, {} in {}", options.out, grouped(graph.num_edges()),
                         pipeline.values() ? fmt::format(" with {} values", name(pipeline.values().dtype())) : "",
                         ignored ? "" : bytes_text(static_cast<double>(size)), seconds_text(write_seconds)));
  return 0;
}

}  // namespace

Command add_convert(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("convert", "Write a graph or dataset in another format, cleaned up as asked");
  app->add_option("IN", options->in, "A graph or dataset: a file, folder or name (docs/formats.md), or a SPEC")
      ->type_name("GRAPH")
      ->required();
  app->add_option("OUT", options->out, "The file to write; its ending says the format (.weft, .npz, .mtx, .mtx.gz)")
      ->type_name("FILE")
      ->required();
  app->add_flag("--undirected,--symmetric", options->symmetric,
                "Give every edge its reverse: for lists that have each edge of an undirected graph once");
  app->add_flag("--directed", options->directed,
                "Keep edges as they are, which is what happens without it, and say so");
  app->add_option("--self-loops", options->self_loops, "What becomes of self-loops (add gives each node one)")
      ->type_name(self_loop_words)
      ->capture_default_str();
  app->add_flag("--keep-duplicates", options->keep_duplicates,
                "Keep parallel edges; without it they become one edge whose value is the sum of theirs");
  options->parts.add_to(*app);
  app->add_flag("--json", options->json, "Print one JSON object instead of text");
  app->footer(
      "Example:\n  weft convert citations.mtx.gz citations.weft --undirected --self-loops add\n"
      "  weft convert edges.csv mine.weft --undirected --labels y.csv --split random");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::tool
