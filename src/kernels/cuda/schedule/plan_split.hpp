// A plan's shares of the edges as kernels take them.
#pragma once

#include <bit>

#include "kernels/cuda/schedule/edge_split.hpp"
#include "plan/cuda/tasks.hpp"
#include "weft/plan.hpp"

namespace weft::cuda {

inline EdgeSplit edge_split_of(const Plan& plan, const GraphView& graph) {
  EdgeSplit split;
  split.graph = graph;
  split.starts = graph.offsets;
  split.size = plan.cuda().edges_a_task;
  split.rows_a_task = plan.cuda().rows_a_task;
  split.tasks = plan.tasks;
  split.joined = plan.cuda().joined;
  split.cuts = plan.cuda().staged_rows > 0;
  split.whole_row = plan.cuda().whole_row;
  // Ids that fit 32 bits are read as such, a chunk ahead.
  if (graph.edge_ids != nullptr && graph.num_edges < (std::int64_t{1} << 31)) {
    static_assert(std::endian::native == std::endian::little, "the lower half of an id comes first");
    split.ids = reinterpret_cast<const std::int32_t*>(graph.edge_ids);
    split.id_shift = 1;
    split.graph.edge_ids = nullptr;
  }
  if (plan.backing.device_tasks == nullptr) return split;
  split.order = plan.backing.device_tasks->order();
  if (const EdgeOrder* edges = plan.backing.device_tasks->edges()) {
    split.graph.rows = edges->rows();
    split.starts = edges->starts();
    if (plan.backing.draws_sample) return split;  // the run has drawn columns and ids in this order
    split.graph.cols = edges->cols();
    split.graph.edge_ids = nullptr;
    split.ids = plan.backing.device_tasks->ids();
    split.id_shift = 0;
  }
  return split;
}

}  // namespace weft::cuda
