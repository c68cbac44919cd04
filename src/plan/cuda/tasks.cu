#include <cub/device/device_radix_sort.cuh>

#include "core/cuda/sorting.hpp"
#include "core/cuda/status.hpp"
#include "plan/cuda/tasks.hpp"

namespace weft {
namespace {

// A task inside one row has its first column as key; the others have one behind all columns and, the sort being
// stable, keep their places.
__global__ void task_keys(GraphView graph, std::int64_t size, std::int64_t tasks, std::uint32_t* keys,
                          std::int32_t* ids) {
  const std::int64_t task = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x;
  if (task >= tasks) return;
  const EdgeId begin = task * size;
  const EdgeId end = begin + size < graph.num_edges ? begin + size : graph.num_edges;
  const bool within = graph.rows[begin] == graph.rows[end - 1];
  keys[task] = within ? static_cast<std::uint32_t>(graph.cols[begin]) : static_cast<std::uint32_t>(graph.num_cols);
  ids[task] = static_cast<std::int32_t>(task);
}

}  // namespace

DeviceTasks::DeviceTasks(const Context& context, const GraphView& graph, std::int64_t size, WorkOrder order,
                         const Graph* owner) {
  GraphView view = graph;
  if ((order == WorkOrder::clusters || order == WorkOrder::clusters_columns) && owner != nullptr) {
    edges_ = owner->clustered_edges(context.stream());
    view.rows = edges_->rows();
    view.cols = edges_->cols();
  }
  if (order == WorkOrder::columns || order == WorkOrder::clusters_columns) order_by_column(context, view, size);
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
  auto* key = reinterpret_cast<std::uint32_t*>(keys.data());
  auto* id = reinterpret_cast<std::int32_t*>(ids.data());
  auto* order = reinterpret_cast<std::int32_t*>(order_.data());
  task_keys<<<static_cast<unsigned>((tasks + 255) / 256), 256, 0, stream>>>(graph, size, tasks, key, id);
  cuda::check_status(cudaGetLastError(), "ordering tasks");
  std::size_t bytes = 0;
  const auto sort = [&](void* scratch) {
    cuda::check_status(cub::DeviceRadixSort::SortPairs(scratch, bytes, key, key + count, id, order, tasks, 0,
                                                       cuda::bits_for(graph.num_cols), stream),
                       "sorting tasks");
  };
  sort(nullptr);
  const DeviceBuffer scratch(device, stream, bytes, "sorting tasks");
  sort(scratch.data());
}

}  // namespace weft
