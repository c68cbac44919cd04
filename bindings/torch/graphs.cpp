#include "graphs.hpp"

#include <fmt/format.h>

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
// Never destroyed: Python may release graphs while the process exits.
Table& table() {
  static Table& all = *new Table;
  return all;
}

Graph adopted(const std::vector<Tensor>& rows, std::int64_t num_sources) {
  const Tensor& offsets = offsets_of(rows);
  const auto kept = std::make_shared<const RowInputs>(rows);
  const NodeCounts nodes{.num_sources = num_sources, .num_destinations = offsets.numel() - 1};
  return Graph::adopt(nodes, kept->tensors, {}, kept, Validate::trusted, context_of(offsets).stream());
}

constexpr std::size_t with_handle = 4;  // offsets, columns, edge ids, handle

std::int64_t key_of(const Tensor& handle) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(handle.const_data_ptr()));
}

std::int64_t enter(std::shared_ptr<HeldGraph> held) {
  const std::lock_guard guard(table().lock);
  table().graphs.emplace(++table().last, std::move(held));
  return table().last;
}

template <class T>
Tensor array_of(const Graph& graph, const T* data, std::int64_t count, const Tensor& like) {
  const ConstTensorView array(data, weft::dtype_of<T>, Shape(count), graph.device());
  return lent(array, std::make_shared<const Graph>(graph), like);
}

}  // namespace

const Tensor& offsets_of(const std::vector<Tensor>& rows) {
  if (rows.empty()) throw Error(ErrorCode::invalid_argument, "rows are missing: expected offsets and columns");
  return rows.front();
}

RowInputs::RowInputs(const std::vector<Tensor>& rows) {
  const bool handled = rows.size() == with_handle && rows.back().is_cpu() && rows.back().numel() == 1;
  if (rows.size() < 2 || (rows.size() > 3 && !handled))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("rows has {} tensors: expected offsets and columns, and ids of edges where they are not in "
                            "sequence",
                            rows.size()));
  const auto array = [&](std::size_t i, std::string_view name) -> ConstTensorView {
    return arrays.emplace_back(Input(torch::stable::contiguous(rows[i]), name));
  };
  arrays.reserve(rows.size());
  tensors.offsets = array(0, "offsets");
  tensors.cols = array(1, "columns");
  if (rows.size() > 2) tensors.edge_ids = array(2, "edge_ids");
}

Origin Origin::of(const std::vector<Tensor>& rows, std::int64_t num_sources) {
  Origin origin;
  origin.num_sources = num_sources;
  for (std::size_t i = 0; i < std::min(rows.size(), with_handle - 1); ++i) {
    origin.arrays.push_back(rows[i].const_data_ptr());
    origin.sizes.push_back(rows[i].numel());
  }
  return origin;
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
  finish_work(graph_.device());  // later calls may use the plan in any stream
  if (plans_.size() > most_plans) plans_.pop_back();
  return plans_.front().second;
}

bool HeldGraph::moved() const {
  for (std::size_t i = 0; i < std::min(arrays_.size(), origin_.arrays.size()); ++i)
    if (arrays_[i].const_data_ptr() != origin_.arrays[i]) return true;
  return false;
}

std::int64_t hold_graph(const std::vector<Tensor>& rows, std::int64_t num_sources) {
  const std::int64_t key =
      enter(std::make_shared<HeldGraph>(adopted(rows, num_sources), Origin::of(rows, num_sources), true, rows));
  context_of(rows[0]).synchronise();  // later calls may use any stream
  return key;
}
std::int64_t hold_graph(const Graph& graph, const std::vector<Tensor>& rows, std::int64_t num_sources) {
  return enter(std::make_shared<HeldGraph>(graph, Origin::of(rows, num_sources), true));
}

void release_graph(std::int64_t key) {
  std::shared_ptr<HeldGraph> released;  // destroyed after the lock is released
  const std::lock_guard guard(table().lock);
  const auto found = table().graphs.find(key);
  if (found == table().graphs.end()) return;
  released = std::move(found->second);
  table().graphs.erase(found);
}

Tensor hold_by_handle(const Graph& graph, const std::vector<Tensor>& rows, std::int64_t num_sources) {
  auto place = std::make_unique<std::int64_t>(0);
  const auto key = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(place.get()));
  // Does not last: every run of a program makes a new one.
  auto held = std::make_shared<HeldGraph>(graph, Origin::of(rows, num_sources), false);
  {
    const std::lock_guard guard(table().lock);
    table().graphs.insert_or_assign(key, std::move(held));
  }
  const std::int64_t size = 1, stride = 1;
  return torch::stable::from_blob(place.release(), {&size, 1}, {&stride, 1},
                                  torch::stable::Device(torch::headeronly::DeviceType::CPU),
                                  torch::headeronly::ScalarType::Long, [key](void* memory) {
                                    release_graph(key);
                                    delete static_cast<std::int64_t*>(memory);
                                  });
}

std::shared_ptr<HeldGraph> graph_of(const std::vector<Tensor>& rows, std::int64_t key, std::int64_t num_sources) {
  if (rows.size() == with_handle) key = key_of(rows.back());
  {
    const std::lock_guard guard(table().lock);
    const auto found = table().graphs.find(key);
    if (found != table().graphs.end() && found->second->origin() == Origin::of(rows, num_sources)) return found->second;
  }
  return std::make_shared<HeldGraph>(adopted(rows, num_sources), Origin::of(rows, num_sources), false);
}

std::shared_ptr<HeldGraph> held_graph(std::int64_t key, Device device) {
  std::shared_ptr<HeldGraph> held;
  {
    const std::lock_guard guard(table().lock);
    const auto found = table().graphs.find(key);
    if (found == table().graphs.end())
      throw Error(ErrorCode::invalid_argument, fmt::format("no graph is held under the key {}", key));
    if (found->second->moved()) {
      const std::vector<Tensor> arrays = found->second->arrays();
      const std::int64_t num_sources = found->second->origin().num_sources;
      found->second =
          std::make_shared<HeldGraph>(adopted(arrays, num_sources), Origin::of(arrays, num_sources), true, arrays);
    }
    held = found->second;
  }
  if (const Device of_graph = held->graph().device(); of_graph != device)
    throw Error(ErrorCode::invalid_argument,
                fmt::format("an operand is on {}, but the graph is on {}: move one of them with .to()",
                            to_string(device), to_string(of_graph)));
  return held;
}

std::vector<Tensor> rows_of(const Graph& graph, const Tensor& like) {
  const GraphView view = graph.view();
  std::vector<Tensor> rows{array_of(graph, view.offsets, view.num_rows + 1, like),
                           array_of(graph, view.cols, view.num_edges, like)};
  if (view.edge_ids != nullptr) rows.push_back(array_of(graph, view.edge_ids, view.num_edges, like));
  return rows;
}

}  // namespace weft::pytorch
