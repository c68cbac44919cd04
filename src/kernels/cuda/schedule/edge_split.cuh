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
  NodeId head = -1;      // the row of the first edge, where it began before the share
  NodeId last = -1;      // the row of the last edge
  bool runs_on = false;  // past the end of the share

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

  /// A loose task without its rows, for work that does not reduce them.
  template <int Groups>
  static __device__ __forceinline__ EdgeShare loose(const EdgeSplit& split, int group) {
    EdgeShare share;
    share.most = static_cast<int>(split.size);
    share.task = blockIdx.x * std::int64_t{Groups} + group;
    if (share.task >= split.tasks) return share;
    if (split.order != nullptr) share.task = __ldg(split.order + share.task);
    share.begin = share.nominal = share.task * split.size;
    const EdgeId left = split.graph.num_edges - share.begin;
    share.length = left < split.size ? static_cast<int>(left) : share.most;
    return share;
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
    const EdgeId edges = split.graph.num_edges;
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
    const EdgeId end = share.begin + share.length;
    const auto row_of = [&](EdgeId k) { return __ldg(split.graph.rows + (k < 0 ? 0 : k < edges ? k : edges - 1)); };
    const NodeId before = row_of(share.begin - 1), first = row_of(share.begin), last = row_of(end - 1),
                 after = row_of(end);
    const bool any = share.length > 0;
    share.head = any && share.begin > 0 && before == first ? first : -1;
    share.last = any ? last : -1;
    share.runs_on = any && end < edges && after == last;
    return share;
  }
};

}  // namespace weft::cuda
