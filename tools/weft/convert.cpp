// weft convert: from one graph file to another, cleaned up on the way.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"
#include "weft/graph.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string in, out, self_loops = "keep";
  bool symmetric = false, keep_duplicates = false, json = false;
};

/// The graph and its values, changed one step at a time; each step leaves a note.
class Pipeline {
 public:
  explicit Pipeline(GraphFile file) : graph_(std::move(file.graph)), values_(std::move(file.values)) {}

  void apply(std::string_view what, Derived derived, Duplicates duplicates) {
    const std::int64_t before = graph_.num_edges(), after = derived.graph.num_edges();
    if (values_) values_ = carry_values(derived.origin, values_, duplicates);
    graph_ = std::move(derived.graph);
    steps_.push_back({std::string(what), before, after});
  }
  const Graph& graph() const { return graph_; }
  const Tensor& values() const { return values_; }

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
  Graph graph_;
  Tensor values_;
  std::vector<Step> steps_;
};

SelfLoops parse_self_loops(const std::string& text) {
  if (text == "keep") return SelfLoops::keep;
  if (text == "add") return SelfLoops::add;
  if (text == "remove") return SelfLoops::remove;
  throw UsageError(fmt::format("--self-loops is '{}': expected keep, add or remove", text));
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

int run(const Options& options) {
  const SelfLoops loops = parse_self_loops(options.self_loops);
  check_output(options.out);
  const Stopwatch watch;
  GraphFile file = open_source(options.in);
  const double read_seconds = watch.seconds();
  std::string note = file.note;
  const std::string format = file.format;
  const std::int64_t edges_read = file.graph.num_edges();
  Pipeline pipeline(std::move(file));
  clean(pipeline, options, loops);
  if (!note.empty()) note += pipeline.changes();
  const double clean_seconds = watch.seconds() - read_seconds;
  {
    ProgressBar bar;
    write_graph(options.out, pipeline.graph(),
                pipeline.values() ? ConstTensorView(pipeline.values()) : ConstTensorView{}, bar.callback(), note);
  }
  const double write_seconds = watch.seconds() - read_seconds - clean_seconds;
  std::error_code ignored;
  const auto size = std::filesystem::file_size(options.out, ignored);
  const Graph& graph = pipeline.graph();
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
        {"bytes", ignored ? nlohmann::json() : nlohmann::json(size)},
        {"read_seconds", read_seconds},
        {"clean_seconds", clean_seconds},
        {"write_seconds", write_seconds}};
    print_line(stdout, json_text(json));
    return 0;
  }
  print_line(stdout,
             fmt::format("read     {} ({}): {} x {}, {} edges in {}", options.in, format, grouped(graph.num_rows()),
                         grouped(graph.num_cols()), grouped(edges_read), seconds_text(read_seconds)));
  if (!note.empty()) print_line(stdout, "note     " + note);
  for (const auto& step : pipeline.steps())
    if (step.before != step.after)
      print_line(stdout,
                 fmt::format("change   {}: {} -> {} edges", step.what, grouped(step.before), grouped(step.after)));
  print_line(stdout,
             fmt::format("wrote    {}: {} edges{}, {} in {}", options.out, grouped(graph.num_edges()),
                         pipeline.values() ? fmt::format(" with {} values", name(pipeline.values().dtype())) : "",
                         ignored ? "" : bytes_text(static_cast<double>(size)), seconds_text(write_seconds)));
  return 0;
}

}  // namespace

Command add_convert(CLI::App& root) {
  auto options = std::make_shared<Options>();
  CLI::App* app = root.add_subcommand("convert", "Write a graph in another format, cleaned up as asked");
  app->add_option("IN", options->in, "A graph file or a SPEC")->required();
  app->add_option("OUT", options->out, "The file to write; its ending says the format (.weft, .npz, .mtx, .mtx.gz)")
      ->required();
  app->add_flag("--symmetric", options->symmetric, "Give every edge its reverse");
  app->add_option("--self-loops", options->self_loops, "What becomes of self-loops: keep, add (one a node) or remove")
      ->capture_default_str();
  app->add_flag("--keep-duplicates", options->keep_duplicates,
                "Keep parallel edges; without it they become one edge whose value is the sum of theirs");
  app->add_flag("--json", options->json, "Print one JSON object instead of text");
  app->footer("Example:\n  weft convert citations.mtx.gz citations.weft --symmetric --self-loops add");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::tool
