#include "dense/cuda/product_launch.cuh"
#include "dense/cuda/stored_feed.cuh"

namespace weft::dense::cuda {
namespace {

/// A kernel whose rows stand in memory.
template <int Pairs, int Blocks, int Warps>
using Kind = ProductKind<StoredFeed, Pairs, Blocks, Warps, 4>;

// Which kernel, by times on an H200 with 169,343 and 2.4 million rows (beside cublasLt:
// bench/records/h200/dense-products.json). Columns that are not there cost as much as others, so few have kernels of
// their own. From 128 x 64 weights on f32 waits for tensor cores.
void launch_f32(const ProductArgs& args, Device device, CUstream_st* stream) {
  if (args.n <= 16) return Kind<1, 2, 12>::launch<float>(args, {}, device, stream);
  if (args.n <= 32) return Kind<2, 2, 12>::launch<float>(args, {}, device, stream);
  if (args.n <= 48) return Kind<3, 2, 12>::launch<float>(args, {}, device, stream);
  // 128 columns per warp read a only once, but a tile of rows alone takes 15 us: where there are few, the last take
  // long.
  using Wide = Kind<8, 2, 8>;
  constexpr std::int64_t many_rows = 1 << 20;
  if (args.n > 64 && args.m > many_rows && Wide::shared_bytes<float>(args) <= max_shared)
    return Wide::launch<float>(args, {}, device, stream);
  // Few columns of a keep 8 warps busier than 12, many do not.
  args.k <= 64 ? Kind<4, 2, 8>::launch<float>(args, {}, device, stream)
               : Kind<4, 2, 12>::launch<float>(args, {}, device, stream);
}

template <class T>
void launch_halves(const ProductArgs& args, Device device, CUstream_st* stream) {
  if (args.n <= 32) return Kind<2, 2, 12>::launch<T>(args, {}, device, stream);
  if (args.n <= 64) return Kind<4, 2, 12>::launch<T>(args, {}, device, stream);
  Kind<8, 1, 16>::launch<T>(args, {}, device, stream);
}

}  // namespace

void run(const ProductArgs& args, Device device, CUstream_st* stream) {
  if (args.m == 0 || args.n == 0) return;
  const weft::cuda::OnDevice on(device.index);
  switch (args.dtype) {
    case Dtype::f16: return launch_halves<Half>(args, device, stream);
    case Dtype::bf16: return launch_halves<BFloat16>(args, device, stream);
    default: return launch_f32(args, device, stream);
  }
}

bool supported(const ProductArgs& args, Device device) {
  const bool wide = args.c_dtype == Dtype::f32;
  return is_narrow(args.dtype, args.m, args.n, args.k, device) && (wide || args.c_dtype == args.dtype) &&
         is_aligned(args.a) && is_aligned(args.c) && is_aligned(args.epilogue.gate);
}

}  // namespace weft::dense::cuda
