// weft convert: from one graph file or dataset to another, cleaned up on the way.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "command.hpp"
#include "core/names.hpp"
#include "data_options.hpp"
#include "dataset_facts.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"
#include "weft/graph.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string in, out, self_loops = "keep";
  bool keep_duplicates = false, json = false;
  DataOptions parts;
};

constexpr const char* self_loop_words = "keep|add|remove";

SelfLoops parse_self_loops(const std::string& text) {
  constexpr NameTable<SelfLoops, 3> names{
      {{SelfLoops::keep, "keep"}, {SelfLoops::add, "add"}, {SelfLoops::remove, "remove"}}};
  return as_usage("--self-loops", [&] { return parse_in(names, "treatment", text); });
}

void clean(EdgeChanges& edges, const Options& options, SelfLoops loops) {
  // Parallel edges first, so that symmetrising meets each direction once.
  if (!options.keep_duplicates) edges.merge_duplicates();
  if (options.parts.direction().undirected)
    edges.add_reverses(options.keep_duplicates ? Duplicates::keep : Duplicates::drop);
  edges.treat_self_loops(loops);
}

int run(const Options& options) {
  const SelfLoops loops = parse_self_loops(options.self_loops);
  options.parts.check();
  check_output(options.out);
  const Stopwatch watch;
  Dataset file = open_data(options.in);
  const double read_seconds = watch.seconds();
  const std::string format = file.format;
  const std::int64_t edges_read = file.graph.num_edges(), rows_read = file.graph.num_rows();
  const std::int64_t cols_read = file.graph.num_cols();
  EdgeChanges edges(file);
  clean(edges, options, loops);
  if (!file.note.empty()) file.note += edges.changes();
  const std::vector<std::string> given = options.parts.give(file);  // after all changes: degrees are final
  const std::string note = file.note;
  const double clean_seconds = watch.seconds() - read_seconds;
  {
    ProgressBar bar;
    write_dataset(options.out, file, bar.callback());
  }
  const double write_seconds = watch.seconds() - read_seconds - clean_seconds;
  std::error_code ignored;
  const auto size = std::filesystem::file_size(options.out, ignored);
  const Graph& graph = file.graph;
  const std::string left = parts_left_out(file, options.out);
  if (options.json) {
    nlohmann::json steps = nlohmann::json::array();
    for (const auto& step : edges.steps())
      steps.push_back({{"step", step.what}, {"edges_before", step.before}, {"edges_after", step.after}});
    const nlohmann::json json = {{"in", options.in},
                                 {"out", options.out},
                                 {"note", note},
                                 {"rows", graph.num_rows()},
                                 {"cols", graph.num_cols()},
                                 {"edges_read", edges_read},
                                 {"edges_written", graph.num_edges()},
                                 {"values", file.values ? nlohmann::json(name(file.values.dtype())) : nullptr},
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
  if (options.parts.direction().directed) print_line(stdout, directed_line);
  for (const std::string& line : edges.lines()) print_line(stdout, line);
  for (const std::string& line : given) print_line(stdout, line);
  print_line(stdout, fmt::format("wrote    {}: {} edges{}, {} in {}", options.out, grouped(graph.num_edges()),
                                 file.values ? fmt::format(" with {} values", name(file.values.dtype())) : "",
                                 ignored ? "" : bytes_text(static_cast<double>(size)), seconds_text(write_seconds)));
  return 0;
}

}  // namespace

Command add_convert(CLI::App& root) {
  auto options = std::make_shared<Options>();
  Adding app(root, "convert", "Write a graph or dataset in another format, cleaned up as asked");
  app->add_option("IN", options->in, "A graph or dataset: a file, folder or name (docs/formats.md), or a SPEC")
      ->type_name("GRAPH")
      ->required();
  app->add_option("OUT", options->out, "The file to write; its ending says the format (.weft, .npz, .mtx, .mtx.gz)")
      ->type_name("FILE")
      ->required();
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
