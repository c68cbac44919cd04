#include "graph/order/dendrogram.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace weft {
namespace {

std::vector<NodeId> in_sequence(std::int64_t count) {
  std::vector<NodeId> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), NodeId{0});
  return numbers;
}

std::vector<NodeId> by_size(const std::vector<NodeId>& sizes) {
  std::vector<NodeId> order = in_sequence(static_cast<std::int64_t>(sizes.size()));
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
    return sizes[static_cast<std::size_t>(a)] > sizes[static_cast<std::size_t>(b)];
  });
  return order;
}

/// `items` by the place of their parent in `parent_order`; those of one parent stay in sequence.
std::vector<NodeId> by_parent(const std::vector<NodeId>& items, const std::vector<NodeId>& parents,
                              const std::vector<NodeId>& parent_order) {
  std::vector<NodeId> next(parent_order.size() + 1, 0);  // first the count of a parent's items, then the next place
  for (const NodeId parent : parents) ++next[static_cast<std::size_t>(parent)];
  NodeId sum = 0;
  for (const NodeId parent : parent_order) sum += std::exchange(next[static_cast<std::size_t>(parent)], sum);
  std::vector<NodeId> result(items.size());
  for (const NodeId item : items)
    result[static_cast<std::size_t>(next[static_cast<std::size_t>(parents[static_cast<std::size_t>(item)])]++)] = item;
  return result;
}

Tensor as_tensor(const std::vector<NodeId>& values, const char* what) {
  Tensor result = Tensor::empty(Shape(static_cast<std::int64_t>(values.size())), Dtype::i32, what);
  std::ranges::copy(values, result.span<NodeId>().begin());
  return result;
}

}  // namespace

void Dendrogram::add_level(std::vector<NodeId> parents, std::int64_t count) {
  Level level{std::move(parents), std::vector<NodeId>(static_cast<std::size_t>(count), 0)};
  for (std::size_t i = 0; i < level.parents.size(); ++i)
    level.sizes[static_cast<std::size_t>(level.parents[i])] += levels_.empty() ? 1 : levels_.back().sizes[i];
  levels_.push_back(std::move(level));
}

Tensor Dendrogram::order() const {
  if (levels_.empty()) return as_tensor(in_sequence(leaves_), "the order of nodes");
  std::vector<NodeId> order = by_size(levels_.back().sizes);
  for (std::size_t l = levels_.size(); l-- > 0;)
    order = by_parent(l > 0 ? by_size(levels_[l - 1].sizes) : in_sequence(leaves_), levels_[l].parents, order);
  return as_tensor(order, "the order of nodes");
}

Tensor Dendrogram::communities() const {
  std::vector<NodeId> result = in_sequence(leaves_);
  for (const Level& level : levels_)
    for (NodeId& community : result) community = level.parents[static_cast<std::size_t>(community)];
  return as_tensor(result, "the communities of nodes");
}

}  // namespace weft
