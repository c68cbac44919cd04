#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/graph_internals.hpp"
#include "plan/cuda/tasks.hpp"
#include "plan/plan_view.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft {
namespace {

// A task inside one row has the column in its middle as key: then tasks of all lengths run beside those that lie around
// the same columns. The others have one behind all columns and, the sort
// being stable, keep their places; but those over two rows belong where the longer part does, once they are most tasks.
struct TaskKey {
  GraphView graph;
  std::int64_t size;
  std::uint32_t* keys;
  std::int32_t* ids;
  bool over_two;  // rows
  __device__ void operator()(std::int64_t task) const {
    const EdgeId begin = task * size;
    const EdgeId end = begin + size < graph.num_edges ? begin + size : graph.num_edges;
    const EdgeId middle = begin + (end - begin) / 2;
    const NodeId first = graph.rows[begin], last = graph.rows[end - 1];
    const bool placed = first == last || (over_two && (graph.rows[middle] == first || graph.rows[middle] == last));
    keys[task] = static_cast<std::uint32_t>(placed ? graph.cols[middle] : graph.num_cols);
    ids[task] = static_cast<std::int32_t>(task);
  }
};

}  // namespace

DeviceTasks::DeviceTasks(const Context& context, const GraphView& graph, const Plan& plan, const Graph* owner) {
  const WorkOrder order = plan.cuda().order;
  const std::int64_t size = plan.cuda().edges_a_task, width = plan.desc.sample_width;
  GraphView view = graph;
  if (by_clusters(order) && owner != nullptr && width > 0) {
    edges_ = GraphInternals::clustered_kept_rows(*owner, width, context.stream());
  } else if (by_clusters(order) && owner != nullptr) {
    with_ids_ = reads_ids(plan.desc);
    edges_ = GraphInternals::clustered_edges(*owner, context.stream(), with_ids_);
    view.rows = edges_->rows();
    view.cols = edges_->cols();
  }
  if (by_columns(order)) order_by_column(context, view, size);
}

void DeviceTasks::order_by_column(const Context& context, const GraphView& graph, std::int64_t size) {
  const Device device = context.device();
  CUstream_st* stream = context.stream();
  const cuda::OnDevice on(device.index);
  const std::int64_t tasks = (graph.num_edges + size - 1) / size;
  const auto count = static_cast<std::size_t>(tasks);
  order_ = DeviceBuffer(device, stream, count * sizeof(std::int32_t), "the order of tasks");
  if (tasks == 0) return;
  const DeviceBuffer keys(device, stream, 2 * count * sizeof(std::uint32_t), "the keys of tasks");
  const DeviceBuffer ids(device, stream, count * sizeof(std::int32_t), "the numbers of tasks");
  auto* const key = cuda::as<std::uint32_t>(keys);
  auto* const id = cuda::as<std::int32_t>(ids);
  auto* const order = cuda::as<std::int32_t>(order_);
  cuda::each(tasks, stream, "ordering tasks",
             TaskKey{graph, size, key, id, tuning::orders_over_two_rows(size, mean_degree(graph))});
  cuda::sort_pairs(device, stream, "sorting tasks",
                   cuda::SortedPairs<std::uint32_t, std::int32_t>{key, id, key + count, order, tasks,
                                                                  cuda::bits_for(graph.num_cols)});
}

}  // namespace weft
