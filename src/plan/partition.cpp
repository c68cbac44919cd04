#include "plan/partition.hpp"

#include "core/parallel.hpp"

namespace weft {

LongRows find_long_rows(const GraphView& graph, int threads) {
  // Ranges are scanned in parallel and joined in order; most graphs have few long rows or none.
  constexpr std::int64_t range = 1 << 16;
  const std::int64_t ranges = (graph.num_rows + range - 1) / range;
  std::vector<std::vector<std::int64_t>> found(static_cast<std::size_t>(ranges));
  parallel_tasks(threads, ranges, [&](std::int64_t i, int) {
    for (std::int64_t row = i * range; row < std::min(graph.num_rows, (i + 1) * range); ++row)
      if (graph.offsets[row + 1] - graph.offsets[row] > piece_edges) found[static_cast<std::size_t>(i)].push_back(row);
  });
  LongRows result;
  for (const auto& part : found)
    for (const std::int64_t row : part) {
      result.rows.push_back({row, result.slots});
      result.slots += (graph.offsets[row + 1] - graph.offsets[row] + piece_edges - 1) / piece_edges;
    }
  return result;
}

namespace {

// The cut at `target` units of work from the start, moved back to where a cut is allowed.
Cut cut_at(const GraphView& graph, std::int64_t target) {
  std::int64_t low = 0, high = graph.num_rows;  // the last row that starts at or before the target
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (graph.offsets[middle] + middle <= target) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const EdgeId begin = graph.offsets[low];
  if (low == graph.num_rows) return {low, begin};
  const EdgeId degree = graph.offsets[low + 1] - begin;
  if (degree <= piece_edges) return {low, begin};
  const EdgeId inside = std::min(target - begin - low, degree) / piece_edges * piece_edges;
  return inside == degree ? Cut{low + 1, begin + degree} : Cut{low, begin + inside};
}

}  // namespace

Partition make_partition(const GraphView& graph, ScheduleKind schedule, std::int64_t tasks,
                         std::shared_ptr<const LongRows> long_rows) {
  Partition partition;
  partition.long_rows = std::move(long_rows);
  partition.cuts.reserve(static_cast<std::size_t>(tasks) + 1);
  const std::int64_t whole = schedule == ScheduleKind::rows ? graph.num_rows : graph.num_rows + graph.num_edges;
  for (std::int64_t task = 0; task < tasks; ++task) {
    const std::int64_t target = whole / tasks * task + std::min(task, whole % tasks);
    partition.cuts.push_back(schedule == ScheduleKind::rows
                                 ? Cut{target, graph.num_rows > 0 ? graph.offsets[target] : 0}
                                 : cut_at(graph, target));
  }
  partition.cuts.push_back({graph.num_rows, graph.num_edges});
  return partition;
}

}  // namespace weft
