// The share of a task of edge_split.hpp that one group of threads works on.
#pragma once

#include <cstdint>

#include "kernels/cuda/schedule/edge_split.hpp"

namespace weft::cuda {

struct EdgeShare {
  std::int64_t task = 0;
  EdgeId nominal = 0;  // where the task would begin if no border stepped back
  EdgeId begin = 0;
  int length = 0;        // 0: this group has none
  int most = 0;          // of the longest share in the block (of whole rows: the warp): its groups make as many steps
  NodeId carried = -1;   // the row of the first edge, where it began before the share
  NodeId last = -1;      // the row of the last edge
  bool runs_on = false;  // past the end of the share

  /// What stands for the row of edges past the end: the last edge's own where it runs on, else none.
  __device__ __forceinline__ NodeId row_past_end() const { return runs_on ? last : -1; }

  /// What has been loaded of where joined task t begins. Borders are found in two steps, and nothing here branches, so
  /// that the loads of both ends of a task are on their way together: small graphs are mostly waiting for them.
  struct Border {
    EdgeId at;
    EdgeId offset, next_offset, start;  // of the row it falls into

    static __device__ __forceinline__ NodeId row_of(const EdgeSplit& split, std::int64_t t) {
      const EdgeId at = t * split.size;
      return __ldg(split.graph.rows + (at < split.graph.num_edges ? at : split.graph.num_edges - 1));
    }
    static __device__ __forceinline__ Border of(const EdgeSplit& split, std::int64_t t, NodeId row) {
      const EdgeId* offsets = split.graph.offsets + row;
      return {t * split.size, __ldg(offsets), __ldg(offsets + 1), __ldg(split.starts + row)};
    }
    __device__ __forceinline__ EdgeId place(const EdgeSplit& split) const {
      const EdgeId stepped = next_offset - offset <= split.whole_row ? start : at;
      return at < split.graph.num_edges ? stepped : split.graph.num_edges;
    }
  };

  /// Whether a row that begins in a joined task runs on past its end.
  static __device__ __forceinline__ bool passes(const EdgeSplit& split, std::int64_t task, NodeId row) {
    if (!split.cuts) return false;
    const EdgeId degree = __ldg(split.graph.offsets + row + 1) - __ldg(split.graph.offsets + row);
    return degree > split.whole_row && __ldg(split.starts + row) + degree > (task + 1) * split.size;
  }

  /// The loose task with that number, without its rows: enough for work that does not reduce them.
  static __device__ __forceinline__ EdgeShare of_task(const EdgeSplit& split, std::int64_t task) {
    EdgeShare share;
    share.most = static_cast<int>(split.size);
    share.task = task;
    if (share.task >= split.tasks) return share;
    if (split.order != nullptr) share.task = __ldg(split.order + share.task);
    share.begin = share.nominal = share.task * split.size;
    const EdgeId left = split.graph.num_edges - share.begin;
    share.length = left < split.size ? static_cast<int>(left) : share.most;
    return share;
  }
  template <int Groups>
  static __device__ __forceinline__ EdgeShare loose(const EdgeSplit& split, int group) {
    return of_task(split, blockIdx.x * std::int64_t{Groups} + group);
  }
  /// Which rows the share begins and ends in.
  __device__ __forceinline__ void find_rows(const EdgeSplit& split) {
    const EdgeId edges = split.graph.num_edges, end = begin + length;
    const auto row_of = [&](EdgeId k) { return __ldg(split.graph.rows + (k < 0 ? 0 : k < edges ? k : edges - 1)); };
    const NodeId before = row_of(begin - 1), first = row_of(begin), last_row = row_of(end - 1), after = row_of(end);
    const bool any = length > 0;
    carried = any && begin > 0 && before == first ? first : -1;
    last = any ? last_row : -1;
    runs_on = any && end < edges && after == last_row;
  }

  /// A task of whole rows: nothing to know of others. Groups of a warp make as many steps as the longest share takes.
  template <int Groups>
  static __device__ __forceinline__ EdgeShare of_rows(const EdgeSplit& split, int group) {
    EdgeShare share;
    share.task = blockIdx.x * std::int64_t{Groups} + group;
    const std::int64_t first = min(share.task * split.rows_a_task, std::int64_t{split.graph.num_rows});
    const std::int64_t past = min(first + split.rows_a_task, std::int64_t{split.graph.num_rows});
    share.begin = share.nominal = __ldg(split.graph.offsets + first);
    share.length = static_cast<int>(__ldg(split.graph.offsets + past) - share.begin);
    share.most = (__reduce_max_sync(~0u, static_cast<unsigned>(share.length)) + 7) / 8 * 8;
    return share;
  }

  template <int Groups>
  static __device__ __forceinline__ EdgeShare of(const EdgeSplit& split, int group) {
    if (split.rows_a_task > 0) return of_rows<Groups>(split, group);
    EdgeShare share;
    if (split.joined) {
      share.task = blockIdx.x;
      share.nominal = share.task * split.size;
      const NodeId first_row = Border::row_of(split, share.task), past_row = Border::row_of(split, share.task + 1);
      const Border first_border = Border::of(split, share.task, first_row);
      const Border past_border = Border::of(split, share.task + 1, past_row);
      const EdgeId first = first_border.place(split), past = past_border.place(split);
      share.most = static_cast<int>((past - first + Groups * 8 - 1) / (Groups * 8) * 8);
      share.begin = first + std::int64_t{group} * share.most;
      const EdgeId left = past - share.begin;
      share.length = left <= 0 ? 0 : left < share.most ? static_cast<int>(left) : share.most;
    } else {
      share = loose<Groups>(split, group);
    }
    share.find_rows(split);
    return share;
  }
};

/// A row that task borders have cut into `parts` partial results, from task `first` on; 0: it was not cut.
struct CutRow {
  std::int64_t first;
  std::int32_t parts;

  static __device__ __forceinline__ CutRow of(const EdgeSplit& split, std::int64_t row, EdgeId degree) {
    CutRow cut{0, 0};
    if (!split.cuts || degree <= split.whole_row) return cut;
    const EdgeId begin = __ldg(split.starts + row);
    cut.first = split.task_of(begin);
    const std::int64_t parts = split.task_of(begin + degree - 1) - cut.first + 1;
    if (parts > 1) cut.parts = static_cast<std::int32_t>(parts);
    return cut;
  }
  /// The staging slot of a part: the row's first task staged it as the one that runs on, the others as the one that
  /// began before.
  __device__ __forceinline__ std::int64_t slot(std::int64_t part) const { return 2 * (first + part) + (part == 0); }
};

}  // namespace weft::cuda
