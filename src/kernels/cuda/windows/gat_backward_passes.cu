// What surrounds the windows of GAT's backward: terms of destinations in front of them, and behind them the sums of
// what a destination's tiles have for its part of the scores.
#include "core/loops/cuda/each.cuh"
#include "core/storage.hpp"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/primitives/reduce.cuh"
#include "kernels/cuda/windows/gat_backward.hpp"

namespace weft::cuda {
namespace {

struct ColumnTermsOf {
  const DestinationTerms<float>* from;
  ColumnTerms* to;
  __device__ void operator()(std::int64_t i) const {
    const DestinationTerms<float> row = from[i];
    to[i] = {row.dst * per_ln2, row.reference * per_ln2, row.share * weight_unit, row.mean};
  }
};

/// Threads of a column and head, of which each takes every so manieth of its tiles.
constexpr int column_lanes = 8;

template <class Storage>
__global__ void __launch_bounds__(each_threads)
    add_columns(const ColumnGradients args, Storage* to, std::int64_t pitch) {
  const std::int64_t items = args.columns * args.heads;
  const int lane = threadIdx.x % column_lanes;
  // Lanes of a warp make the same steps, so that shuffles meet.
  for (std::int64_t base = first_item() / 32 * 32 / column_lanes; base < items; base += item_stride() / column_lanes) {
    const std::int64_t item = base + threadIdx.x % 32 / column_lanes;
    const bool there = item < items;
    const std::int64_t column = there ? item / args.heads : 0;
    const int head = there ? static_cast<int>(item - column * args.heads) : 0;
    const std::uint32_t begin = there ? __ldg(args.places.starts + column) : 0,
                        end = there ? __ldg(args.places.starts + column + 1) : 0;
    const float* const sums = args.column_sums + head * args.tiles * window_step;
    float near = 0, far = 0;
    for (std::uint32_t k = begin + lane; k < end; k += column_lanes) {
      near += __ldg(sums + __ldg(args.places.places + k));
      if (!settle(far, near)) drop_rest(near);
    }
    far += near;
#pragma unroll
    for (int step = column_lanes / 2; step > 0; step /= 2) far += __shfl_xor_sync(~0u, far, step);
    if (!there || lane != 0) continue;
    far *= 1 / weight_unit;
    if (args.residual != nullptr) far += args.residual[item];
    to[column * pitch + head] = narrow<Storage>(far);
  }
}

}  // namespace

void find_column_terms(const DestinationTerms<float>* destinations, std::int64_t count, ColumnTerms* to,
                       CUstream_st* stream) {
  each(count, stream, "terms of destinations", ColumnTermsOf{destinations, to});
}

template <class Storage>
void add_column_gradients(const ColumnGradients& args, Storage* to, std::int64_t pitch, CUstream_st* stream) {
  if (args.columns * args.heads == 0) return;
  add_columns<<<blocks_for(args.columns * args.heads * column_lanes), each_threads, 0, stream>>>(args, to, pitch);
  check_launch("attention's gradients of destinations", args.columns, 0, args.heads);
}

template void add_column_gradients(const ColumnGradients&, Half*, std::int64_t, CUstream_st*);
template void add_column_gradients(const ColumnGradients&, BFloat16*, std::int64_t, CUstream_st*);

}  // namespace weft::cuda
