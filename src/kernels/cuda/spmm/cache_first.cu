#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/spmm/cache_first.hpp"

namespace weft::cuda {
namespace {

constexpr int cache_first_threads = 512;  // a block's, in the paper

struct CachedEdge {
  NodeId col;
  float value;
};

/// Groups of `group_threads` have a row each, and room for `width` edges of it.
template <class Storage>
__global__ void __launch_bounds__(cache_first_threads)
    sum_cache_first(const GatherArgs<Weighted<Storage>> args, const SampledPlaces sample, int group_threads,
                    int width) {
  extern __shared__ CachedEdge cached_edges[];
  const EdgeSplit& split = args.split;
  const int group = threadIdx.x / group_threads, thread = threadIdx.x % group_threads;
  const std::int64_t row = blockIdx.x * std::int64_t{cache_first_threads / group_threads} + group;
  CachedEdge* const edges = cached_edges + group * width;
  int kept = 0;
  if (row < split.graph.num_rows) {
    const EdgeId begin = __ldg(split.graph.offsets + row);
    kept = static_cast<int>(__ldg(split.graph.offsets + row + 1) - begin);
    for (int i = thread; i < kept; i += group_threads) {
      const EdgeId place = sample.of(row, begin + i, begin);
      edges[i].col = __ldg(split.graph.cols + place);
      edges[i].value =
          args.message.edge.data != nullptr ? args.message.edge[split.id_of(place) * args.message.edge_pitch] : 1.0f;
    }
  }
  __syncthreads();
  if (row >= split.graph.num_rows) return;
  for (int f = thread; f < args.features; f += group_threads) {
    // In short chains, which the paper does not have: its long ones would miss the error bound.
    RowAccumulator<Reduction::sum, float, 1> row_sum;
    row_sum.clear();
    for (int i = 0; i < kept; ++i) {
      const Storage* const source = row_at(args.x + f, static_cast<std::uint32_t>(edges[i].col), args.x_pitch_bytes);
      row_sum.fold(0, edges[i].value * widen(load_element(source)), 0);
      if (i % 8 == 7) row_sum.settle();
    }
    row_sum.settle();
    const float sum[1] = {row_sum.value(0)};
    apply_epilogue<1>(args.epilogue, row, kept, f, sum);
  }
}

}  // namespace

template <class Storage>
void launch_cache_first(const GatherArgs<Weighted<Storage>>& args, const SampledPlaces& sample, CUstream_st* stream) {
  const GraphView& space = args.split.graph;
  // Up to 128 threads per row, so that one step loads a large sample.
  const int group_threads = args.features > 64 ? 128 : args.features > 32 ? 64 : 32;
  const int groups = cache_first_threads / group_threads;
  const auto kernel = sum_cache_first<Storage>;
  const std::size_t bytes = allow_shared(reinterpret_cast<const void*>(kernel),
                                         groups * space.longest_row * static_cast<std::int64_t>(sizeof(CachedEdge)));
  const auto width = static_cast<int>(space.longest_row);  // fits, where its bytes do
  const std::int64_t blocks = (space.num_rows + groups - 1) / groups;
  kernel<<<static_cast<unsigned>(blocks), cache_first_threads, bytes, stream>>>(args, sample, group_threads, width);
  check_launch("spmm by ES-SpMM's kernel", space.num_rows, space.num_edges, args.features);
}

template void launch_cache_first(const GatherArgs<Weighted<float>>&, const SampledPlaces&, CUstream_st*);
template void launch_cache_first(const GatherArgs<Weighted<Half>>&, const SampledPlaces&, CUstream_st*);
template void launch_cache_first(const GatherArgs<Weighted<BFloat16>>&, const SampledPlaces&, CUstream_st*);

}  // namespace weft::cuda
