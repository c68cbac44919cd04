// weft generate: a synthetic graph to a file.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "command.hpp"
#include "generators.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"
#include "weft/generate.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string spec, out;
  bool list = false, json = false;
};

int list(bool as_json) {
  const auto datasets = known_datasets();
  if (as_json) {
    nlohmann::json json = {{"generators", nlohmann::json::array()}, {"like", nlohmann::json::array()}};
    for (const Generator& g : generators()) json["generators"].push_back({{"spec", g.form}, {"meaning", g.meaning}});
    for (const KnownDataset& d : datasets)
      json["like"].push_back({{"name", d.name}, {"nodes", d.nodes}, {"edges", d.edges}, {"source", d.source}});
    print_line(stdout, json_text(json));
    return 0;
  }
  print_line(stdout, "generators (what is left out takes the value shown)");
  for (const Generator& g : generators()) print_line(stdout, fmt::format("  {}\n      {}", g.form, g.meaning));
  print_line(stdout, "like:NAME, synthetic stand-ins with published counts");
  std::size_t widest = 4, source = 6;
  for (const KnownDataset& d : datasets) {
    widest = std::max(widest, d.name.size());
    source = std::max(source, d.source.size());
  }
  TextTable table(
      stdout,
      {{"  name", widest + 2, Align::left}, {"nodes", 13}, {"edges", 15}, {"counts from", source, Align::left}});
  table.print_header();
  for (const KnownDataset& d : datasets)
    table.print_row({fmt::format("  {}", d.name), grouped(d.nodes), grouped(d.edges), std::string(d.source)});
  return 0;
}

int run(const Options& options) {
  if (options.list) return list(options.json);
  if (options.spec.empty()) throw UsageError("SPEC is missing: name a generator, or list them with --list");
  if (!is_generator_spec(options.spec)) {
    const std::string meant = spec_suggestion(options.spec);
    throw UsageError(meant.empty()
                         ? fmt::format("SPEC '{}' names no generator: weft generate --list shows them", options.spec)
                         : fmt::format("SPEC '{}' is not valid: {}", options.spec, meant));
  }
  if (options.out.empty()) throw UsageError("-o OUT is missing: name the file to write, such as graph.weft");
  check_output(options.out);
  const Stopwatch watch;
  const GraphFile made = open_source(options.spec);
  const double seconds = watch.seconds();
  {
    ProgressBar bar;
    write_graph(options.out, made.graph, made.values ? ConstTensorView(made.values) : ConstTensorView{}, bar.callback(),
                made.note);
  }
  const double write_seconds = watch.seconds() - seconds;
  std::error_code ignored;
  const auto size = std::filesystem::file_size(options.out, ignored);
  if (options.json) {
    const nlohmann::json json = {{"spec", options.spec},
                                 {"out", options.out},
                                 {"note", made.note},
                                 {"rows", made.graph.num_rows()},
                                 {"cols", made.graph.num_cols()},
                                 {"edges", made.graph.num_edges()},
                                 {"bytes", ignored ? nlohmann::json() : nlohmann::json(size)},
                                 {"generate_seconds", seconds},
                                 {"write_seconds", write_seconds}};
    print_line(stdout, json_text(json));
    return 0;
  }
  print_line(stdout, fmt::format("made     {}: {} nodes, {} edges in {}", options.spec, grouped(made.graph.num_rows()),
                                 grouped(made.graph.num_edges()), seconds_text(seconds)));
  if (!made.note.empty()) print_line(stdout, "note     " + made.note);
  print_line(stdout, fmt::format("wrote    {}: {} in {}", options.out,
                                 ignored ? "" : bytes_text(static_cast<double>(size)), seconds_text(write_seconds)));
  return 0;
}

}  // namespace

Command add_generate(CLI::App& root) {
  auto options = std::make_shared<Options>();
  Adding app(root, "generate", "Make a synthetic graph and write it to a file");
  app->add_option("SPEC", options->spec, "KIND:key=value,... such as rmat:scale=21,edge_factor=16,seed=1 or like:arxiv")
      ->type_name("SPEC");
  app->add_option("-o,--out", options->out,
                  "The file to write; its ending says the format (.weft, .npz, .mtx, .mtx.gz)")
      ->type_name("FILE");
  app->add_flag("--list", options->list, "List the generators and the names like: knows");
  app->add_flag("--json", options->json, "Print one JSON object instead of text");
  app->footer("Example:\n  weft generate rmat:scale=16,edge_factor=16,seed=1 -o rmat16.weft\n  weft generate --list");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::tool
