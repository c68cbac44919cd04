// A block takes a window and counts how often its columns occur, in a table in shared memory. Of a window with many
// edges it counts one column of every few, chosen by a hash of the window and the column, so that the table
// holds them and windows do not all look at the same columns.
#include "core/cuda/status.hpp"
#include "core/mix.hpp"
#include "graph/windows/cuda/look.hpp"

namespace weft::cuda {
namespace {

constexpr int look_threads = 256;
constexpr unsigned table_size = 4096;  // columns: twice and more of what a window's share of them is
constexpr EdgeId edges_of_a_share = 1536;

struct LookArgs {
  const EdgeId* offsets;
  const NodeId* cols;
  const std::int32_t* order;
  std::int64_t num_rows, all_windows;
  int rows, threshold;
  WindowTotals* totals;
};

__device__ std::uint64_t sum_of_block(std::uint64_t value, std::uint64_t* shared) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_down_sync(~0u, value, step);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  std::uint64_t sum = 0;
  for (int w = 0; w < look_threads / 32; ++w) sum += shared[w];
  __syncthreads();
  return sum;
}

__global__ void __launch_bounds__(look_threads) count_columns(const LookArgs args) {
  __shared__ NodeId columns[table_size];
  __shared__ unsigned counts[table_size];
  __shared__ std::uint64_t sums[look_threads / 32];
  for (unsigned i = threadIdx.x; i < table_size; i += look_threads) columns[i] = -1, counts[i] = 0;
  const std::int64_t window = std::int64_t{blockIdx.x} * args.all_windows / gridDim.x;
  const std::int64_t first = window * args.rows;
  const int rows = static_cast<int>(args.num_rows - first < args.rows ? args.num_rows - first : args.rows);
  const auto row_at = [&](int r) -> std::int64_t { return args.order != nullptr ? args.order[first + r] : first + r; };
  std::uint64_t own = 0;
  for (int r = threadIdx.x; r < rows; r += look_threads) {
    const std::int64_t row = row_at(r);
    own += static_cast<std::uint64_t>(args.offsets[row + 1] - args.offsets[row]);
  }
  const std::uint64_t edges = sum_of_block(own, sums);
  const auto every = static_cast<std::uint32_t>(edges / edges_of_a_share + 1);
  for (int r = static_cast<int>(threadIdx.x) / 32; r < rows; r += look_threads / 32) {  // a warp per row
    const std::int64_t row = row_at(r);
    for (EdgeId k = args.offsets[row] + threadIdx.x % 32; k < args.offsets[row + 1]; k += 32) {
      const NodeId column = args.cols[k];
      const auto hash = static_cast<std::uint32_t>(
          mix(static_cast<std::uint64_t>(window) << 32 | static_cast<std::uint32_t>(column)) >> 32);
      if (hash % every != 0) continue;
      unsigned slot = hash / every % table_size;
      for (unsigned tried = 0; tried < table_size; ++tried, slot = (slot + 1) % table_size) {
        const NodeId there = atomicCAS(columns + slot, -1, column);
        if (there != -1 && there != column) continue;
        atomicAdd(counts + slot, 1u);
        break;
      }
    }
  }
  __syncthreads();
  std::uint64_t dense = 0, dense_edges = 0;
  for (unsigned i = threadIdx.x; i < table_size; i += look_threads)
    if (counts[i] >= static_cast<unsigned>(args.threshold)) ++dense, dense_edges += counts[i];
  dense = sum_of_block(dense, sums);
  dense_edges = sum_of_block(dense_edges, sums);
  if (threadIdx.x != 0) return;
  const auto add = [](std::uint64_t& to, std::uint64_t value) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&to), static_cast<unsigned long long>(value));
  };
  add(args.totals->edges, edges);
  add(args.totals->dense_edges, dense_edges * every);
  add(args.totals->tiles, (dense * every + window_step - 1) / window_step);
}

}  // namespace

WindowTotals look_at_windows(Device device, CUstream_st* stream, const GraphView& graph, const WindowShape& shape,
                             const std::int32_t* order, std::int64_t windows) {
  const OnDevice on(device.index);
  const DeviceBuffer totals(device, stream, sizeof(WindowTotals), "a look at windows");
  zero_bytes(device, totals.data(), sizeof(WindowTotals), stream);
  const LookArgs args{graph.offsets,
                      graph.cols,
                      order,
                      graph.num_rows,
                      (graph.num_rows + shape.rows - 1) / shape.rows,
                      shape.rows,
                      shape.threshold,
                      reinterpret_cast<WindowTotals*>(totals.data())};
  count_columns<<<static_cast<unsigned>(windows), look_threads, 0, stream>>>(args);
  check_status(cudaGetLastError(), "looking at windows of rows");
  WindowTotals result;
  copy_bytes(Device{}, &result, device, totals.data(), sizeof result, stream);
  return result;
}

}  // namespace weft::cuda
