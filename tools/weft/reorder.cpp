// weft reorder: a graph or dataset with its nodes renumbered.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "command.hpp"
#include "core/check.hpp"
#include "dataset_facts.hpp"
#include "option_text.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "reorder_option.hpp"
#include "text.hpp"

namespace weft::tool {
namespace {

struct Options {
  std::string in, out, method = "louvain", window = "16", look_ahead, range, device, threads = "0";
  bool json = false;
};

LoaOptions loa_options(const Options& options, ReorderMethod method) {
  LoaOptions loa;
  loa.window = parse_count("--window", options.window, 1, 1024);
  loa.range = loa.range / loa.window * loa.window;
  for (const auto& [option, text] : {std::pair("--look-ahead", &options.look_ahead), {"--range", &options.range}})
    if (!text->empty() && method != ReorderMethod::loa)
      throw UsageError(fmt::format("{} is of --method loa: leave it out with --method {}", option, name(method)));
  if (!options.look_ahead.empty()) loa.look_ahead = parse_count("--look-ahead", options.look_ahead, 1, 1 << 20);
  if (!options.range.empty()) loa.range = parse_count("--range", options.range, 0, INT32_MAX);
  if (loa.range % loa.window != 0)
    throw UsageError(fmt::format("--range is {}: expected 0 or a multiple of --window, {}", loa.range, loa.window));
  return loa;
}

int run(const Options& options) {
  const ReorderMethod method = as_usage("--method", [&] { return parse_reorder_method(options.method); });
  const LoaOptions loa = loa_options(options, method);
  const std::int64_t threads = parse_count("--threads", options.threads, 0, 4096);
  check_output(options.out);
  const Context context = pick_context(options.device, threads);
  if (!options.json) print_line(stdout, device_line(context));
  const Stopwatch watch;
  const Dataset before = open_data(options.in);
  const double read_seconds = watch.seconds();
  WEFT_CHECK(before.graph.is_square(), invalid_argument,
             "'{}' is {} x {}: expected as many rows as columns, as both are renumbered alike", options.in,
             before.graph.num_rows(), before.graph.num_cols());
  if (!options.json)
    print_line(stdout,
               fmt::format("read     {} ({}): {} nodes, {} edges in {}", options.in, before.format,
                           grouped(before.num_nodes()), grouped(before.graph.num_edges()), seconds_text(read_seconds)));
  const Reordering order = within_graphs(before, find_order(context, before.graph, method, loa));
  const Stopwatch renumbering;
  const Dataset after = reordered(before, order);
  const double renumber_seconds = renumbering.seconds();
  const double intensity_before = window_intensity(before.graph, loa.window);
  const double intensity_after = window_intensity(after.graph, loa.window);
  {
    ProgressBar bar;
    write_dataset(options.out, after, bar.callback());
  }
  std::error_code ignored;
  const auto size = std::filesystem::file_size(options.out, ignored);
  const std::string left = parts_left_out(after, options.out);
  if (options.json) {
    const nlohmann::json json = {{"in", options.in},
                                 {"out", options.out},
                                 {"nodes", after.num_nodes()},
                                 {"edges", after.graph.num_edges()},
                                 {"order", order_json(order)},
                                 {"window", loa.window},
                                 {"intensity_before", intensity_before},
                                 {"intensity_after", intensity_after},
                                 {"left_out", left},
                                 {"bytes", ignored ? nlohmann::json() : nlohmann::json(size)},
                                 {"read_seconds", read_seconds},
                                 {"renumber_seconds", renumber_seconds}};
    print_line(stdout, json_text(json));
    return 0;
  }
  for (std::size_t i = 0; i < order.levels.size(); ++i) {
    const LouvainLevel& level = order.levels[i];
    print_line(stdout, fmt::format("level {:<3}{} nodes in {} communities after {} rounds, modularity {:.4f}, {}",
                                   i + 1, grouped(level.nodes), grouped(level.communities), level.rounds,
                                   level.modularity, seconds_text(level.seconds)));
  }
  print_line(stdout, "order    " + order_text(order));
  print_line(stdout, fmt::format("windows  of {} rows: {:.3f} edges per column before, {:.3f} after", loa.window,
                                 intensity_before, intensity_after));
  if (!left.empty()) print_line(stdout, fmt::format("left out {}: only .weft keeps them", left));
  print_line(stdout, fmt::format("wrote    {}: {}, renumbered in {}", options.out,
                                 ignored ? "" : bytes_text(static_cast<double>(size)), seconds_text(renumber_seconds)));
  return 0;
}

}  // namespace

Command add_reorder(CLI::App& root) {
  auto options = std::make_shared<Options>();
  Adding app(root, "reorder", "Renumber the nodes of a graph or dataset, so that neighbours are close");
  app->add_option("GRAPH", options->in, "A graph or dataset: a file, folder or name (docs/formats.md), or a SPEC")
      ->type_name("GRAPH")
      ->required();
  app->add_option("-o,--out", options->out,
                  "The file to write; its ending says the format. Only .weft keeps features, labels, splits, ids and "
                  "the numbers that nodes had")
      ->type_name("FILE")
      ->required();
  app->add_option("--method", options->method,
                  "louvain: community by community; loa: rows that share columns, in windows (HC-SpMM's); degree: "
                  "most edges first")
      ->type_name(one_of<ReorderMethod>())
      ->capture_default_str();
  app->add_option("--window", options->window, "Rows of a window, for loa and for the edges per column that are shown")
      ->type_name("N")
      ->capture_default_str();
  app->add_option("--look-ahead", options->look_ahead, "loa: candidates for the next row of a window (default 300)")
      ->type_name("N");
  app->add_option(
         "--range", options->range,
         "loa: nodes that are arranged independently of all others, several ranges at a time (default 4096; 0: all "
         "at once, as the paper has it)")
      ->type_name("N");
  add_device(*app, options->device, options->threads);
  app->add_flag("--json", options->json, "Print one JSON object instead of text");
  app->footer(
      "Example:\n  weft reorder like:arxiv -o arxiv-ordered.weft\n"
      "  weft reorder cora -o cora-windows.weft --method loa");
  return {app, [options] { return run(*options); }};
}

}  // namespace weft::tool
