#include "dense/cuda/neighbour_feed.cuh"
#include "dense/cuda/product_launch.cuh"

namespace weft::dense::cuda {
namespace {

/// One block of rows per warp: all columns are one block's, as rows would be summed again for others.
template <int Pairs, int Warps, int Stages>
using Kind = ProductKind<NeighbourFeed, Pairs, 1, Warps, Stages>;

/// f(kind) for the kernel of so many columns: as many warps as there are registers for, and shared memory beside
/// weights, which in f32 are two tf32 each.
template <class T, class F>
auto with_kind(std::int64_t columns, const F& f) {
  if (columns <= 32) return f(Kind<2, 16, 2>{});
  if (columns <= 64) return f(Kind<4, 16, 2>{});
  return f(Kind < 8, sizeof(T) == 2 ? 12 : 8, 2 > {});
}

template <class T>
void launch(const ProductArgs& args, const NeighbourRows& rows, Device device, CUstream_st* stream) {
  with_kind<T>(args.n, [&](auto kind) { kind.template launch<T>(args, rows, device, stream); });
}

}  // namespace

bool makes_rows(const ProductArgs& args, Device device) {
  constexpr std::int64_t widest = 128;
  if (!supported(args, device) || args.n > widest || args.k > widest) return false;
  const auto bytes = [&](auto tag) {
    using T = typename decltype(tag)::type;
    return with_kind<T>(args.n, [&](auto kind) { return kind.template shared_bytes<T>(args); });
  };
  return (args.dtype == Dtype::f32 ? bytes(TypeTag<float>{}) : bytes(TypeTag<Half>{})) <= max_shared;
}

void run(const ProductArgs& args, const NeighbourRows& rows, Device device, CUstream_st* stream) {
  if (args.m == 0 || args.n == 0) return;
  const weft::cuda::OnDevice on(device.index);
  switch (args.dtype) {
    case Dtype::f16: return launch<Half>(args, rows, device, stream);
    case Dtype::bf16: return launch<BFloat16>(args, rows, device, stream);
    default: return launch<float>(args, rows, device, stream);
  }
}

}  // namespace weft::dense::cuda
