#include "core/loops/cuda/each.cuh"
#include "core/pack.hpp"
#include "kernels/cuda/attention/destinations.hpp"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/primitives/reduce.cuh"
#include "plan/built_kernels.hpp"

namespace weft::cuda {
namespace {

/// A group of `Lanes` for every row and head, each of which takes `Each` features at a time. `Out`: what the forward
/// wrote.
template <class Storage, class Out, int Lanes, int Each>
__global__ void __launch_bounds__(each_threads) destination_terms(const AttentionArgs forward, const Operand out_grad,
                                                                  DestinationTerms<AccumulatorOf<Storage>>* to) {
  using Acc = AccumulatorOf<Storage>;
  const std::int64_t items = forward.graph.num_rows * forward.heads;
  const int lane = threadIdx.x % Lanes;
  // Lanes of a warp make the same steps, so that shuffles meet.
  for (std::int64_t base = first_item() / 32 * 32 / Lanes; base < items; base += item_stride() / Lanes) {
    const std::int64_t item = base + threadIdx.x % 32 / Lanes;
    const bool there = item < items;
    // (A division of 64 bits takes a hundred instructions.)
    const std::int64_t row = !there ? 0
                             : items >> 32 == 0
                                 ? static_cast<std::uint32_t>(item) / static_cast<std::uint32_t>(forward.heads)
                                 : item / forward.heads;
    const std::int64_t head = there ? item - row * forward.heads : 0;
    const Storage* const grad =
        static_cast<const Storage*>(out_grad.data) + row * out_grad.row_stride + head * out_grad.head_stride;
    const Out* const out =
        static_cast<const Out*>(forward.out.data) + row * forward.out.row_stride + head * forward.width;
    // Before the product, so that all is under way at once.
    Acc total = 0, reference = 0, mine = 0;
    if (there && lane == 0) {
      total = static_cast<const Acc*>(forward.row_sum.data)[row * forward.row_sum.row_stride + head];
      reference = static_cast<const Acc*>(forward.row_max.data)[row * forward.row_max.row_stride + head];
      mine = widen(
          static_cast<const Storage*>(forward.dst.data)[row * forward.dst.row_stride + head * forward.dst.head_stride]);
    }
    Acc sum[1] = {};
    if (there) {
#pragma unroll 2
      for (std::int64_t f = lane * Each; f < forward.width; f += Lanes * Each) {
        const auto grads = Pack<Storage, Each>::load(grad + f);
        const auto outs = Pack<Out, Each>::load(out + f);
#pragma unroll
        for (int i = 0; i < Each; ++i) sum[0] += widen(grads.values[i]) * widen(outs.values[i]);
      }
    }
    sum_over_lanes<Lanes>(sum, lane);
    // Of a row that is masked as a whole every weight is 0.
    if (there && lane == 0) to[item] = {mine, total == 0 ? Acc(0) : reference, total == 0 ? Acc(0) : 1 / total, sum[0]};
  }
}

template <class Storage, class Out>
void launch(const AttentionArgs& forward, const Operand& out_grad, DestinationTerms<AccumulatorOf<Storage>>* to,
            CUstream_st* stream) {
  const std::int64_t items = forward.graph.num_rows * forward.heads;
  const auto launch_with = [&]<int Lanes, int Each>() {
    destination_terms<Storage, Out, Lanes, Each>
        <<<blocks_for(items * Lanes), each_threads, 0, stream>>>(forward, out_grad, to);
    check_launch("the rows of attention's gradients", forward.graph.num_rows, forward.graph.num_edges, forward.heads);
  };
  constexpr int each = StorageTraits<Storage>::widest_load;
  const auto in_packs = [](const void* data, std::int64_t stride) {
    return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % each == 0;
  };
  const bool packed = forward.width % each == 0 && out_grad.head_stride % each == 0 &&
                      in_packs(out_grad.data, out_grad.row_stride) &&
                      in_packs(forward.out.data, forward.out.row_stride);
  // What lanes do beside their part of the product is the same for few features and for many.
  if (!packed)
    return forward.width <= 16 ? launch_with.template operator()<4, 1>() : launch_with.template operator()<16, 1>();
  if (forward.width <= 4 * each) return launch_with.template operator()<4, each>();
  forward.width <= 16 * each ? launch_with.template operator()<8, each>() : launch_with.template operator()<16, each>();
}

}  // namespace

template <class Storage>
void find_destination_terms(const AttentionArgs& forward, const Operand& out_grad,
                            DestinationTerms<AccumulatorOf<Storage>>* to, CUstream_st* stream) {
  if (forward.graph.num_rows * forward.heads == 0) return;
  is_wide<Storage>(forward.out.dtype) ? launch<Storage, AccumulatorOf<Storage>>(forward, out_grad, to, stream)
                                      : launch<Storage, Storage>(forward, out_grad, to, stream);
}

#define WEFT_FIND(STORAGE)                                                            \
  template void find_destination_terms<STORAGE>(const AttentionArgs&, const Operand&, \
                                                DestinationTerms<AccumulatorOf<STORAGE>>*, CUstream_st*);
WEFT_FOR_STORAGES(WEFT_FIND)

}  // namespace weft::cuda
