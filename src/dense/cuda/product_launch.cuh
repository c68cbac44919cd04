// Launches of the product's kernel, for whatever its rows come from.
#pragma once

#include "core/cuda/status.hpp"
#include "core/device.hpp"
#include "dense/cuda/product_kernel.cuh"

namespace weft::dense::cuda {

/// A kernel: where rows come from, pairs of tiles of 8 columns, blocks of 16 rows per warp, warps per block, and how
/// far ahead rows are asked for.
template <template <class, int, int, int, int> class Feed, int Pairs, int Blocks, int Warps, int Stages>
struct ProductKind {
  template <class T>
  using Source = typename RowsOf<Feed, T, Pairs, Blocks, Warps, Stages>::Source;

  template <class T>
  static int shared_bytes(const ProductArgs& args) {
    constexpr int bias = 16 * Pairs * static_cast<int>(sizeof(float));
    return bias + RowsOf<Feed, T, Pairs, Blocks, Warps, Stages>::bytes +
           chunk_bytes<T, Pairs> * pieces(args.k, group_columns<T>);
  }
  template <class T>
  static void launch(const ProductArgs& args, const Source<T>& source, Device device, CUstream_st* stream) {
    using weft::cuda::check_status;
    constexpr auto* kernel = product_kernel<Feed, T, Pairs, Blocks, Warps, Stages>;
    check_status(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, max_shared),
                 "asking for shared memory");
    const ProductShape shape{pieces(args.k, group_columns<T>), pieces(args.m, 16 * Blocks)};
    const int across = pieces(args.n, 16 * Pairs), fill = cuda_device(device.index).multiprocessors / across;
    const dim3 grid(shape.tiles < fill ? shape.tiles : fill, across);
    kernel<<<grid, Warps * lanes, shared_bytes<T>(args), stream>>>(args, shape, source);
    check_status(cudaGetLastError(), "multiplying matrices");
  }
};

}  // namespace weft::dense::cuda
