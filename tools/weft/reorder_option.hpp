// Renumbering nodes: --reorder of weft train and weft infer, which do it once before anything runs, and what weft
// reorder shares with them.
#pragma once

#include <string>

#include "command.hpp"
#include "weft/reorder.hpp"

namespace weft::tool {

/// "louvain: 39 communities, modularity 0.7727, in 38.1 ms on cpu"
std::string order_text(const Context& context, const Reordering& order);

/// With a progress bar. The options of LOA are read for that method alone.
Reordering find_order(const Context& context, const Graph& graph, ReorderMethod method, const LoaOptions& loa = {});

class ReorderOption {
 public:
  /// Once, to an app that this outlives.
  void add_to(CLI::App& app, const char* group);
  /// A UsageError where there is no such method.
  void check() const;
  bool given() const { return !method_.empty(); }
  Reordering find(const Context& context, const Graph& graph) const;
  /// " --reorder louvain", or nothing.
  std::string command() const { return given() ? " --reorder " + method_ : std::string(); }

 private:
  ReorderMethod method() const;
  std::string method_;
};

}  // namespace weft::tool
