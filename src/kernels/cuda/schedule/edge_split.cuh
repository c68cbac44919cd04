// A task of edge_split.hpp as the threads that run it see it.
#pragma once

#include <cstdint>

#include "kernels/cuda/schedule/edge_split.hpp"

namespace weft::cuda {

/// One task as the group that runs it sees it.
struct EdgeTask {
  std::int64_t index = 0;
  EdgeId begin = 0;
  int length = 0;        // 0: this group has none
  NodeId head = -1;      // the row that began before the task, if any
  NodeId last = -1;      // the row of the last edge
  bool runs_on = false;  // past the end of the task

  static __device__ __forceinline__ EdgeTask of(const EdgeSplit& split, std::int64_t place) {
    EdgeTask task;
    if (place >= split.tasks) return task;
    task.index = split.order != nullptr ? std::int64_t{__ldg(split.order + place)} : place;
    task.begin = task.index * split.size;
    const EdgeId edges = split.graph.num_edges;
    const EdgeId end = task.begin + split.size < edges ? task.begin + split.size : edges;
    task.length = static_cast<int>(end - task.begin);
    const NodeId* rows = split.graph.rows;
    const NodeId first = __ldg(rows + task.begin);
    task.last = __ldg(rows + end - 1);
    if (task.begin > 0 && __ldg(rows + task.begin - 1) == first) task.head = first;
    task.runs_on = end < edges && __ldg(rows + end) == task.last;
    return task;
  }
};

}  // namespace weft::cuda
