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

/// The number of calls that a plan expects on a graph that Python holds, as in a training run.
inline constexpr std::int64_t runs_of_a_held_graph = 100;

/// What a plan depends on besides the graph: numbers that the caller chooses, and the plan's type.
struct PlanKey {
  using Numbers = std::vector<std::int64_t>;
  std::type_index type;
  Numbers of;
  friend bool operator==(const PlanKey&, const PlanKey&) = default;
};

/// The arrays that a graph was made from: their addresses and lengths.
struct Origin {
  std::vector<const void*> arrays;
  std::vector<std::int64_t> sizes;
  std::int64_t num_sources = 0;

  static Origin of(const std::vector<Tensor>& rows, std::int64_t num_sources);
  friend bool operator==(const Origin&, const Origin&) = default;
};

/// A graph and the plans of its most recent calls. `arrays` are the torch tensors that it reads, if any.
class HeldGraph {
 public:
  HeldGraph(Graph graph, Origin origin, bool lasts, std::vector<Tensor> arrays = {})
      : graph_(std::move(graph)), origin_(std::move(origin)), lasts_(lasts), arrays_(std::move(arrays)) {}
  const std::vector<Tensor>& arrays() const { return arrays_; }
  /// Whether torch has moved the arrays, as Tensor.share_memory_() does.
  bool moved() const;
  const Graph& graph() const { return graph_; }
  const Origin& origin() const { return origin_; }
  /// Whether Python holds it, so that more calls are expected.
  bool lasts() const { return lasts_; }

  /// The cached plan of that key, or make().
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
  std::list<std::pair<PlanKey, std::shared_ptr<const void>>> plans_;  // most recently used first
};

/// [offsets, columns] or [offsets, columns, edge ids] as weft takes them, and the tensors that own the memory. A handle
/// after them is ignored.
struct RowInputs {
  std::vector<Input> arrays;
  RowTensors tensors;

  /// An Error for any other list.
  explicit RowInputs(const std::vector<Tensor>& rows);
};
/// The offsets; an Error if there are none.
const Tensor& offsets_of(const std::vector<Tensor>& rows);

/// Registers a graph over these rows under a new key.
std::int64_t hold_graph(const std::vector<Tensor>& rows, std::int64_t num_sources);
std::int64_t hold_graph(const Graph& graph, const std::vector<Tensor>& rows, std::int64_t num_sources);
void release_graph(std::int64_t key);
/// Holds a graph for as long as the returned tensor's memory lives; its address is the key. As a further tensor after
/// the rows it goes wherever torch takes them, such as into what a compiled program saves for its backward. Its value,
/// 0, is never read.
Tensor hold_by_handle(const Graph& graph, const std::vector<Tensor>& rows, std::int64_t num_sources);
/// The graph that is held under the key, or by the handle after the rows, if it was made from these rows; else one for
/// this call. (The keys in an exported program are those of another process.)
std::shared_ptr<HeldGraph> graph_of(const std::vector<Tensor>& rows, std::int64_t key, std::int64_t num_sources);

/// The graph that is held under the key; an Error if it is not on the operands' device.
std::shared_ptr<HeldGraph> held_graph(std::int64_t key, Device device);

/// [offsets, columns] or [offsets, columns, edge ids] of a graph, as views of its memory.
std::vector<Tensor> rows_of(const Graph& graph, const Tensor& like);

}  // namespace weft::pytorch
