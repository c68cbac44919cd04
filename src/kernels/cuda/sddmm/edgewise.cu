#include <algorithm>

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/primitives/store_pack.cuh"
#include "kernels/cuda/sddmm/sddmm_args.hpp"
#include "kernels/semantics.hpp"
#include "plan/built_kernels.hpp"
#include "plan/gather_shape.hpp"

namespace weft::cuda {
namespace {

/// `Count` elements of an operand from `feature` on, for one edge and head.
template <int Count, class Storage>
__device__ __forceinline__ Pack<Storage, Count> operand_at(const EdgeOperand<Storage>& o, std::int64_t u,
                                                           std::int64_t v, EdgeId e, int head, int feature) {
  if (o.data == nullptr) return Pack<Storage, Count>::all(Storage{});
  const std::int64_t row = o.target == Target::u ? u : o.target == Target::v ? v : e;
  const Storage* at = o.data + row * o.pitch + head * o.head;
  return o.vector ? Pack<Storage, Count>::load(at + feature) : Pack<Storage, Count>::all(load_element(at));
}

/// Every operator but dot: lanes along the features of an edge, 2^shift of them, so that results are written side by
/// side.
template <class Storage, int Count>
__global__ void __launch_bounds__(block_threads) map_edges(const EdgewiseArgs<Storage> args, int shift) {
  using Acc = AccumulatorOf<Storage>;
  const GraphView& g = args.graph;
  const int lanes = 1 << shift, packs = args.heads * args.width / Count;
  const std::int64_t step = std::int64_t{gridDim.x} * (block_threads >> shift);
  for (std::int64_t k = blockIdx.x * std::int64_t{block_threads >> shift} + (threadIdx.x >> shift); k < g.num_edges;
       k += step) {
    const std::int64_t u = __ldg(g.cols + k), v = __ldg(g.rows + k);
    const EdgeId e = g.edge_ids != nullptr ? __ldg(g.edge_ids + k) : k;
    for (int p = threadIdx.x & (lanes - 1); p < packs; p += lanes) {
      const int head = p * Count / args.width, feature = p * Count - head * args.width;
      const auto a = operand_at<Count>(args.lhs, u, v, e, head, feature);
      const auto b = operand_at<Count>(args.rhs, u, v, e, head, feature);
      Acc result[Count];
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        const Acc left = widen(a.values[i]), right = widen(b.values[i]);
        result[i] =
            semantics::with_meaning(args.op, [&](auto meaning) { return decltype(meaning)::Value::of(left, right); });
      }
      store_pack<Count>(args.out, args.wide, result, [&](auto* out) { return out + e * args.out_pitch + p * Count; });
    }
  }
}

/// Dot products whose operands are not the two ends of an edge, or are one value for all features: a warp a result.
template <class Storage>
__global__ void __launch_bounds__(block_threads) dot_any(const EdgewiseArgs<Storage> args) {
  using Acc = AccumulatorOf<Storage>;
  constexpr int warp = 32, warps = block_threads / warp;
  const GraphView& g = args.graph;
  const std::int64_t results = g.num_edges * args.heads;
  for (std::int64_t r = blockIdx.x * std::int64_t{warps} + threadIdx.x / warp; r < results;
       r += std::int64_t{gridDim.x} * warps) {
    const std::int64_t k = r / args.heads;
    const int head = static_cast<int>(r - k * args.heads);
    const std::int64_t u = __ldg(g.cols + k), v = __ldg(g.rows + k);
    const EdgeId e = g.edge_ids != nullptr ? __ldg(g.edge_ids + k) : k;
    Acc sum = 0;
    for (int f = threadIdx.x % warp; f < args.width; f += warp)
      sum += widen(operand_at<1>(args.lhs, u, v, e, head, f).values[0]) *
             widen(operand_at<1>(args.rhs, u, v, e, head, f).values[0]);
#pragma unroll
    for (int step = warp / 2; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (threadIdx.x % warp == 0) store_once(args.out, args.wide, e * args.out_pitch + head, sum);
  }
}

unsigned blocks_for(std::int64_t items, std::int64_t a_block) {
  constexpr std::int64_t most = 132 * 32;  // a large GPU is full several times over
  return static_cast<unsigned>(std::clamp<std::int64_t>((items + a_block - 1) / a_block, 1, most));
}

template <class Storage, int Count>
void launch_map(const EdgewiseArgs<Storage>& args, cudaStream_t stream) {
  int shift = 0;
  while (shift < 5 && (Count << shift) < args.heads * args.width) ++shift;
  map_edges<Storage, Count>
      <<<blocks_for(args.graph.num_edges, block_threads >> shift), block_threads, 0, stream>>>(args, shift);
}

template <class Storage>
void launch_maps(const EdgewiseArgs<Storage>& args, int vector, cudaStream_t stream) {
  constexpr int most = StorageTraits<Storage>::widest_load;
  if (vector == most) return launch_map<Storage, most>(args, stream);
  if constexpr (most > 4)
    if (vector == 4) return launch_map<Storage, 4>(args, stream);
  if (vector == 2) return launch_map<Storage, 2>(args, stream);
  launch_map<Storage, 1>(args, stream);
}

}  // namespace

template <class Storage>
void launch_edgewise(const EdgewiseArgs<Storage>& args, int vector, CUstream_st* stream) {
  if (args.op == SddmmOp::dot) {
    dot_any<Storage><<<blocks_for(args.graph.num_edges * args.heads, 8), block_threads, 0, stream>>>(args);
  } else {
    launch_maps(args, vector, stream);
  }
  check_launch("sddmm", args.graph.num_rows, args.graph.num_edges, std::int64_t{args.heads} * args.width);
}

#define WEFT_LAUNCH(STORAGE) template void launch_edgewise<STORAGE>(const EdgewiseArgs<STORAGE>&, int, CUstream_st*);
WEFT_FOR_STORAGES(WEFT_LAUNCH)

}  // namespace weft::cuda
