#include "structure.hpp"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <span>
#include <vector>

#include "core/dispatch.hpp"
#include "core/mix.hpp"
#include "core/parallel.hpp"

namespace weft::tool {
namespace {

struct EdgeHash {
  std::uint64_t low = 0, high = 0;

  void add(NodeId from, NodeId to) {
    const std::uint64_t key =
        (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32) | static_cast<std::uint32_t>(to);
    low += mix(key + 0x9e3779b97f4a7c15u);
    high += mix(key ^ 0xd1b54a32d192ed03u);
  }
  void add(const EdgeHash& other) {
    low += other.low;
    high += other.high;
  }
  friend bool operator==(const EdgeHash&, const EdgeHash&) = default;
};

struct Pass {
  Structure facts;
  EdgeHash forward, reverse;

  void row(NodeId v, std::span<const NodeId> cols, std::vector<NodeId>& scratch) {
    if (!std::is_sorted(cols.begin(), cols.end())) {
      facts.sorted_columns = false;
      scratch.assign(cols.begin(), cols.end());
      std::sort(scratch.begin(), scratch.end());
      cols = scratch;
    }
    for (std::size_t k = 0; k < cols.size(); ++k) {
      facts.self_loops += cols[k] == v;
      if (k > 0 && cols[k] == cols[k - 1]) {
        ++facts.duplicates;
        continue;
      }
      forward.add(cols[k], v);
      reverse.add(v, cols[k]);
    }
  }
  void unite(const Pass& other) {
    facts.self_loops += other.facts.self_loops;
    facts.duplicates += other.facts.duplicates;
    facts.sorted_columns &= other.facts.sorted_columns;
    forward.add(other.forward);
    reverse.add(other.reverse);
  }
};

}  // namespace

Structure structure_of(const Graph& graph) {
  const GraphView view = graph.view();
  constexpr std::int64_t rows_a_task = 4096;
  const std::int64_t tasks = (view.num_rows + rows_a_task - 1) / rows_a_task;
  Pass all;
  std::mutex lock;
  parallel_tasks(default_threads(), tasks, [&](std::int64_t task, int) {
    Pass mine;
    std::vector<NodeId> scratch;
    const std::int64_t end = std::min(view.num_rows, (task + 1) * rows_a_task);
    for (std::int64_t v = task * rows_a_task; v < end; ++v) {
      const EdgeId begin = view.offsets[v];
      mine.row(static_cast<NodeId>(v), {view.cols + begin, static_cast<std::size_t>(view.offsets[v + 1] - begin)},
               scratch);
    }
    const std::lock_guard guard(lock);
    all.unite(mine);
  });
  all.facts.symmetric = graph.is_square() && all.forward == all.reverse;
  if (!graph.is_square()) all.facts.self_loops = 0;
  return all.facts;
}

ValueRange range_of(ConstTensorView values) {
  ValueRange range;
  std::mutex lock;
  with_any_dtype(values.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* data = values.as<T>();
    parallel_ranges(default_threads(), values.shape.size(), 1 << 16, [&](std::int64_t begin, std::int64_t end) {
      ValueRange mine;
      for (std::int64_t i = begin; i < end; ++i) {
        const auto value = convert<double>(data[i]);
        if (!std::isfinite(value)) {
          ++mine.not_finite;
          continue;
        }
        mine.min = mine.any ? std::min(mine.min, value) : value;
        mine.max = mine.any ? std::max(mine.max, value) : value;
        mine.any = true;
      }
      const std::lock_guard guard(lock);
      range.not_finite += mine.not_finite;
      if (!mine.any) return;
      range.min = range.any ? std::min(range.min, mine.min) : mine.min;
      range.max = range.any ? std::max(range.max, mine.max) : mine.max;
      range.any = true;
    });
  });
  return range;
}

}  // namespace weft::tool
