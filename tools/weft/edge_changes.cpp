#include "edge_changes.hpp"

#include <fmt/format.h>

#include "adding.hpp"
#include "text.hpp"

namespace weft::tool {

void Direction::add_to(CLI::App& given, const char* group) {
  Adding app(given);
  app.add_flag("--undirected,--symmetric", undirected,
               "Give every edge its reverse: for lists that have each edge of an undirected graph once")
      ->group(group);
  app.add_flag("--directed", directed, "Keep edges as they are, which is what happens without it, and say so")
      ->group(group);
}

void Direction::check() const {
  if (directed && undirected)
    throw UsageError("--directed and --undirected (--symmetric) contradict each other: give one");
}

std::string Direction::command() const {
  return std::string(undirected ? " --undirected" : "") + (directed ? " --directed" : "");
}

void EdgeChanges::merge_duplicates() {
  const Duplicates how = data_.values ? Duplicates::merge : Duplicates::drop;
  apply("duplicates merged", simplify(data_.graph, how), how);
}

void EdgeChanges::add_reverses(Duplicates how) { apply("reverse edges added", symmetrise(data_.graph, how), how); }

void EdgeChanges::treat_self_loops(SelfLoops loops) {
  if (loops == SelfLoops::keep) return;
  apply(loops == SelfLoops::add ? "self-loops added" : "self-loops removed", with_self_loops(data_.graph, loops),
        Duplicates::keep);
}

void EdgeChanges::apply(std::string_view what, Derived derived, Duplicates duplicates) {
  const std::int64_t before = data_.graph.num_edges(), after = derived.graph.num_edges();
  if (data_.values) data_.values = carry_values(derived.origin, data_.values, duplicates);
  data_.graph = std::move(derived.graph);
  steps_.push_back({std::string(what), before, after});
}

std::string EdgeChanges::changes() const {
  std::string text;
  for (const Step& step : steps_)
    if (step.before != step.after) text += (text.empty() ? "; then " : ", ") + step.what;
  return text;
}

std::vector<std::string> EdgeChanges::lines() const {
  std::vector<std::string> lines;
  for (const Step& step : steps_)
    if (step.before != step.after)
      lines.push_back(fmt::format("change   {}: {} -> {} edges", step.what, grouped(step.before), grouped(step.after)));
  return lines;
}

}  // namespace weft::tool
