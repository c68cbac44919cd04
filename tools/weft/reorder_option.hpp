// Renumbering nodes: --reorder of weft train and weft infer, which do it once before anything runs, and what weft
// reorder shares with them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "command.hpp"
#include "weft/reorder.hpp"

namespace weft::tool {

/// "louvain: 39 communities, modularity 0.7727, in 38.1 ms on cpu"
std::string order_text(const Reordering& order);
/// Method, device, seconds and, of Louvain's, communities, modularity and levels.
nlohmann::json order_json(const Reordering& order);

/// With a progress bar. The options of LOA are read for that method alone.
Reordering find_order(const Context& context, const Graph& graph, ReorderMethod method, const LoaOptions& loa = {});

class ReorderOption {
 public:
  /// Once, to an app that this outlives.
  void add_to(CLI::App& app, const char* group);
  /// A UsageError where there is no such method.
  void check() const;
  bool given() const { return method_.has_value(); }
  /// As the dataset is renumbered by.
  Reordering find(const Context& context, const Dataset& dataset) const;
  /// " --reorder louvain", or nothing.
  std::string command() const { return given() ? " --reorder " + *method_ : std::string(); }

 private:
  ReorderMethod method() const;
  std::optional<std::string> method_;
};

}  // namespace weft::tool
