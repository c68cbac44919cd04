// weft info: what a graph looks like, and what belongs to it.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "command.hpp"
#include "dataset_facts.hpp"
#include "options.hpp"
#include "structure.hpp"
#include "terminal.hpp"
#include "text.hpp"
#include "weight_facts.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string source;
  bool json = false, fast = false;
};

struct Facts {
  Dataset file;
  DatasetFacts dataset;
  DegreeStats degrees;
  Structure structure;
  ValueRange range;
  std::size_t bytes = 0;
  double read_seconds = 0, seconds = 0;

  double density() const {
    const double cells = static_cast<double>(file.graph.num_rows()) * static_cast<double>(file.graph.num_cols());
    return cells > 0 ? static_cast<double>(file.graph.num_edges()) / cells : 0;
  }
};

Facts gather(const Options& options) {
  const Stopwatch watch;
  Facts facts;
  facts.file = open_data(options.source, options.fast ? Validate::trusted : Validate::full);
  facts.read_seconds = watch.seconds();
  facts.bytes = facts.file.graph.bytes() + (facts.file.values ? facts.file.values.bytes() : 0) + more_bytes(facts.file);
  facts.degrees = facts.file.graph.degree_stats();
  facts.structure = structure_of(facts.file.graph);
  if (facts.file.values) facts.range = range_of(facts.file.values);
  facts.dataset = facts_of(facts.file);
  facts.seconds = watch.seconds();
  return facts;
}

// Bucket 0 is degree 0; bucket i holds [2^(i-1), 2^i).
std::int64_t bucket_low(std::size_t i) { return i == 0 ? 0 : std::int64_t{1} << (i - 1); }
std::int64_t bucket_high(std::size_t i) { return i == 0 ? 0 : (std::int64_t{1} << i) - 1; }

nlohmann::json to_json(const Facts& facts, const std::string& source) {
  const Graph& graph = facts.file.graph;
  const DegreeStats& d = facts.degrees;
  nlohmann::json histogram = nlohmann::json::array();
  for (std::size_t i = 0; i < d.histogram.size(); ++i)
    histogram.push_back({{"from", bucket_low(i)}, {"to", bucket_high(i)}, {"rows", d.histogram[i]}});
  nlohmann::json json = {{"name", facts.file.name},
                         {"source", source},
                         {"format", facts.file.format},
                         {"note", facts.file.note},
                         {"rows", graph.num_rows()},
                         {"cols", graph.num_cols()},
                         {"edges", graph.num_edges()},
                         {"square", graph.is_square()},
                         {"density", facts.density()},
                         {"degree",
                          {{"min", d.min},
                           {"median", d.median},
                           {"mean", d.mean},
                           {"p90", d.p90},
                           {"p99", d.p99},
                           {"max", d.max},
                           {"stddev", d.stddev},
                           {"empty_rows", d.empty},
                           {"histogram", histogram}}},
                         {"self_loops", facts.structure.self_loops},
                         {"duplicates", facts.structure.duplicates},
                         {"sorted_columns", facts.structure.sorted_columns},
                         {"symmetric", facts.structure.symmetric},
                         {"bytes", facts.bytes},
                         {"read_seconds", facts.read_seconds},
                         {"seconds", facts.seconds},
                         {"values", nullptr}};
  if (graph.is_square()) json["nodes"] = graph.num_rows();
  if (facts.file.values) {
    json["values"] = {{"dtype", name(facts.file.values.dtype())}, {"not_finite", facts.range.not_finite}};
    if (facts.range.any) json["values"].update({{"min", facts.range.min}, {"max", facts.range.max}});
  }
  if (facts.file.has_more_than_graph()) json["dataset"] = to_json(facts.dataset);
  return json;
}

void print_histogram(const DegreeStats& degrees) {
  std::vector<HistogramRow> rows;
  for (std::size_t i = 0; i < degrees.histogram.size(); ++i) {
    const std::string low = grouped(bucket_low(i)), high = grouped(bucket_high(i));
    rows.push_back({low == high ? low : low + "-" + high, degrees.histogram[i]});
  }
  if (std::ranges::all_of(rows, [](const HistogramRow& row) { return row.count == 0; })) return;
  print_line(stdout, "degree histogram (rows a bucket)");
  for (const std::string& line : histogram_lines(rows, columns_of(stdout))) print_line(stdout, line);
}

void print(const Facts& facts) {
  const Graph& graph = facts.file.graph;
  const DegreeStats& d = facts.degrees;
  const auto line = [](std::string_view label, const std::string& text) {
    print_line(stdout, fmt::format("{:<16}{}", label, text));
  };
  line("graph", facts.file.name);
  if (!facts.file.note.empty()) line("note", facts.file.note);
  line("format", facts.file.format);
  if (graph.is_square())
    line("nodes", grouped(graph.num_rows()));
  else
    line("nodes", fmt::format("{} destinations, {} sources", grouped(graph.num_rows()), grouped(graph.num_cols())));
  line("edges", grouped(graph.num_edges()));
  line("shape", fmt::format("{} x {}{}", grouped(graph.num_rows()), grouped(graph.num_cols()),
                            graph.is_square() ? "" : " (bipartite)"));
  line("density", fmt::format("{:.3g}", facts.density()));
  line("in-degree",
       fmt::format("min {}, median {}, mean {}, p90 {}, p99 {}, max {}, stddev {}", grouped(d.min), grouped(d.median),
                   short_number(d.mean), grouped(d.p90), grouped(d.p99), grouped(d.max), short_number(d.stddev)));
  line("empty rows", grouped(d.empty));
  line("self-loops", graph.is_square() ? grouped(facts.structure.self_loops) : "not defined (not square)");
  line("duplicates", grouped(facts.structure.duplicates));
  line("symmetric", facts.structure.symmetric ? "yes" : "no");
  line("sorted columns", facts.structure.sorted_columns ? "yes" : "no");
  line("edge values", facts.file.values ? values_text(facts.file.values.dtype(), facts.range) : "none");
  for (const auto& [label, text] : lines_of(facts.dataset)) line(label, text);
  line("memory", bytes_text(static_cast<double>(facts.bytes)));
  line("time", fmt::format("{}, of it reading {}", seconds_text(facts.seconds), seconds_text(facts.read_seconds)));
  print_histogram(d);
}

}  // namespace

Command add_info(CLI::App& root) {
  auto options = std::make_shared<Options>();
  Adding app(root, "info", "Show a graph's size, degrees and structure, and a dataset's features, labels and splits");
  app->add_option(
         "DATA", options->source,
         "A graph or dataset: a file or folder (docs/formats.md), a name (karate, cora) or a SPEC (like:arxiv)")
      ->type_name("GRAPH")
      ->required();
  app->add_flag("--json", options->json, "Print one JSON object instead of text");
  app->add_flag("--fast", options->fast, "Trust a .weft file: skip its checksums and index checks");
  app->footer("Example:\n  weft info like:cora\n  weft info graph.mtx.gz --json\n  weft info data/ogbn_arxiv");
  return {app, [options] {
            const Facts facts = gather(*options);
            if (options->json)
              print_line(stdout, json_text(to_json(facts, options->source)));
            else
              print(facts);
            return 0;
          }};
}

}  // namespace weft::tool
