// Options that give a dataset what its files lack: reverse edges, features, labels and splits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"
#include "edge_changes.hpp"
#include "outputs.hpp"
#include "weft/dataset.hpp"

namespace weft::tool {

/// What the output says where --directed is given.
inline constexpr const char* directed_line = "edges    directed: none gets a reverse";

class DataOptions {
 public:
  /// Once, to an app that this outlives.
  void add_to(CLI::App& app, const char* group = "Data");
  /// A UsageError for the first value that is wrong, before any data is read.
  void check() const;
  /// Gives them to the dataset. Returns a line for people of each thing that it did.
  std::vector<std::string> apply(Dataset& dataset) const;
  /// All but the direction of edges, for who changes edges first.
  std::vector<std::string> give(Dataset& dataset) const;
  const Direction& direction() const { return direction_; }
  /// As --undirected does it, and true, unless --directed or --undirected is given.
  bool reverse_edges_unless_told();

  /// Whether features, labels or splits are given.
  bool any() const { return !parts_.features.empty() || !parts_.labels.empty() || has_splits(); }
  bool has_splits() const { return !parts_.masks.empty() || !split_.empty(); }
  /// The files among them.
  std::vector<NamedPath> files() const {
    return {{"--features", &parts_.features}, {"--labels", &parts_.labels}, {"--masks", &parts_.masks}};
  }
  /// " --features identity --split random:0.6,0.2,0.2": the options as they were given, in front of each a blank.
  std::string command() const;

 private:
  /// command() without the direction of edges.
  std::string given() const;

  Direction direction_;
  DatasetParts parts_;
  std::string split_, split_seed_;
};

/// An Error that says which option helps where a dataset has no features, no labels or nothing to train on.
void check_learnable(const Dataset& dataset, const std::string& source);

}  // namespace weft::tool
