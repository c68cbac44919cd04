#include "graph/cuda/row_order.hpp"

#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"

namespace weft {
namespace {

using namespace cuda;

constexpr int iterations = 3;  // enough for communities of thousands; more would find little, and cost as much each

/// Sources of a row that are asked for their label. Where rows are long, few of them lead all rows to the same hubs.
int samples_for(const GraphView& g) { return g.num_edges < 128 * g.num_rows ? 16 : 32; }

// The row a group of `Samples` threads works on, and the source this thread looks at; -1 where there is none.
template <int Samples>
struct Sample {
  std::int64_t row = first_item() / Samples;
  NodeId source = -1;

  __device__ __forceinline__ Sample(const GraphView& g, unsigned turn) {
    if (row >= g.num_rows) return;
    const int s = threadIdx.x % Samples;
    const EdgeId begin = __ldg(g.offsets + row), degree = __ldg(g.offsets + row + 1) - begin;
    if (degree <= Samples) {
      if (s < degree) source = __ldg(g.cols + begin + s);
    } else {  // evenly spread, from another place each turn
      const auto shift = static_cast<EdgeId>((turn * 2654435761u >> 8) % static_cast<unsigned>(degree));
      source = __ldg(g.cols + begin + ((s * degree + shift) / Samples) % degree);
    }
  }
};

template <int Samples, class T>
__device__ __forceinline__ T largest_of_group(T key) {
#pragma unroll
  for (int step = Samples / 2; step > 0; step /= 2) {
    const T other = __shfl_xor_sync(~0u, key, step, Samples);
    key = other > key ? other : key;
  }
  return key;
}

// To begin with a row belongs to the largest of its sources, or to itself where it is larger than those.
template <int Samples>
__global__ void __launch_bounds__(each_threads) first_labels(GraphView g, NodeId* labels) {
  const Sample<Samples> sample(g, 0);
  const auto key_of = [&](std::int64_t v) {
    const auto degree = static_cast<unsigned long long>(__ldg(g.offsets + v + 1) - __ldg(g.offsets + v));
    return degree << 32 | static_cast<unsigned>(v);
  };
  const std::int64_t own = sample.row < g.num_rows ? sample.row : 0;
  const unsigned long long mine = key_of(own), theirs = sample.source >= 0 ? key_of(sample.source) : 0;
  const unsigned long long best = largest_of_group<Samples>(theirs > mine ? theirs : mine);
  if (sample.row < g.num_rows && threadIdx.x % Samples == 0) labels[own] = static_cast<NodeId>(best & 0xffffffffu);
}

// Then to where most of its sources belong; its own label weighs half a source, and a hash settles ties.
template <int Samples>
__global__ void __launch_bounds__(each_threads)
    next_labels(GraphView g, const NodeId* labels, NodeId* next, unsigned turn) {
  const Sample<Samples> sample(g, turn);
  const NodeId own = sample.row < g.num_rows ? __ldg(labels + sample.row) : -1;
  const NodeId label = sample.source >= 0 ? __ldg(labels + sample.source) : -1;
  int votes = 0;
#pragma unroll
  for (int s = 0; s < Samples; ++s) votes += 2 * (__shfl_sync(~0u, label, s, Samples) == label);
  votes += label == own;
  const unsigned hash = static_cast<unsigned>(label) * 2654435761u;
  const unsigned long long key = label < 0 ? 0 : static_cast<unsigned long long>(votes) << 32 | hash;
  const unsigned long long best = largest_of_group<Samples>(key);
  const unsigned winners = __ballot_sync(~0u, key == best) >> (threadIdx.x % 32 / Samples * Samples);
  const NodeId won = __shfl_sync(~0u, label, __ffs(winners) - 1, Samples);
  if (sample.row < g.num_rows && threadIdx.x % Samples == 0) next[sample.row] = best == 0 ? own : won;
}

/// Labels of every row in `labels`; `other` is as large, and lost.
template <int Samples>
void propagate_labels(const GraphView& g, NodeId*& labels, NodeId*& other, CUstream_st* stream) {
  const unsigned grid = blocks_for(g.num_rows * Samples);
  first_labels<Samples><<<grid, each_threads, 0, stream>>>(g, labels);
  for (unsigned turn = 1; turn <= iterations; ++turn) {
    next_labels<Samples><<<grid, each_threads, 0, stream>>>(g, labels, other, turn);
    std::swap(labels, other);
  }
  check_status(cudaGetLastError(), "finding the communities of a graph");
}

}  // namespace

RowOrder::RowOrder(Device device, const GraphView& g, CUstream_st* stream) {
  const auto rows = static_cast<std::size_t>(g.num_rows);
  const auto buffer = [&](std::size_t bytes, const char* what) { return DeviceBuffer(device, stream, bytes, what); };
  rows_ = buffer(rows * sizeof(std::int32_t), "the order of rows");
  bytes_ = rows * sizeof(std::int32_t);

  const OnDevice on(device.index);
  const DeviceBuffer first = buffer(rows * sizeof(NodeId), "labels of rows");
  const DeviceBuffer second = buffer(rows * sizeof(NodeId), "labels of rows");
  NodeId *labels = as<NodeId>(first), *other = as<NodeId>(second);
  if (samples_for(g) == 16) {
    propagate_labels<16>(g, labels, other, stream);
  } else {
    propagate_labels<32>(g, labels, other, stream);
  }
  // Rows by label; the sort is stable, so that they stay in sequence within one.
  const DeviceBuffer numbers = buffer(rows * sizeof(std::int32_t), "the numbers of rows");
  count_up(device, stream, "numbering rows", as<std::int32_t>(numbers), g.num_rows);
  sort_pairs(device, stream, "sorting rows by label",
             SortedPairs<std::uint32_t, std::int32_t>{
                 reinterpret_cast<std::uint32_t*>(labels), as<std::int32_t>(numbers),
                 reinterpret_cast<std::uint32_t*>(other), as<std::int32_t>(rows_), g.num_rows, bits_for(g.num_rows)});
  made_.set(device, stream);
}

RowOrder::RowOrder(Device device, DeviceBuffer order, std::int64_t rows, CUstream_st* stream)
    : rows_(std::move(order)), bytes_(static_cast<std::size_t>(rows) * sizeof(std::int32_t)) {
  made_.set(device, stream);
}

}  // namespace weft
