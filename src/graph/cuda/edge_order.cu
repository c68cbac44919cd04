#include "graph/cuda/edge_order.hpp"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "core/cuda/status.hpp"

namespace weft {
namespace {

constexpr int threads = 256;
constexpr int samples = 16;    // sources of a row that are asked for their label
constexpr int iterations = 4;  // communities of thousands are found after three, and grow no further after five
static_assert(threads % samples == 0 && 32 % samples == 0);

unsigned blocks_for(std::int64_t count, int each) { return static_cast<unsigned>((count + each - 1) / each); }

// The row a group of `samples` threads works on, and the source this thread looks at; -1 where there is none.
struct Sample {
  std::int64_t row;
  NodeId source = -1;

  __device__ __forceinline__ Sample(const GraphView& g, unsigned turn)
      : row((blockIdx.x * std::int64_t{threads} + threadIdx.x) / samples) {
    if (row >= g.num_rows) return;
    const int s = threadIdx.x % samples;
    const EdgeId begin = __ldg(g.offsets + row), degree = __ldg(g.offsets + row + 1) - begin;
    if (degree <= samples) {
      if (s < degree) source = __ldg(g.cols + begin + s);
    } else {  // evenly spread, from another place each turn
      const auto shift = static_cast<EdgeId>((turn * 2654435761u >> 8) % static_cast<unsigned>(degree));
      source = __ldg(g.cols + begin + ((s * degree + shift) / samples) % degree);
    }
  }
};

template <class T>
__device__ __forceinline__ T largest_of_group(T key) {
#pragma unroll
  for (int step = samples / 2; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(~0u, key, step, samples);
    key = other > key ? other : key;
  }
  return key;
}

// To begin with a row belongs to the largest of its sources, or to itself where it is larger than those.
__global__ void first_labels(GraphView g, NodeId* labels) {
  const Sample sample(g, 0);
  const auto degree_of = [&](std::int64_t v) {
    return static_cast<unsigned long long>(__ldg(g.offsets + v + 1) - __ldg(g.offsets + v));
  };
  const NodeId candidate = sample.source >= 0        ? sample.source
                           : sample.row < g.num_rows ? static_cast<NodeId>(sample.row)
                                                     : 0;
  const unsigned long long key = degree_of(candidate) << 32 | static_cast<unsigned>(candidate);
  unsigned long long best = largest_of_group(key);
  if (sample.row >= g.num_rows) return;
  const unsigned long long own = degree_of(sample.row) << 32 | static_cast<unsigned>(sample.row);
  best = best > own ? best : own;
  if (threadIdx.x % samples == 0) labels[sample.row] = static_cast<NodeId>(best & 0xffffffffu);
}

// Then to where most of its sources belong; its own label weighs half a source, and a hash settles ties.
__global__ void next_labels(GraphView g, const NodeId* labels, NodeId* next, unsigned turn) {
  const Sample sample(g, turn);
  const NodeId own = sample.row < g.num_rows ? __ldg(labels + sample.row) : -1;
  const NodeId label = sample.source >= 0 ? __ldg(labels + sample.source) : -1;
  int votes = 0;
#pragma unroll
  for (int s = 0; s < samples; ++s) votes += 2 * (__shfl_sync(~0u, label, s, samples) == label);
  votes += label == own;
  const unsigned hash = static_cast<unsigned>(label) * 2654435761u;
  const unsigned long long key = label < 0 ? 0 : static_cast<unsigned long long>(votes) << 32 | hash;
  const unsigned long long best = largest_of_group(key);
  const unsigned winners = __ballot_sync(~0u, key == best) >> (threadIdx.x % 32 / samples * samples);
  const NodeId won = __shfl_sync(~0u, label, __ffs(winners) - 1, samples);
  if (sample.row < g.num_rows && threadIdx.x % samples == 0) next[sample.row] = best == 0 ? own : won;
}

__global__ void count_up(std::int32_t* numbers, std::int64_t count) {
  const std::int64_t i = blockIdx.x * std::int64_t{threads} + threadIdx.x;
  if (i < count) numbers[i] = static_cast<std::int32_t>(i);
}

__global__ void lengths_in_order(GraphView g, const std::int32_t* order, EdgeId* lengths) {
  const std::int64_t i = blockIdx.x * std::int64_t{threads} + threadIdx.x;
  if (i < g.num_rows) lengths[i] = __ldg(g.offsets + order[i] + 1) - __ldg(g.offsets + order[i]);
}

__global__ void starts_by_row(std::int64_t rows, const std::int32_t* order, const EdgeId* sums, EdgeId* starts) {
  const std::int64_t i = blockIdx.x * std::int64_t{threads} + threadIdx.x;
  if (i < rows) starts[order[i]] = sums[i];
}

__global__ void place_edges(GraphView g, const EdgeId* starts, NodeId* rows, NodeId* cols, std::int32_t* ids) {
  const std::int64_t k = blockIdx.x * std::int64_t{threads} + threadIdx.x;
  if (k >= g.num_edges) return;
  const NodeId row = __ldg(g.rows + k);
  const EdgeId to = __ldg(starts + row) + k - __ldg(g.offsets + row);
  rows[to] = row;
  cols[to] = __ldg(g.cols + k);
  ids[to] = static_cast<std::int32_t>(g.edge_ids != nullptr ? __ldg(g.edge_ids + k) : k);
}

int bits_for(std::int64_t most) {
  int bits = 1;
  while (bits < 32 && (std::int64_t{1} << bits) <= most) ++bits;
  return bits;
}

template <class T>
T* as(const DeviceBuffer& buffer) {
  return reinterpret_cast<T*>(buffer.data());
}

}  // namespace

EdgeOrder::EdgeOrder(Device device, const GraphView& g, CUstream_st* stream) : device_(device) {
  const auto rows = static_cast<std::size_t>(g.num_rows), edges = static_cast<std::size_t>(g.num_edges);
  const auto buffer = [&](std::size_t bytes, const char* what) { return DeviceBuffer(device, stream, bytes, what); };
  starts_ = buffer(rows * sizeof(EdgeId), "the starts of clustered rows");
  rows_ = buffer(edges * sizeof(NodeId), "the rows of clustered edges");
  cols_ = buffer(edges * sizeof(NodeId), "the columns of clustered edges");
  ids_ = buffer(edges * sizeof(std::int32_t), "the ids of clustered edges");
  bytes_ = rows * sizeof(EdgeId) + 3 * edges * sizeof(NodeId);

  DeviceBuffer labels = buffer(rows * sizeof(NodeId), "labels of rows");
  DeviceBuffer other = buffer(rows * sizeof(NodeId), "labels of rows");
  const unsigned grid = blocks_for(g.num_rows * samples, threads), row_grid = blocks_for(g.num_rows, threads);
  first_labels<<<grid, threads, 0, stream>>>(g, as<NodeId>(labels));
  for (unsigned turn = 1; turn <= iterations; ++turn) {
    next_labels<<<grid, threads, 0, stream>>>(g, as<NodeId>(labels), as<NodeId>(other), turn);
    std::swap(labels, other);
  }
  // Rows by label; the sort is stable, so that they stay in sequence within one.
  const DeviceBuffer numbers = buffer(rows * sizeof(std::int32_t), "the numbers of rows");
  const DeviceBuffer order = buffer(rows * sizeof(std::int32_t), "the order of rows");
  count_up<<<row_grid, threads, 0, stream>>>(as<std::int32_t>(numbers), g.num_rows);
  const DeviceBuffer lengths = buffer(rows * sizeof(EdgeId), "the lengths of rows");
  const DeviceBuffer sums = buffer(rows * sizeof(EdgeId), "the starts of rows");
  std::size_t sort_bytes = 0, scan_bytes = 0;
  const auto sort = [&](void* scratch) {
    cuda::check_status(
        cub::DeviceRadixSort::SortPairs(scratch, sort_bytes, as<std::uint32_t>(labels), as<std::uint32_t>(other),
                                        as<std::int32_t>(numbers), as<std::int32_t>(order), g.num_rows, 0,
                                        bits_for(g.num_rows), stream),
        "sorting rows by label");
  };
  const auto scan = [&](void* scratch) {
    cuda::check_status(
        cub::DeviceScan::ExclusiveSum(scratch, scan_bytes, as<EdgeId>(lengths), as<EdgeId>(sums), g.num_rows, stream),
        "adding up the lengths of rows");
  };
  sort(nullptr);
  scan(nullptr);
  const DeviceBuffer scratch = buffer(sort_bytes > scan_bytes ? sort_bytes : scan_bytes, "sorting rows by label");
  sort(scratch.data());
  lengths_in_order<<<row_grid, threads, 0, stream>>>(g, as<std::int32_t>(order), as<EdgeId>(lengths));
  scan(scratch.data());
  starts_by_row<<<row_grid, threads, 0, stream>>>(g.num_rows, as<std::int32_t>(order), as<EdgeId>(sums),
                                                  as<EdgeId>(starts_));
  place_edges<<<blocks_for(g.num_edges, threads), threads, 0, stream>>>(g, starts(), as<NodeId>(rows_),
                                                                        as<NodeId>(cols_), as<std::int32_t>(ids_));
  cuda::check_status(cudaGetLastError(), "clustering the edges of a graph");
  cuda::check_status(cudaEventCreateWithFlags(&made_, cudaEventDisableTiming), "making an event");
  cuda::check_status(cudaEventRecord(made_, stream), "recording an event");
}

EdgeOrder::~EdgeOrder() {
  if (made_ != nullptr) cudaEventDestroy(made_);
}

void EdgeOrder::ready_in(CUstream_st* stream) const {
  cuda::check_status(cudaStreamWaitEvent(stream, made_, 0), "waiting for the order of edges");
}

}  // namespace weft
