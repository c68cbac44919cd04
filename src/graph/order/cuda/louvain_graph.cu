#include <vector>

#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/cuda/edges.hpp"
#include "graph/order/cuda/louvain.hpp"

namespace weft::louvain {
namespace {

using namespace cuda;

__device__ __forceinline__ std::int64_t weight_of(const LevelGraph& g, EdgeId k) {
  return g.weights != nullptr ? __ldg(g.weights + k) : 1;
}

struct DegreeOf {
  LevelGraph g;
  std::int64_t* strength;
  __device__ void operator()(std::int64_t v) const { strength[v] = g.offsets[v + 1] - g.offsets[v]; }
};

struct AddWeight {
  LevelGraph g;
  std::int64_t* strength;
  __device__ void operator()(std::int64_t k) const {
    atomicAdd(reinterpret_cast<Sum*>(strength + g.rows[k]), static_cast<Sum>(g.weights[k]));
  }
};

/// The sum of f(i) of 128 bits, as three of 32 and more: each holds 2^31 of them.
struct WideSum {
  Sum low = 0, middle = 0, high = 0;
  Wide value() const { return (static_cast<Wide>(high) << 64) + (static_cast<Wide>(middle) << 32) + low; }
};

template <class F>
__global__ void __launch_bounds__(each_threads) add_wide(std::int64_t count, F f, WideSum* sum) {
  Sum low = 0, middle = 0, high = 0;
  for (std::int64_t i = first_item(); i < count; i += item_stride()) {
    const Wide value = f(i);
    low += static_cast<Sum>(value) & 0xffffffffu;
    middle += static_cast<Sum>(value) >> 32;
    high += static_cast<Sum>(value >> 64);
  }
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    low += __shfl_xor_sync(~0u, low, step);
    middle += __shfl_xor_sync(~0u, middle, step);
    high += __shfl_xor_sync(~0u, high, step);
  }
  if (threadIdx.x % 32 != 0) return;
  atomicAdd(&sum->low, low);
  atomicAdd(&sum->middle, middle);
  atomicAdd(&sum->high, high);
}

/// Of values that are not negative; waits for the answer.
template <class F>
Wide sum_of(Device device, CUstream_st* stream, std::int64_t count, const F& f) {
  constexpr const char* doing = "adding up weights";
  constexpr std::int64_t most_blocks = 1024;
  if (count == 0) return 0;
  const DeviceBuffer sum(device, stream, sizeof(WideSum), doing);
  check_status(cudaMemsetAsync(sum.data(), 0, sizeof(WideSum), stream), doing);
  add_wide<<<blocks_for(count, most_blocks), each_threads, 0, stream>>>(count, f, as<WideSum>(sum));
  check_status(cudaGetLastError(), doing);
  WideSum result;
  copy_bytes(Device{}, &result, device, sum.data(), sizeof result, stream);
  return result.value();
}

struct ValueOf {
  const std::int64_t* values;
  __device__ Wide operator()(std::int64_t i) const { return values[i]; }
};
struct SquareOf {
  const std::int64_t* values;
  __device__ Wide operator()(std::int64_t i) const { return static_cast<Wide>(values[i]) * values[i]; }
};
struct WeightInside {
  LevelGraph g;
  __device__ Wide operator()(std::int64_t k) const { return g.rows[k] == g.cols[k] ? weight_of(g, k) : 0; }
};

struct HasMembers {
  const std::int32_t* members;
  std::int64_t* flags;
  __device__ void operator()(std::int64_t c) const { flags[c] = members[c] > 0; }
};
struct Number {
  const std::int64_t* numbers;  // inclusive sums
  NodeId* community;
  __device__ void operator()(std::int64_t v) const { community[v] = static_cast<NodeId>(numbers[community[v]] - 1); }
};

struct DifferentOffset {
  LevelGraph a, b;
  __device__ Wide operator()(std::int64_t v) const { return a.offsets[v] != b.offsets[v]; }
};
struct DifferentColumn {
  LevelGraph a, b;
  __device__ Wide operator()(std::int64_t k) const { return a.cols[k] != b.cols[k]; }
};

struct JoinOffsets {
  LevelGraph a, b;
  EdgeId* offsets;
  __device__ void operator()(std::int64_t v) const { offsets[v] = a.offsets[v] + b.offsets[v]; }
};
/// The edges of `from` behind those that `front` has in their row.
struct JoinEdges {
  LevelGraph from;
  const EdgeId* front;  // offsets [nodes + 1] of what stands in front; null: nothing
  const EdgeId* offsets;
  NodeId *rows, *cols;
  __device__ void operator()(std::int64_t k) const {
    const NodeId v = from.rows[k];
    const EdgeId in_front = front != nullptr ? front[v + 1] - front[v] : 0;
    const EdgeId to = offsets[v] + in_front + k - from.offsets[v];
    rows[to] = v;
    cols[to] = from.cols[k];
  }
};

struct PairOfCommunities {
  LevelGraph g;
  const NodeId* community;
  std::int64_t communities;
  std::int64_t first;  // edge
  std::uint64_t* keys;
  std::int64_t* weights;
  __device__ void operator()(std::int64_t i) const {
    const EdgeId k = first + i;
    keys[i] = static_cast<std::uint64_t>(__ldg(community + g.rows[k]) * communities + __ldg(community + g.cols[k]));
    weights[i] = weight_of(g, k);
  }
};
struct EndsOfPair {
  const std::uint64_t* keys;
  std::uint64_t communities;
  NodeId *rows, *cols;
  __device__ void operator()(std::int64_t k) const {
    rows[k] = static_cast<NodeId>(keys[k] / communities);
    cols[k] = static_cast<NodeId>(keys[k] % communities);
  }
};

/// Pairs of communities, each once where they are reduced, with the sum of their weights.
struct WeightedPairs {
  DeviceBuffer keys[2], weights[2];
  std::int64_t count = 0;
  int copy = 0;  // the one that holds them

  WeightedPairs(Device device, CUstream_st* stream, std::int64_t most) : count(most) {
    const auto bytes = static_cast<std::size_t>(most) * sizeof(std::uint64_t);
    for (int i = 0; i < 2; ++i) {
      keys[i] = DeviceBuffer(device, stream, bytes, "pairs of communities");
      weights[i] = DeviceBuffer(device, stream, bytes, "weights between communities");
    }
  }
  std::uint64_t* key(int i = 0) const { return as<std::uint64_t>(keys[i]); }
  std::int64_t* weight(int i = 0) const { return as<std::int64_t>(weights[i]); }

  void reduce(Device device, CUstream_st* stream, int bits) {
    std::uint64_t* const both_keys[] = {key(0), key(1)};
    std::int64_t* const both_weights[] = {weight(0), weight(1)};
    const SummedKeys summed =
        sum_by_key(device, stream, "adding up weights between communities", both_keys, both_weights, count, bits);
    count = summed.count;
    copy = summed.copy;
    keys[1 - copy] = {};
    weights[1 - copy] = {};
    shrink(device, stream, keys[copy]);
    shrink(device, stream, weights[copy]);
  }

 private:
  /// To what is left of it.
  void shrink(Device device, CUstream_st* stream, DeviceBuffer& buffer) const {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(std::uint64_t);
    DeviceBuffer smaller(device, stream, bytes, "weights between communities");
    copy_bytes(device, smaller.data(), device, buffer.data(), bytes, stream);
    buffer = std::move(smaller);
  }
};

/// All of them in one piece of memory, in turn.
WeightedPairs joined(Device device, CUstream_st* stream, const std::vector<WeightedPairs>& parts) {
  std::int64_t count = 0;
  for (const WeightedPairs& part : parts) count += part.count;
  WeightedPairs all(device, stream, count);
  std::int64_t at = 0;
  for (const WeightedPairs& part : parts) {
    const auto bytes = static_cast<std::size_t>(part.count) * sizeof(std::uint64_t);
    copy_bytes(device, all.key() + at, device, part.key(part.copy), bytes, stream);
    copy_bytes(device, all.weight() + at, device, part.weight(part.copy), bytes, stream);
    at += part.count;
  }
  return all;
}

}  // namespace

std::int64_t add_strengths(Device device, CUstream_st* stream, const LevelGraph& g, std::int64_t* strength) {
  const OnDevice on(device.index);
  if (g.weights == nullptr) {
    each(g.nodes, stream, "adding up weights", DegreeOf{g, strength});
    return g.edges;
  }
  check_status(cudaMemsetAsync(strength, 0, static_cast<std::size_t>(g.nodes) * sizeof(std::int64_t), stream),
               "adding up weights");
  each(g.edges, stream, "adding up weights", AddWeight{g, strength});
  return static_cast<std::int64_t>(sum_of(device, stream, g.nodes, ValueOf{strength}));
}

Wide modularity_alone(Device device, CUstream_st* stream, const LevelGraph& g, const std::int64_t* strength,
                      std::int64_t total) {
  const OnDevice on(device.index);
  return total * sum_of(device, stream, g.edges, WeightInside{g}) - sum_of(device, stream, g.nodes, SquareOf{strength});
}

std::int64_t number_by_members(Device device, CUstream_st* stream, std::int64_t nodes, const LevelState& s) {
  const OnDevice on(device.index);
  const DeviceBuffer numbers(device, stream, static_cast<std::size_t>(nodes) * sizeof(std::int64_t),
                             "numbers of communities");
  each(nodes, stream, "looking for communities", HasMembers{s.members, as<std::int64_t>(numbers)});
  add_up(device, stream, "numbering communities", Sums::inclusive, as<std::int64_t>(numbers), as<std::int64_t>(numbers),
         nodes);
  each(nodes, stream, "numbering communities", Number{as<std::int64_t>(numbers), s.community});
  std::int64_t count = 0;
  copy_bytes(Device{}, &count, device, as<std::int64_t>(numbers) + nodes - 1, sizeof count, stream);
  return count;
}

bool same_edges(Device device, CUstream_st* stream, const LevelGraph& a, const LevelGraph& b) {
  const OnDevice on(device.index);
  if (a.nodes != b.nodes || a.edges != b.edges) return false;
  return sum_of(device, stream, a.nodes + 1, DifferentOffset{a, b}) == 0 &&
         sum_of(device, stream, a.edges, DifferentColumn{a, b}) == 0;
}

LevelArrays join_rows(Device device, CUstream_st* stream, const LevelGraph& a, const LevelGraph& b) {
  const OnDevice on(device.index);
  LevelArrays result;
  result.edges = a.edges + b.edges;
  const auto edges = static_cast<std::size_t>(result.edges);
  const auto buffer = [&](std::size_t bytes) {
    return DeviceBuffer(device, stream, bytes, "a graph without directions");
  };
  result.offsets = buffer(static_cast<std::size_t>(a.nodes + 1) * sizeof(EdgeId));
  result.rows = buffer(edges * sizeof(NodeId));
  result.cols = buffer(edges * sizeof(NodeId));
  auto* const offsets = as<EdgeId>(result.offsets);
  auto *const rows = as<NodeId>(result.rows), *const cols = as<NodeId>(result.cols);
  constexpr const char* doing = "joining both directions of edges";
  each(a.nodes + 1, stream, doing, JoinOffsets{a, b, offsets});
  each(a.edges, stream, doing, JoinEdges{a, nullptr, offsets, rows, cols});
  each(b.edges, stream, doing, JoinEdges{b, a.offsets, offsets, rows, cols});
  return result;
}

LevelArrays contract_edges(Device device, CUstream_st* stream, const LevelGraph& g, const NodeId* community,
                           std::int64_t communities, std::int64_t edges_at_once) {
  const OnDevice on(device.index);
  const int bits = bits_for(communities * communities - 1);
  std::vector<WeightedPairs> parts;
  for (std::int64_t first = 0; first < g.edges; first += edges_at_once) {
    const std::int64_t count = g.edges - first < edges_at_once ? g.edges - first : edges_at_once;
    parts.emplace_back(device, stream, count);
    each(count, stream, "looking up communities of edges",
         PairOfCommunities{g, community, communities, first, parts.back().key(), parts.back().weight()});
    parts.back().reduce(device, stream, bits);
  }
  if (parts.size() != 1) {
    WeightedPairs all = joined(device, stream, parts);
    parts.clear();
    if (all.count > 0) all.reduce(device, stream, bits);
    parts.push_back(std::move(all));
  }
  WeightedPairs& pairs = parts.front();
  LevelArrays result;
  result.edges = pairs.count;
  const auto edges = static_cast<std::size_t>(pairs.count);
  result.rows = DeviceBuffer(device, stream, edges * sizeof(NodeId), "rows of communities");
  result.cols = DeviceBuffer(device, stream, edges * sizeof(NodeId), "columns of communities");
  result.offsets = DeviceBuffer(device, stream, static_cast<std::size_t>(communities + 1) * sizeof(EdgeId),
                                "offsets of communities");
  each(pairs.count, stream, "placing edges between communities",
       EndsOfPair{pairs.key(pairs.copy), static_cast<std::uint64_t>(communities), as<NodeId>(result.rows),
                  as<NodeId>(result.cols)});
  GraphView sorted{communities, communities, pairs.count};
  sorted.rows = as<NodeId>(result.rows);
  find_offsets(device, stream, sorted, as<EdgeId>(result.offsets));
  result.weights = std::move(pairs.weights[pairs.copy]);
  return result;
}

}  // namespace weft::louvain
