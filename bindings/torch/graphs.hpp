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

/// Which arrays a graph was taken from: where they stand and how long they are.
struct Origin {
  std::vector<const void*> arrays;
  std::vector<std::int64_t> sizes;
  std::int64_t num_sources = 0;

  static Origin of(const std::vector<Tensor>& rows, std::int64_t num_sources);
  friend bool operator==(const Origin&, const Origin&) = default;
};

/// A graph and the plans of the calls on it that came last. `arrays` are those of torch's that it reads, if it does.
class HeldGraph {
 public:
  HeldGraph(Graph graph, Origin origin, bool lasts, std::vector<Tensor> arrays = {})
      : graph_(std::move(graph)), origin_(std::move(origin)), lasts_(lasts), arrays_(std::move(arrays)) {}
  const std::vector<Tensor>& arrays() const { return arrays_; }
  /// Whether torch has put the arrays elsewhere, as Tensor.share_memory_() does.
  bool moved() const;
  const Graph& graph() const { return graph_; }
  const Origin& origin() const { return origin_; }
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
  Origin origin_;
  bool lasts_;
  std::vector<Tensor> arrays_;
  std::mutex lock_;
  std::list<std::pair<PlanKey, std::shared_ptr<const void>>> plans_;  // the last used first
};

/// [offsets, columns] or [offsets, columns, ids of edges] as weft takes them, and what must live for as long. A handle
/// behind them is no part of them.
struct RowInputs {
  std::vector<Input> arrays;
  RowTensors tensors;

  /// An Error names what is no such list.
  explicit RowInputs(const std::vector<Tensor>& rows);
};
/// The offsets, of which there must be some.
const Tensor& offsets_of(const std::vector<Tensor>& rows);

/// Gives a graph over these rows a key, which no other will have.
std::int64_t hold_graph(const std::vector<Tensor>& rows, std::int64_t num_sources);
std::int64_t hold_graph(const Graph& graph, const std::vector<Tensor>& rows, std::int64_t num_sources);
void release_graph(std::int64_t key);
/// Holds a graph for as long as that tensor's memory lives, whose place is the key: as a further tensor behind rows it
/// goes where torch takes them, into what a compiled program keeps for its backward, say. Nobody reads the 0 in it.
Tensor hold_by_handle(const Graph& graph, const std::vector<Tensor>& rows, std::int64_t num_sources);
/// The graph that is held under the key, or by the handle behind the rows, where it is that of these rows; else one for
/// this call. (A program that was exported has keys of another process.)
std::shared_ptr<HeldGraph> graph_of(const std::vector<Tensor>& rows, std::int64_t key, std::int64_t num_sources);

/// The graph that is held under the key, for operands on that device.
std::shared_ptr<HeldGraph> held_graph(std::int64_t key, Device device);

/// [offsets, columns] or [offsets, columns, ids of edges] of a graph, in its memory.
std::vector<Tensor> rows_of(const Graph& graph, const Tensor& like);

}  // namespace weft::pytorch
