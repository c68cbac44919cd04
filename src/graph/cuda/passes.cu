// Passes over a graph's arrays: one thread an item, searches that a warp makes together, no sort.
#include "core/cuda/storage.cuh"
#include "core/loops/cuda/each.cuh"
#include "graph/cuda/edges.hpp"

namespace weft::cuda {
namespace {

/// Every thread looks until it finds one; integers, so that it does not matter who comes first.
template <class Bad>
__global__ void __launch_bounds__(each_threads)
    find_first_item(std::int64_t count, Bad bad, unsigned long long* first) {
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    if (!bad(i)) continue;
    atomicMin(first, static_cast<unsigned long long>(i));
    return;
  }
}

/// The lowest i in [0, count) for which bad(i) holds, or `count`; waits for the answer.
template <class Bad>
std::int64_t find_first(Device device, CUstream_st* stream, std::int64_t count, const char* doing, const Bad& bad) {
  if (count <= 0) return count;
  constexpr std::int64_t most_blocks = 2048;  // several times what any GPU runs at once
  const DeviceBuffer found(device, stream, sizeof(unsigned long long), doing);
  const OnDevice on(device.index);
  check_status(cudaMemsetAsync(found.data(), 0xff, sizeof(unsigned long long), stream), doing);
  auto* first = reinterpret_cast<unsigned long long*>(found.data());
  find_first_item<<<blocks_for(count, most_blocks), each_threads, 0, stream>>>(count, bad, first);
  check_status(cudaGetLastError(), doing);
  unsigned long long answer = 0;
  copy_bytes(Device{}, &answer, device, found.data(), sizeof(answer), stream);
  return answer < static_cast<unsigned long long>(count) ? static_cast<std::int64_t>(answer) : count;
}

struct EndOutside {
  GraphView list;
  __device__ bool operator()(std::int64_t k) const {
    return static_cast<std::uint32_t>(list.rows[k]) >= static_cast<std::uint32_t>(list.num_rows) ||
           static_cast<std::uint32_t>(list.cols[k]) >= static_cast<std::uint32_t>(list.num_cols);
  }
};

struct NoNode {
  const std::int64_t* ids;
  std::int64_t count;
  __device__ bool operator()(std::int64_t k) const {
    return static_cast<std::uint64_t>(ids[k]) >= static_cast<std::uint64_t>(count);
  }
};

struct BehindSuccessor {
  GraphView list;
  __device__ bool operator()(std::int64_t k) const {
    const NodeId row = list.rows[k], next = list.rows[k + 1];
    return row > next || (row == next && list.cols[k] > list.cols[k + 1]);
  }
};

struct DegreeOver {
  const EdgeId* offsets;
  std::int64_t most;
  __device__ bool operator()(std::int64_t row) const { return offsets[row + 1] - offsets[row] > most; }
};

struct Falls {
  const EdgeId* offsets;
  __device__ bool operator()(std::int64_t row) const { return offsets[row + 1] < offsets[row]; }
};

/// Integers, so that it does not matter who comes first.
struct CountRow {
  const EdgeId* offsets;
  RowExtremes* found;
  __device__ void operator()(std::int64_t row) const {
    const EdgeId degree = offsets[row + 1] - offsets[row];
    if (degree == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&found->empty), 1ull);
    // Most rows are no longer than one that was seen before: they need not ask for the atomic.
    if (degree > *reinterpret_cast<volatile std::int64_t*>(&found->longest))
      atomicMax(reinterpret_cast<unsigned long long*>(&found->longest), static_cast<unsigned long long>(degree));
  }
};

/// A row starts where the first edge of it or of a later row stands.
struct FindOffset {
  GraphView sorted;
  EdgeId* offsets;
  __device__ void operator()(std::int64_t row) const {
    EdgeId low = 0, high = sorted.num_edges;
    while (low < high) {
      const EdgeId middle = low + (high - low) / 2;
      if (sorted.rows[middle] < row) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    offsets[row] = low;
  }
};

/// The rows of a stretch of edges: by bisection that of the first, and from there on by steps that double, as between
/// two edges there may be any number of empty rows.
struct FindRows {
  static constexpr int stretch = 16;  // edges
  GraphView graph;
  NodeId* rows;

  /// Of rows [low, high) the last one that does not start behind edge k; `low` does not.
  __device__ std::int64_t between(std::int64_t low, std::int64_t high, EdgeId k) const {
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (graph.offsets[middle] <= k ? low : high) = middle;
    }
    return low;
  }
  __device__ std::int64_t from(std::int64_t low, EdgeId k) const {
    std::int64_t step = 1;
    for (; low + step < graph.num_rows && graph.offsets[low + step] <= k; step *= 2) low += step;
    return between(low, low + step < graph.num_rows ? low + step : graph.num_rows, k);
  }
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t first = i * stretch;
    const std::int64_t end = first + stretch < graph.num_edges ? first + stretch : graph.num_edges;
    std::int64_t row = between(0, graph.num_rows, first);
    EdgeId next = graph.offsets[row + 1];
    NodeId found[stretch];
#pragma unroll
    for (int j = 0; j < stretch; ++j) {
      if (first + j < end && first + j >= next) {
        row = from(row, first + j);
        next = graph.offsets[row + 1];
      }
      found[j] = static_cast<NodeId>(row);
    }
    if (first + stretch == end && reinterpret_cast<std::uintptr_t>(rows) % 16 == 0) {
#pragma unroll
      for (int j = 0; j < stretch; j += 4)
        *reinterpret_cast<int4*>(rows + first + j) = {found[j], found[j + 1], found[j + 2], found[j + 3]};
    } else {
#pragma unroll
      for (int j = 0; j < stretch; ++j)
        if (first + j < end) rows[first + j] = found[j];
    }
  }
};

__device__ double degree_of(const EdgeId* offsets, std::int64_t row) {
  return static_cast<double>(offsets[row + 1] - offsets[row]);
}
__device__ EdgeId id_of(const GraphView& graph, EdgeId k) { return graph.edge_ids != nullptr ? graph.edge_ids[k] : k; }

template <class To, class From>
struct ConvertId {
  const From* from;
  To* to;
  __device__ void operator()(std::int64_t i) const { to[i] = static_cast<To>(from[i]); }
};

struct WriteDegree {
  const EdgeId* offsets;
  Dtype dtype;
  void* out;
  __device__ void operator()(std::int64_t row) const { store_as(dtype, out, row, degree_of(offsets, row)); }
};

struct WriteMeanWeight {
  GraphView graph;
  Dtype dtype;
  void* out;
  __device__ void operator()(std::int64_t k) const {
    store_as(dtype, out, id_of(graph, k), 1.0 / degree_of(graph.offsets, graph.rows[k]));
  }
};

struct CountColumn {
  const NodeId* cols;
  unsigned long long* counts;
  __device__ void operator()(std::int64_t k) const { atomicAdd(counts + cols[k], 1ull); }
};

struct WriteGcnWeight {
  GraphView graph;
  const unsigned long long* out_degrees;
  Dtype dtype;
  void* out;
  __device__ void operator()(std::int64_t k) const {
    const double in = degree_of(graph.offsets, graph.rows[k]);
    const auto leaving = static_cast<double>(out_degrees[graph.cols[k]]);
    store_as(dtype, out, id_of(graph, k), 1.0 / sqrt(in * leaving));
  }
};

}  // namespace

std::int64_t first_outside(Device device, CUstream_st* stream, const GraphView& list) {
  return find_first(device, stream, list.num_edges, "looking for ends of edges out of range", EndOutside{list});
}

std::int64_t first_no_node(Device device, CUstream_st* stream, const std::int64_t* ids, std::int64_t edges,
                           std::int64_t count) {
  return find_first(device, stream, edges, "looking for ids out of range", NoNode{ids, count});
}

std::int64_t first_unsorted(Device device, CUstream_st* stream, const GraphView& list) {
  const std::int64_t pairs = list.num_edges > 0 ? list.num_edges - 1 : 0;
  const std::int64_t found = find_first(device, stream, pairs, "looking for edges out of order", BehindSuccessor{list});
  return found < pairs ? found : list.num_edges;
}

std::int64_t first_fall(Device device, CUstream_st* stream, const EdgeId* offsets, std::int64_t rows) {
  return find_first(device, stream, rows, "looking for offsets that fall", Falls{offsets});
}

std::int64_t first_degree_over(Device device, CUstream_st* stream, const EdgeId* offsets, std::int64_t rows,
                               std::int64_t most) {
  return find_first(device, stream, rows, "looking for large degrees", DegreeOver{offsets, most});
}

RowExtremes row_extremes(Device device, CUstream_st* stream, const EdgeId* offsets, std::int64_t rows) {
  const DeviceBuffer found(device, stream, sizeof(RowExtremes), "the longest row");
  zero_bytes(device, found.data(), sizeof(RowExtremes), stream);
  const OnDevice on(device.index);
  each(rows, stream, "looking for the longest row", CountRow{offsets, reinterpret_cast<RowExtremes*>(found.data())});
  RowExtremes answer;
  copy_bytes(Device{}, &answer, device, found.data(), sizeof(answer), stream);
  return answer;
}

void find_offsets(Device device, CUstream_st* stream, const GraphView& sorted, EdgeId* offsets) {
  const OnDevice on(device.index);
  each(sorted.num_rows + 1, stream, "finding where rows start", FindOffset{sorted, offsets});
}

void expand_rows(Device device, CUstream_st* stream, const GraphView& graph, NodeId* rows) {
  const OnDevice on(device.index);
  each((graph.num_edges + FindRows::stretch - 1) / FindRows::stretch, stream, "finding the rows of edges",
       FindRows{graph, rows});
}

void convert_ids(Device device, CUstream_st* stream, const std::int64_t* from, std::int64_t count, std::int32_t* to) {
  const OnDevice on(device.index);
  each(count, stream, "narrowing ids", ConvertId<std::int32_t, std::int64_t>{from, to});
}
void convert_ids(Device device, CUstream_st* stream, const std::int32_t* from, std::int64_t count, std::int64_t* to) {
  const OnDevice on(device.index);
  each(count, stream, "widening ids", ConvertId<std::int64_t, std::int32_t>{from, to});
}

void write_degrees(Device device, CUstream_st* stream, const EdgeId* offsets, std::int64_t rows, Dtype dtype,
                   void* out) {
  const OnDevice on(device.index);
  each(rows, stream, "writing degrees", WriteDegree{offsets, dtype, out});
}

void write_mean_weights(Device device, CUstream_st* stream, const GraphView& graph, Dtype dtype, void* out) {
  const OnDevice on(device.index);
  each(graph.num_edges, stream, "writing mean weights", WriteMeanWeight{graph, dtype, out});
}

void write_gcn_weights(Device device, CUstream_st* stream, const GraphView& graph, Dtype dtype, void* out) {
  const std::size_t bytes = static_cast<std::size_t>(graph.num_cols) * sizeof(unsigned long long);
  const DeviceBuffer counts(device, stream, bytes, "out-degrees of a graph");
  zero_bytes(device, counts.data(), bytes, stream);
  auto* degrees = reinterpret_cast<unsigned long long*>(counts.data());
  const OnDevice on(device.index);
  each(graph.num_edges, stream, "counting out-degrees", CountColumn{graph.cols, degrees});
  each(graph.num_edges, stream, "writing gcn weights", WriteGcnWeight{graph, degrees, dtype, out});
}

}  // namespace weft::cuda
