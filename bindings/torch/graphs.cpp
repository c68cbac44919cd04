#include "graphs.hpp"

#include <map>

#include "runtime.hpp"
#include "weft/error.hpp"

namespace weft::pytorch {
namespace {

struct Table {
  std::mutex lock;
  std::int64_t last = 0;
  std::map<std::int64_t, std::shared_ptr<HeldGraph>> graphs;
};
// Never destroyed: Python may release graphs while the process ends.
Table& table() {
  static Table& all = *new Table;
  return all;
}

/// Tensors that a graph's arrays stand in.
struct Kept {
  std::vector<Tensor> rows, transposed;
};

Graph adopted(const std::vector<Tensor>& rows, const std::vector<Tensor>& transposed, std::int64_t num_sources) {
  if (rows.empty()) throw Error(ErrorCode::invalid_argument, "rows are missing: expected offsets and columns");
  const auto kept = std::make_shared<const Kept>(Kept{rows, transposed});
  const NodeCounts nodes{.num_sources = num_sources, .num_destinations = rows[0].size(0) - 1};
  return Graph::adopt(nodes, row_tensors(rows, "rows"), row_tensors(transposed, "transposed"), kept, Validate::trusted,
                      context_of(rows[0]).stream());
}

template <class T>
Tensor array_of(const Graph& graph, const T* data, std::int64_t count, const Tensor& like) {
  const std::int64_t sizes[] = {count}, strides[] = {1};
  if (count == 0) return empty(Shape(0), weft::dtype_of<T>, like);
  // The memory is the graph's, which lives as long as the tensor does.
  return torch::stable::from_blob(const_cast<T*>(data), {sizes, 1}, {strides, 1}, like.device(),
                                  scalar_type(weft::dtype_of<T>), [graph](void*) {});
}

}  // namespace

RowTensors row_tensors(const std::vector<Tensor>& from, std::string_view name) {
  if (from.empty()) return {};
  if (from.size() < 2 || from.size() > 3)
    throw Error(ErrorCode::invalid_argument,
                std::string(name) + " are " + std::to_string(from.size()) +
                    " tensors: expected offsets and columns, and ids of edges where they are not in sequence");
  RowTensors rows;
  rows.offsets = Input(from[0], "offsets");
  rows.cols = Input(from[1], "columns");
  if (from.size() == 3) rows.edge_ids = Input(from[2], "edge_ids");
  return rows;
}

std::shared_ptr<const void> HeldGraph::kept(const PlanKey& key,
                                            const std::function<std::shared_ptr<const void>()>& make) {
  const std::lock_guard guard(lock_);
  for (auto at = plans_.begin(); at != plans_.end(); ++at)
    if (at->first == key) {
      plans_.splice(plans_.begin(), plans_, at);
      return at->second;
    }
  plans_.emplace_front(key, make());
  if (plans_.size() > most_plans) plans_.pop_back();
  return plans_.front().second;
}

std::int64_t hold_graph(const std::vector<Tensor>& rows, const std::vector<Tensor>& transposed,
                        std::int64_t num_sources) {
  auto held = std::make_shared<HeldGraph>(adopted(rows, transposed, num_sources), true);
  context_of(rows[0]).synchronise();  // calls may come in any stream
  const std::lock_guard guard(table().lock);
  table().graphs.emplace(++table().last, std::move(held));
  return table().last;
}

void release_graph(std::int64_t key) {
  std::shared_ptr<HeldGraph> released;  // goes after the lock
  const std::lock_guard guard(table().lock);
  const auto found = table().graphs.find(key);
  if (found == table().graphs.end()) return;
  released = std::move(found->second);
  table().graphs.erase(found);
}

std::shared_ptr<HeldGraph> graph_of(const std::vector<Tensor>& rows, const std::vector<Tensor>& transposed,
                                    std::int64_t key, std::int64_t num_sources) {
  {
    const std::lock_guard guard(table().lock);
    const auto found = table().graphs.find(key);
    if (found != table().graphs.end()) return found->second;
  }
  return std::make_shared<HeldGraph>(adopted(rows, transposed, num_sources), false);
}

std::vector<Tensor> rows_of(const Graph& graph, const Tensor& like) {
  const GraphView view = graph.view();
  std::vector<Tensor> rows{array_of(graph, view.offsets, view.num_rows + 1, like),
                           array_of(graph, view.cols, view.num_edges, like)};
  if (view.edge_ids != nullptr) rows.push_back(array_of(graph, view.edge_ids, view.num_edges, like));
  return rows;
}

}  // namespace weft::pytorch
