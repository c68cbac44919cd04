#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/cuda/edges.hpp"
#include "graph/order/cuda/loa.hpp"

namespace weft::cuda {
namespace {

constexpr int loa_threads = 256, loa_warps = loa_threads / 32;

/// Rows with ascending columns, columns with their rows, and the candidates in order of their smallest neighbour.
struct LoaGraph {
  const EdgeId *row_offsets, *col_offsets;
  const NodeId *cols, *rows_of_cols;
  const NodeId *nodes, *position;
  std::int64_t candidates;

  __device__ std::int64_t degree(NodeId v) const { return __ldg(row_offsets + v + 1) - __ldg(row_offsets + v); }
};

struct LoaShape {
  int window, look_ahead, range;
};

/// With which edges per column of the window become edges / columns.
struct Candidate {
  std::int64_t edges, columns;
  std::int64_t degree;
  int place;  // in the range; -1: none
};

/// As the host decides: more edges per column, then more edges, then the first.
__device__ __forceinline__ bool better(const Candidate& a, const Candidate& b) {
  if (a.place < 0 || b.place < 0) return a.place >= 0 && b.place < 0;
  const std::int64_t left = a.edges * b.columns, right = b.edges * a.columns;
  if (left != right) return left > right;
  if (a.degree != b.degree) return a.degree > b.degree;
  return a.place < b.place;
}

__device__ __forceinline__ Candidate best_of_warp(Candidate best) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) {
    const Candidate other{__shfl_xor_sync(~0u, best.edges, step), __shfl_xor_sync(~0u, best.columns, step),
                          __shfl_xor_sync(~0u, best.degree, step), __shfl_xor_sync(~0u, best.place, step)};
    if (better(other, best)) best = other;
  }
  return best;
}

/// A block and its window.
class Arranger {
 public:
  __device__ Arranger(const LoaGraph& g, const LoaShape& shape, unsigned* memory)
      : g_(g),
        shape_(shape),
        taken_(memory),
        shared_(reinterpret_cast<int*>(memory + shape.range / 32 + 1)),
        begin_(blockIdx.x * std::int64_t{shape.range}),
        count_(static_cast<int>(g.candidates - begin_ < shape.range ? g.candidates - begin_ : shape.range)) {}

  __device__ void arrange(NodeId* order) {
    for (int i = threadIdx.x; i <= shape_.range / 32; i += loa_threads) taken_[i] = 0;
    __syncthreads();
    int first = 0, next = 0;
    for (int done = 0; done < count_;) {
      first = next_free(first);
      start_window();
      next = first;
      for (int i = 0; i < shape_.window && done < count_; ++i, ++done) {
        if (i > 0) next = best(first);
        __syncthreads();
        const NodeId v = g_.nodes[begin_ + next];
        if (threadIdx.x == 0) {
          taken_[next / 32] |= 1u << next % 32;
          order[begin_ + done] = v;
          members()[i] = v;
        }
        __syncthreads();
        add_columns(v, i, first);
        __syncthreads();
      }
    }
  }

 private:
  // Of the block: edges and distinct columns of its window, and the rows in it.
  static __device__ unsigned long long* totals() {
    __shared__ unsigned long long values[2];
    return values;
  }
  static __device__ NodeId* members() {
    __shared__ NodeId values[32];
    return values;
  }

  __device__ bool taken(int place) const { return (taken_[place / 32] >> place % 32 & 1u) != 0; }
  __device__ int next_free(int from) const {
    while (taken(from)) ++from;
    return from;
  }

  __device__ void start_window() {
    for (int i = threadIdx.x; i < shape_.look_ahead; i += loa_threads) shared_[i] = 0;
    if (threadIdx.x < 2) totals()[threadIdx.x] = 0;
    __syncthreads();
  }

  __device__ int best(int first) const {
    Candidate found{0, 1, 0, -1};
    const auto edges = static_cast<std::int64_t>(totals()[0]), columns = static_cast<std::int64_t>(totals()[1]);
    const int last = first + 1 + shape_.look_ahead < count_ ? first + 1 + shape_.look_ahead : count_;
    for (int j = first + 1 + static_cast<int>(threadIdx.x); j < last; j += loa_threads) {
      if (taken(j)) continue;
      const std::int64_t degree = g_.degree(g_.nodes[begin_ + j]);
      const Candidate next{edges + degree, columns + degree - shared_[j - first - 1], degree, j};
      if (better(next, found)) found = next;
    }
    __shared__ Candidate of_warps[loa_warps];
    found = best_of_warp(found);
    if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = found;
    __syncthreads();
    found = of_warps[0];
    for (int warp = 1; warp < loa_warps; ++warp)
      if (better(of_warps[warp], found)) found = of_warps[warp];
    __syncthreads();
    return found.place >= 0 ? found.place : next_free(last);
  }

  /// A warp takes an edge: its lanes ask the rows before whether they have the column, then walk it.
  __device__ void add_columns(NodeId v, int before, int first) {
    const int lane = threadIdx.x % 32;
    const EdgeId begin = g_.row_offsets[v], end = g_.row_offsets[v + 1];
    if (threadIdx.x == 0) totals()[0] += static_cast<unsigned long long>(end - begin);
    for (EdgeId k = begin + threadIdx.x / 32; k < end; k += loa_warps) {
      const NodeId u = __ldg(g_.cols + k);
      bool seen = k > begin && __ldg(g_.cols + k - 1) == u;
      if (lane < before) {
        const NodeId w = members()[lane];
        seen = seen || has(w, u);
      }
      if (__any_sync(~0u, seen)) continue;
      if (lane == 0) atomicAdd(totals() + 1, 1ull);
      for (EdgeId r = __ldg(g_.col_offsets + u) + lane; r < __ldg(g_.col_offsets + u + 1); r += 32) {
        const std::int64_t ahead = __ldg(g_.position + __ldg(g_.rows_of_cols + r)) - begin_ - first - 1;
        if (ahead >= 0 && ahead < shape_.look_ahead) atomicAdd(shared_ + ahead, 1);
      }
    }
  }

  __device__ bool has(NodeId row, NodeId col) const {
    EdgeId begin = __ldg(g_.row_offsets + row);
    const EdgeId last = __ldg(g_.row_offsets + row + 1);
    EdgeId end = last;
    while (begin < end) {
      const EdgeId middle = (begin + end) / 2;
      if (__ldg(g_.cols + middle) < col) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    return begin < last && __ldg(g_.cols + begin) == col;
  }

  const LoaGraph& g_;
  const LoaShape& shape_;
  unsigned* taken_;  // a bit for every candidate of the range
  int* shared_;      // [look_ahead] edges of a candidate to columns of the window
  std::int64_t begin_;
  int count_;
};

__global__ void __launch_bounds__(loa_threads) arrange_range(LoaGraph g, LoaShape shape, NodeId* order) {
  extern __shared__ unsigned memory[];
  Arranger(g, shape, memory).arrange(order);
}

struct SmallestNeighbour {
  const EdgeId* offsets;
  const NodeId* cols;
  std::uint32_t none;
  std::uint32_t* smallest;
  __device__ void operator()(std::int64_t v) const {
    smallest[v] = offsets[v] < offsets[v + 1] ? static_cast<std::uint32_t>(cols[offsets[v]]) : none;
  }
};

struct PositionOf {
  const NodeId* nodes;
  NodeId* position;
  __device__ void operator()(std::int64_t i) const { position[nodes[i]] = static_cast<NodeId>(i); }
};

}  // namespace

DeviceBuffer arrange_by_ranges(Device device, CUstream_st* stream, const GraphView& graph, const LoaOptions& options) {
  const OnDevice on(device.index);
  const std::int64_t n = graph.num_rows;
  const auto count = static_cast<std::size_t>(n);
  const EdgeBuffers columns = reverse_edges(device, stream, graph, false);
  GraphView turned{graph.num_cols, graph.num_rows, graph.num_edges};
  turned.offsets = as<EdgeId>(columns.offsets);
  turned.rows = as<NodeId>(columns.rows);
  turned.cols = as<NodeId>(columns.cols);
  const EdgeBuffers rows = reverse_edges(device, stream, turned, false);  // the graph again, its columns ascending
  const auto buffer = [&] { return DeviceBuffer(device, stream, count * sizeof(NodeId), "candidates of windows"); };
  const DeviceBuffer smallest = buffer(), sorted = buffer(), numbers = buffer(), nodes = buffer(), position = buffer();
  each(n, stream, "finding the smallest neighbours",
       SmallestNeighbour{as<EdgeId>(rows.offsets), as<NodeId>(rows.cols), static_cast<std::uint32_t>(graph.num_cols),
                         as<std::uint32_t>(smallest)});
  count_up(device, stream, "numbering nodes", as<NodeId>(numbers), n);
  sort_pairs(device, stream, "sorting nodes by their smallest neighbour",
             SortedPairs<std::uint32_t, std::int32_t>{as<std::uint32_t>(smallest), as<NodeId>(numbers),
                                                      as<std::uint32_t>(sorted), as<NodeId>(nodes), n,
                                                      bits_for(graph.num_cols)});
  each(n, stream, "placing candidates", PositionOf{as<NodeId>(nodes), as<NodeId>(position)});
  const std::int64_t candidates = n - row_extremes(device, stream, as<EdgeId>(rows.offsets), n).empty;
  const LoaGraph g{as<EdgeId>(rows.offsets),
                   as<EdgeId>(columns.offsets),
                   as<NodeId>(rows.cols),
                   as<NodeId>(columns.cols),
                   as<NodeId>(nodes),
                   as<NodeId>(position),
                   candidates};
  const LoaShape shape{static_cast<int>(options.window), static_cast<int>(options.look_ahead),
                       static_cast<int>(options.range)};
  DeviceBuffer arranged(device, stream, count * sizeof(NodeId), "an order of nodes");
  copy_bytes(device, arranged.data(), device, nodes.data(), count * sizeof(NodeId), stream);
  const std::int64_t ranges = (candidates + options.range - 1) / options.range;
  const std::size_t bytes = static_cast<std::size_t>(shape.range / 32 + 1 + shape.look_ahead) * sizeof(unsigned);
  if (ranges > 0)
    arrange_range<<<static_cast<unsigned>(ranges), loa_threads, bytes, stream>>>(g, shape, as<NodeId>(arranged));
  check_status(cudaGetLastError(), "arranging rows in windows");
  return arranged;
}

}  // namespace weft::cuda
