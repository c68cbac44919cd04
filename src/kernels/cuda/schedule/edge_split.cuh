// The share of a task of edge_split.hpp that one group of threads works on.
#pragma once

#include <cstdint>

#include "kernels/cuda/schedule/edge_split.hpp"

namespace weft::cuda {

struct EdgeShare {
  std::int64_t task = 0;
  EdgeId begin = 0;
  int length = 0;        // 0: this group has none
  int most = 0;          // the length of the longest share in the block: every group makes as many steps
  NodeId first = -1;     // the row of the first edge
  NodeId head = -1;      // the same where it began before the share
  NodeId last = -1;      // the row of the last edge
  bool runs_on = false;  // past the end of the share

  /// Where joined task t begins.
  static __device__ __forceinline__ EdgeId border(const EdgeSplit& split, std::int64_t t) {
    const EdgeId at = t * split.size;
    if (at >= split.graph.num_edges) return split.graph.num_edges;
    const NodeId row = __ldg(split.graph.rows + at);
    const EdgeId degree = __ldg(split.graph.offsets + row + 1) - __ldg(split.graph.offsets + row);
    return degree <= split.whole_row ? __ldg(split.starts + row) : at;
  }

  /// Whether a row that begins in this joined task runs on past its end.
  __device__ __forceinline__ bool passes(const EdgeSplit& split, NodeId row) const {
    const EdgeId degree = __ldg(split.graph.offsets + row + 1) - __ldg(split.graph.offsets + row);
    return degree > split.whole_row && __ldg(split.starts + row) + degree > (task + 1) * split.size;
  }

  template <int Groups>
  static __device__ __forceinline__ EdgeShare of(const EdgeSplit& split, int group) {
    EdgeShare share;
    const EdgeId edges = split.graph.num_edges;
    const NodeId* rows = split.graph.rows;
    EdgeId end = 0;
    if (split.joined) {
      share.task = blockIdx.x;
      const EdgeId first = border(split, share.task), past = border(split, share.task + 1);
      share.most = static_cast<int>((past - first + Groups * 8 - 1) / (Groups * 8) * 8);
      share.begin = first + std::int64_t{group} * share.most;
      end = share.begin + share.most < past ? share.begin + share.most : past;
    } else {
      share.most = static_cast<int>(split.size);
      share.task = blockIdx.x * std::int64_t{Groups} + group;
      if (share.task >= split.tasks) return share;
      if (split.order != nullptr) share.task = __ldg(split.order + share.task);
      share.begin = share.task * split.size;
      end = share.begin + split.size < edges ? share.begin + split.size : edges;
    }
    if (share.begin >= end) return share;
    share.length = static_cast<int>(end - share.begin);
    share.first = __ldg(rows + share.begin);
    share.last = __ldg(rows + end - 1);
    if (share.begin > 0 && __ldg(rows + share.begin - 1) == share.first) share.head = share.first;
    share.runs_on = end < edges && __ldg(rows + end) == share.last;
    return share;
  }
};

}  // namespace weft::cuda
