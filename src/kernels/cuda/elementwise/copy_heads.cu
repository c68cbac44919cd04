// Copies between tensors whose heads are of different widths.
#include "core/loops/cuda/each.cuh"
#include "core/pack.hpp"
#include "kernels/cuda/elementwise/elementwise.hpp"

namespace weft::cuda {
namespace {

/// `WholePacks`: heads of `out` are whole packs, at multiples of 16 bytes. `Element` has a storage type's size.
template <class Element, bool WholePacks>
struct CopyPack {
  static constexpr int count = 16 / sizeof(Element);
  const Element* from;
  Element* to;
  std::int64_t from_pitch, to_pitch;
  std::uint32_t from_width, to_width, packs_a_head, packs_a_row;

  __device__ void operator()(std::int64_t i) const {
    // A division of 64 bits takes a hundred instructions.
    const std::int64_t row =
        static_cast<std::uint64_t>(i) >> 32 == 0 ? static_cast<std::uint32_t>(i) / packs_a_row : i / packs_a_row;
    const auto in_row = static_cast<std::uint32_t>(i - row * packs_a_row);
    const std::uint32_t head = in_row / packs_a_head, first = (in_row - head * packs_a_head) * count;
    const Element* const x = from + row * from_pitch + head * from_width + first;
    Element* const out = to + row * to_pitch + head * to_width + first;
    Pack<Element, count> pack;
#pragma unroll
    for (int j = 0; j < count; ++j) pack.values[j] = first + j < from_width ? x[j] : Element{};
    if constexpr (WholePacks) {
      pack.store(out);
    } else {
#pragma unroll
      for (int j = 0; j < count; ++j)
        if (first + j < to_width) out[j] = pack.values[j];
    }
  }
};

template <class Element>
void launch(const CopyHeadsArgs& args, CUstream_st* stream) {
  const auto copy = [&](auto whole_packs) {
    using Copy = CopyPack<Element, decltype(whole_packs)::value>;
    const auto packs = static_cast<std::uint32_t>((args.to_width + Copy::count - 1) / Copy::count);
    const Copy body{static_cast<const Element*>(args.x.data),
                    static_cast<Element*>(args.out.data),
                    args.x.row_stride,
                    args.out.row_stride,
                    static_cast<std::uint32_t>(args.from_width),
                    static_cast<std::uint32_t>(args.to_width),
                    packs,
                    packs * static_cast<std::uint32_t>(args.heads)};
    each(args.rows * body.packs_a_row, stream, "copying heads of another width", body);
  };
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(Element));
  if (args.to_width * bytes % 16 == 0 && args.out.row_stride * bytes % 16 == 0 &&
      reinterpret_cast<std::uintptr_t>(args.out.data) % 16 == 0) {
    copy(std::true_type{});
  } else {
    copy(std::false_type{});
  }
}

}  // namespace

void copy_heads(const CopyHeadsArgs& args, Device device, CUstream_st* stream) {
  if (args.rows == 0 || args.to_width == 0) return;
  const OnDevice on(device.index);
  size_of(args.out.dtype) == 2 ? launch<std::uint16_t>(args, stream) : launch<std::uint32_t>(args, stream);
}

}  // namespace weft::cuda
