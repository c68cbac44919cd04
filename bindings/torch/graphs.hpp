// Graphs as operators get them: tensors of compressed rows, and the key under which Python holds the graph, so that its
// transpose and plans are made once.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <typeindex>
#include <vector>

#include "tensors.hpp"
#include "weft/graph.hpp"

namespace weft::pytorch {

/// Of so many calls plans are made for a graph that Python holds, as those of a training run.
inline constexpr std::int64_t runs_of_a_held_graph = 100;

/// What a plan depends on besides the graph: numbers of the caller's choice, and the type of the plan.
struct PlanKey {
  using Numbers = std::vector<std::int64_t>;
  std::type_index type;
  Numbers of;
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

/// A graph and the plans of the calls on it that came last.
class HeldGraph {
 public:
  HeldGraph(Graph graph, bool lasts) : graph_(std::move(graph)), lasts_(lasts) {}
  const Graph& graph() const { return graph_; }
  /// Whether Python holds it, so that more calls are to be expected.
  bool lasts() const { return lasts_; }

  /// The plan of an earlier call with that key, or make().
  template <class Plan, class Make>
  std::shared_ptr<const Plan> plan(PlanKey::Numbers of, const Make& make) {
    const PlanKey key{typeid(Plan), std::move(of)};
    return std::static_pointer_cast<const Plan>(
        kept(key, [&]() -> std::shared_ptr<const void> { return std::make_shared<const Plan>(make()); }));
  }

 private:
  static constexpr std::size_t most_plans = 64;
  std::shared_ptr<const void> kept(const PlanKey& key, const std::function<std::shared_ptr<const void>()>& make);

  Graph graph_;
  bool lasts_;
  std::mutex lock_;
  std::list<std::pair<PlanKey, std::shared_ptr<const void>>> plans_;  // the last used first
};

/// The tensors as weft takes them; an Error names what is none of [offsets, columns(, ids of edges)].
RowTensors row_tensors(const std::vector<Tensor>& from, std::string_view name);
/// Takes the graph of these rows in and gives it a key, which no other will have.
std::int64_t hold_graph(const std::vector<Tensor>& rows, const std::vector<Tensor>& transposed,
                        std::int64_t num_sources);
void release_graph(std::int64_t key);
/// The graph that is held under the key, or where none is, one for this call.
std::shared_ptr<HeldGraph> graph_of(const std::vector<Tensor>& rows, const std::vector<Tensor>& transposed,
                                    std::int64_t key, std::int64_t num_sources);

/// [offsets, columns] or [offsets, columns, ids of edges] of a graph.
std::vector<Tensor> rows_of(const Graph& graph, const Tensor& like);

}  // namespace weft::pytorch
