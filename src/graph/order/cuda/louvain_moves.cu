#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/order/cuda/louvain.hpp"

namespace weft::louvain {
namespace {

using namespace cuda;

// Threads that decide for a node, by the most edges it has; tables are at most half full.
constexpr int warp_edges = 64, small_edges = 512, large_edges = 4096;
constexpr int small_threads = 128, large_threads = 512, hub_threads = 1024;
constexpr int warps_of_block = each_threads / 32;
constexpr std::size_t most_hub_bytes = std::size_t{256} << 20;

WEFT_ANYWHERE constexpr int size_of_table(std::int64_t degree) {
  return degree <= warp_edges ? 0 : degree <= small_edges ? 1 : degree <= large_edges ? 2 : 3;
}

/// Weights added up by community: open addressing, filled by all threads of a group.
struct Table {
  NodeId* communities;  // -1: free
  Sum* sums;
  unsigned mask;

  __device__ void clear(unsigned rank, unsigned threads) const {
    for (std::int64_t slot = rank; slot <= mask; slot += threads) {
      communities[slot] = -1;
      sums[slot] = 0;
    }
  }
  __device__ void add(NodeId community, Sum weight) const {
    unsigned slot = (static_cast<unsigned>(community) * 2654435761u) & mask;
    for (;;) {
      const NodeId there = atomicCAS(communities + slot, -1, community);
      if (there == -1 || there == community) break;
      slot = (slot + 1) & mask;
    }
    atomicAdd(sums + slot, weight);
  }
};

__device__ __forceinline__ Wide shuffle_xor(Wide value, int step) {
  const auto low = __shfl_xor_sync(~0u, static_cast<Sum>(value), step);
  const auto high = __shfl_xor_sync(~0u, static_cast<Sum>(value >> 64), step);
  return static_cast<Wide>(high) << 64 | low;
}

__device__ __forceinline__ Offer best_of_warp(Offer best, NodeId own) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const Offer other{shuffle_xor(best.score, step), __shfl_xor_sync(~0u, best.community, step)};
    if (better(other, best, own)) best = other;
  }
  return best;
}

template <int Threads>
__device__ __forceinline__ void sync_group() {
  if constexpr (Threads == 32) {
    __syncwarp();
  } else {
    __syncthreads();
  }
}

/// By `Threads` threads, a warp or a block; all of them get the answer.
template <int Threads>
__device__ Offer best_of_group(Offer best, NodeId own) {
  best = best_of_warp(best, own);
  if constexpr (Threads > 32) {
    __shared__ Offer of_warps[Threads / 32];
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = best;
    __syncthreads();
    best = of_warps[0];
    for (int warp = 1; warp < Threads / 32; ++warp)
      if (better(of_warps[warp], best, own)) best = of_warps[warp];
    __syncthreads();
  }
  return best;
}

template <int Threads>
__device__ void decide_node(const LevelGraph& g, const LevelState& s, NodeId v, std::int32_t now, const Table& table) {
  if (__ldg(s.changed + v) < now - buckets) return;  // its wish is where it is
  const unsigned rank = threadIdx.x % Threads, lane = threadIdx.x % 32;
  table.clear(rank, Threads);
  sync_group<Threads>();
  const EdgeId begin = __ldg(g.offsets + v), end = __ldg(g.offsets + v + 1);
  for (EdgeId base = begin + rank - lane; base < end; base += Threads) {
    NodeId community = -1;
    if (const EdgeId k = base + lane; k < end)
      if (const NodeId u = __ldg(g.cols + k); u != v) community = __ldg(s.community + u);
    if (g.weights == nullptr) {
      // Most neighbours of a node end in few communities: one addition for all lanes with the same.
      const unsigned same = __match_any_sync(~0u, community);
      if (community >= 0 && lane == static_cast<unsigned>(__ffs(same)) - 1) table.add(community, __popc(same));
    } else if (community >= 0) {
      table.add(community, static_cast<Sum>(__ldg(g.weights + base + lane)));
    }
  }
  sync_group<Threads>();
  const NodeId own = __ldg(s.community + v);
  const std::int64_t strength = __ldg(s.strength + v);
  Offer best = offer(own, 0, __ldg(s.of_community + own) - strength, strength, s.total);
  for (std::int64_t slot = rank; slot <= table.mask; slot += Threads) {
    const NodeId community = table.communities[slot];
    if (community < 0) continue;
    const std::int64_t others = __ldg(s.of_community + community) - (community == own ? strength : 0);
    const Offer next = offer(community, static_cast<std::int64_t>(table.sums[slot]), others, strength, s.total);
    if (better(next, best, own)) best = next;
  }
  best = best_of_group<Threads>(best, own);
  if (rank == 0)
    s.wish[v] =
        may_move(own, best.community, __ldg(s.members + own), __ldg(s.members + best.community)) ? best.community : own;
  sync_group<Threads>();
}

__global__ void __launch_bounds__(each_threads)
    decide_by_warps(LevelGraph g, LevelState s, const NodeId* nodes, std::int64_t count, std::int32_t now) {
  constexpr int slots = 2 * warp_edges;
  __shared__ Sum sums[warps_of_block][slots];
  __shared__ NodeId communities[warps_of_block][slots];
  const std::int64_t i = first_item() / 32;
  const int warp = threadIdx.x / 32;
  if (i < count) decide_node<32>(g, s, nodes[i], now, {communities[warp], sums[warp], slots - 1});
}

template <int Threads, int Slots>
__global__ void __launch_bounds__(Threads)
    decide_by_blocks(LevelGraph g, LevelState s, const NodeId* nodes, std::int64_t count, std::int32_t now) {
  extern __shared__ Sum sums[];
  auto* const communities = reinterpret_cast<NodeId*>(sums + Slots);
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x)
    decide_node<Threads>(g, s, nodes[i], now, {communities, sums, Slots - 1});
}

__global__ void __launch_bounds__(hub_threads)
    decide_hubs(LevelGraph g, LevelState s, const NodeId* nodes, std::int64_t count, std::int32_t now, Sum* sums,
                std::int64_t slots) {
  auto* const communities = reinterpret_cast<NodeId*>(sums + gridDim.x * slots) + blockIdx.x * slots;
  for (std::int64_t i = blockIdx.x; i < count; i += gridDim.x) {
    // As much of the table as this node can need: clearing it takes as long as filling it.
    const auto entries = static_cast<Sum>(2 * (__ldg(g.offsets + nodes[i] + 1) - __ldg(g.offsets + nodes[i])) - 1);
    const auto used = Sum{1} << (64 - __clzll(static_cast<long long>(entries)));
    decide_node<hub_threads>(g, s, nodes[i], now,
                             {communities, sums + blockIdx.x * slots, static_cast<unsigned>(used - 1)});
  }
}

template <int Threads, int Edges>
void launch_blocks(CUstream_st* stream, const LevelGraph& g, const LevelState& s, const NodeId* nodes,
                   std::int64_t count, std::int32_t now) {
  constexpr int slots = 2 * Edges;
  constexpr int bytes = slots * static_cast<int>(HubTables::slot_bytes);
  const auto kernel = decide_by_blocks<Threads, slots>;
  check_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), "deciding on moves");
  kernel<<<static_cast<unsigned>(count), Threads, bytes, stream>>>(g, s, nodes, count, now);
}

/// A warp for every node of the bucket; few of them move.
__global__ void __launch_bounds__(each_threads)
    move_nodes(LevelGraph g, LevelState s, const NodeId* nodes, std::int64_t count, std::int32_t now, Sum* moved) {
  const std::int64_t i = first_item() / 32;
  if (i >= count) return;
  const NodeId v = nodes[i], from = s.community[v], to = s.wish[v];
  const unsigned lane = threadIdx.x % 32;
  __syncwarp();
  if (from == to) return;
  if (lane == 0) {
    const auto strength = static_cast<Sum>(s.strength[v]);
    atomicAdd(reinterpret_cast<Sum*>(s.of_community + from), Sum{0} - strength);
    atomicAdd(reinterpret_cast<Sum*>(s.of_community + to), strength);
    atomicAdd(s.members + from, -1);
    atomicAdd(s.members + to, 1);
    s.community[v] = to;
    atomicAdd(moved, Sum{1});
  }
  for (EdgeId k = g.offsets[v] + lane; k < g.offsets[v + 1]; k += 32) s.changed[g.cols[k]] = now;
}

struct StartAlone {
  LevelState s;
  __device__ void operator()(std::int64_t v) const {
    s.community[v] = s.wish[v] = static_cast<NodeId>(v);
    s.of_community[v] = s.strength[v];
    s.members[v] = 1;
    s.changed[v] = 0;
  }
};

struct KeyOfDecision {
  const EdgeId* offsets;
  std::uint16_t* keys;
  __device__ void operator()(std::int64_t v) const {
    keys[v] =
        static_cast<std::uint16_t>(bucket_of(v) * DecisionList::sizes + size_of_table(offsets[v + 1] - offsets[v]));
  }
};

/// starts[key] = how many keys are smaller.
struct StartsOfKeys {
  const std::uint16_t* sorted;
  std::int64_t count;
  std::int64_t* starts;
  int keys;
  __device__ void operator()(std::int64_t i) const {
    const int before = i > 0 ? sorted[i - 1] : -1, here = i < count ? sorted[i] : keys;
    for (int key = before + 1; key <= here; ++key) starts[key] = i;
  }
};

struct LongestRow {
  const EdgeId* offsets;
  Sum* longest;
  __device__ void operator()(std::int64_t v) const {
    const auto degree = static_cast<Sum>(offsets[v + 1] - offsets[v]);
    if (degree > large_edges) atomicMax(longest, degree);
  }
};

}  // namespace

DecisionList list_decisions(Device device, CUstream_st* stream, const LevelGraph& g, NodeId* nodes) {
  const OnDevice on(device.index);
  constexpr int keys = buckets * DecisionList::sizes;
  const auto count = static_cast<std::size_t>(g.nodes);
  const auto buffer = [&](std::size_t bytes) { return DeviceBuffer(device, stream, bytes, "nodes by bucket"); };
  const DeviceBuffer key = buffer(count * sizeof(std::uint16_t)), sorted = buffer(count * sizeof(std::uint16_t));
  const DeviceBuffer numbers = buffer(count * sizeof(NodeId)), facts = buffer((keys + 2) * sizeof(std::int64_t));
  each(g.nodes, stream, "choosing buckets", KeyOfDecision{g.offsets, as<std::uint16_t>(key)});
  count_up(device, stream, "numbering nodes", as<NodeId>(numbers), g.nodes);
  sort_pairs(device, stream, "sorting nodes by bucket",
             SortedPairs<std::uint16_t, std::int32_t>{as<std::uint16_t>(key), as<NodeId>(numbers),
                                                      as<std::uint16_t>(sorted), nodes, g.nodes, bits_for(keys - 1)});
  auto* const found = as<std::int64_t>(facts);
  check_status(cudaMemsetAsync(found, 0, (keys + 2) * sizeof(std::int64_t), stream), "sorting nodes by bucket");
  each(g.nodes + 1, stream, "finding buckets", StartsOfKeys{as<std::uint16_t>(sorted), g.nodes, found, keys});
  each(g.nodes, stream, "finding hubs", LongestRow{g.offsets, reinterpret_cast<Sum*>(found + keys + 1)});
  std::int64_t on_host[keys + 2] = {};
  copy_bytes(Device{}, on_host, device, found, sizeof on_host, stream);
  DecisionList list;
  list.nodes = nodes;
  for (int i = 0; i <= keys; ++i) list.starts[i] = on_host[i];
  list.longest = on_host[keys + 1];
  return list;
}

HubTables hub_tables(const DecisionList& list) {
  HubTables tables;
  if (list.longest == 0) return tables;
  tables.slots = std::int64_t{1} << bits_for(2 * list.longest - 1);
  std::int64_t most = 1;  // hubs of a bucket
  for (int b = 0; b < buckets; ++b) most = most < list.count(b, 3) ? list.count(b, 3) : most;
  const auto fit = static_cast<std::int64_t>(most_hub_bytes / HubTables::slot_bytes) / tables.slots;
  tables.tables = static_cast<int>(most < fit ? most : fit > 0 ? fit : 1);
  return tables;
}

void start_alone(Device device, CUstream_st* stream, std::int64_t nodes, const LevelState& s) {
  const OnDevice on(device.index);
  each(nodes, stream, "starting with every node on its own", StartAlone{s});
}

void move_bucket(Device device, CUstream_st* stream, const LevelGraph& g, const LevelState& s, const DecisionList& list,
                 int bucket, std::int32_t now, HubTables tables, void* memory, Sum* moved) {
  const OnDevice on(device.index);
  const auto nodes = [&](int size) { return list.nodes + list.first(bucket, size); };
  const auto count = [&](int size) { return list.count(bucket, size); };
  if (count(0) > 0)
    decide_by_warps<<<blocks_for(count(0) * 32), each_threads, 0, stream>>>(g, s, nodes(0), count(0), now);
  if (count(1) > 0) launch_blocks<small_threads, small_edges>(stream, g, s, nodes(1), count(1), now);
  if (count(2) > 0) launch_blocks<large_threads, large_edges>(stream, g, s, nodes(2), count(2), now);
  if (count(3) > 0)
    decide_hubs<<<static_cast<unsigned>(tables.tables), hub_threads, 0, stream>>>(
        g, s, nodes(3), count(3), now, static_cast<Sum*>(memory), tables.slots);
  const std::int64_t all = list.first(bucket + 1) - list.first(bucket);
  if (all > 0) move_nodes<<<blocks_for(all * 32), each_threads, 0, stream>>>(g, s, nodes(0), all, now, moved);
  check_status(cudaGetLastError(), "moving nodes between communities");
}

}  // namespace weft::louvain
