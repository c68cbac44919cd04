// What becomes of a dataset's edges before they are used: duplicates merged, reverses added, self-loops.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"
#include "weft/dataset.hpp"
#include "weft/graph.hpp"

namespace weft::tool {

/// The options --undirected and --directed.
struct Direction {
  bool undirected = false, directed = false;

  /// Once, to an app that this outlives.
  void add_to(CLI::App& app, const char* group);
  /// A UsageError where both are given.
  void check() const;
  /// " --undirected", or nothing.
  std::string command() const;
};

/// Changes the graph of a dataset that outlives it, its edge values carried along, one step after the other.
class EdgeChanges {
 public:
  explicit EdgeChanges(Dataset& data) : data_(data) {}

  void merge_duplicates();
  /// Of an edge and its reverse that are both there already, both stay as they are: their values are not added up.
  void add_reverses(Duplicates how = Duplicates::drop);
  void treat_self_loops(SelfLoops loops);

  struct Step {
    std::string what;
    std::int64_t before, after;  // edges
  };
  const std::vector<Step>& steps() const { return steps_; }
  /// "; then self-loops added": what a note must add so that it still describes the graph.
  std::string changes() const;
  /// "change   self-loops added: 5 -> 7 edges", a line for people of each step that changed something.
  std::vector<std::string> lines() const;

 private:
  void apply(std::string_view what, Derived derived, Duplicates duplicates);

  Dataset& data_;
  std::vector<Step> steps_;
};

}  // namespace weft::tool
