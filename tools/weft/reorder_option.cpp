#include "reorder_option.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "adding.hpp"
#include "option_text.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

namespace weft::tool {

std::string order_text(const Reordering& order) {
  std::string text = order.method + ": ";
  if (order.communities)
    text += fmt::format("{} communities, modularity {:.4f}, ", grouped(order.num_communities()), order.modularity);
  return text + fmt::format("in {} on {}", seconds_text(order.seconds), to_string(order.device));
}

nlohmann::json order_json(const Reordering& order) {
  nlohmann::json json = {{"method", order.method},   {"device", to_string(order.device)},
                         {"seconds", order.seconds}, {"communities", nullptr},
                         {"modularity", nullptr},    {"levels", nlohmann::json::array()}};
  if (!order.communities) return json;
  json["communities"] = order.num_communities();
  json["modularity"] = order.modularity;
  for (const LouvainLevel& level : order.levels)
    json["levels"].push_back({{"nodes", level.nodes},
                              {"communities", level.communities},
                              {"rounds", level.rounds},
                              {"modularity", level.modularity},
                              {"seconds", level.seconds}});
  return json;
}

Reordering find_order(const Context& context, const Graph& graph, ReorderMethod method, const LoaOptions& loa) {
  ProgressBar bar;
  switch (method) {
    case ReorderMethod::louvain: {
      LouvainOptions options;
      options.progress = bar.callback();
      return louvain_order(context, graph, options);
    }
    case ReorderMethod::loa: bar.announce("arranging rows in windows"); return loa_order(context, graph, loa);
    case ReorderMethod::degree: break;
  }
  return degree_order(graph);
}

void ReorderOption::add_to(CLI::App& given, const char* group) {
  Adding app(given);
  app.add_option("--reorder", method_,
                 "Renumber the nodes before anything runs, so that neighbours are close in memory; all that is "
                 "written is by the numbers of the data")
      ->type_name(one_of<ReorderMethod>())
      ->group(group);
}

ReorderMethod ReorderOption::method() const {
  return as_usage("--reorder", [&] { return parse_reorder_method(*method_); });
}

void ReorderOption::check() const {
  if (given()) method();
}

Reordering ReorderOption::find(const Context& context, const Dataset& dataset) const {
  return within_graphs(dataset, find_order(context, dataset.graph, method()));
}

}  // namespace weft::tool
