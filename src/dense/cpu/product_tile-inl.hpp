// The inner loop of a product: a tile of c in registers, a's elements broadcast from where they stand, b's from vectors
// packed side by side.
#if defined(WEFT_DENSE_CPU_PRODUCT_TILE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_DENSE_CPU_PRODUCT_TILE_INL
#undef WEFT_DENSE_CPU_PRODUCT_TILE_INL
#else
#define WEFT_DENSE_CPU_PRODUCT_TILE_INL
#endif

#include "dense/cpu/product_cut.hpp"
#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::dense::cpu::HWY_NAMESPACE {

using namespace weft::cpu::HWY_NAMESPACE;  // vectors

// Two vectors wide; with 32 registers 24 of them hold sums, with 16 registers 12.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
inline constexpr int full_tile = 6;
#else
inline constexpr int full_tile = 12;
#endif
inline constexpr int small_tile = full_tile / 3;
inline constexpr int tile_vectors = 2;

/// Rows of a where they stand, or copied so: element (i, k) at data[i * stride + k].
template <class Acc>
struct RowsOfA {
  const Acc* data;
  std::int64_t stride;

  HWY_INLINE RowsOfA from_row(std::int64_t row) const { return {data + row * stride, stride}; }
  HWY_INLINE std::int64_t to_row() const { return stride; }
  static HWY_INLINE std::int64_t to_term() { return 1; }
};

/// Columns of a copied into tiles, `stride` elements from one to the next: element (i, k) of a tile at
/// data[k * full_tile + i].
template <class Acc>
struct TilesOfA {
  const Acc* data;
  std::int64_t stride;

  HWY_INLINE TilesOfA from_row(std::int64_t row) const {
    return {data + row / full_tile * stride + row % full_tile, stride};
  }
  static HWY_INLINE std::int64_t to_row() { return 1; }
  static HWY_INLINE std::int64_t to_term() { return full_tile; }
};

/// Where a tile's sums go. `columns` of the last vector are c's.
template <class Acc>
struct TileOut {
  Acc* data;
  std::int64_t ld, columns;
  bool adds;
};

template <class D, class Acc>
HWY_INLINE void put_vector(D d, hn::Vec<D> sum, Acc* to, std::int64_t columns, bool adds) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (columns >= lanes) {
    hn::StoreU(adds ? hn::Add(hn::LoadU(d, to), sum) : sum, d, to);
    return;
  }
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2  // elsewhere a masked store writes the other lanes, too
  const auto own = hn::FirstN(d, static_cast<std::size_t>(columns));
  hn::BlendedStore(adds ? hn::Add(hn::MaskedLoad(own, d, to), sum) : sum, own, d, to);
#else
  HWY_ALIGN Acc lane[HWY_MAX_BYTES / sizeof(Acc)];
  hn::Store(sum, d, lane);
  for (std::int64_t i = 0; i < columns; ++i) to[i] = adds ? to[i] + lane[i] : lane[i];
#endif
}

/// Rows tiles [Rows, Vectors * lanes] of c = or += a's rows times the packed vectors, over `terms` terms in order.
template <int Rows, int Vectors, class Block, class Acc>
HWY_NOINLINE void multiply_tile(Block a, const Acc* HWY_RESTRICT b, std::int64_t terms, const TileOut<Acc>& out) {
  constexpr FullTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  hn::Vec<FullTag<Acc>> sum[Rows][Vectors];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sum[r][v] = hn::Zero(d);
  // Rows in threes from one pointer: a stride and twice that are addresses an instruction can form.
  constexpr int pointers = (Rows + 2) / 3;
  const Acc* at[pointers];
#pragma GCC unroll 4
  for (int p = 0; p < pointers; ++p) at[p] = a.data + 3 * p * a.to_row();
  const std::int64_t to_row = a.to_row(), to_term = a.to_term();
  for (std::int64_t k = 0; k < terms; ++k) {
    hn::Vec<FullTag<Acc>> columns[Vectors];
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) columns[v] = hn::LoadU(d, b + v * lanes);
    b += Vectors * lanes;
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      const auto element = hn::Set(d, at[r / 3][r % 3 * to_row]);
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) sum[r][v] = hn::MulAdd(element, columns[v], sum[r][v]);
    }
#pragma GCC unroll 4
    for (int p = 0; p < pointers; ++p) at[p] += to_term;
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    Acc* const to = out.data + r * out.ld;
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v)
      put_vector(d, sum[r][v], to + v * lanes, v + 1 < Vectors ? lanes : out.columns, out.adds);
  }
}

/// All rows of a block times one panel of b.
template <int Vectors, class Block, class Acc>
HWY_INLINE void multiply_panel(Block a, std::int64_t rows, const Acc* b, std::int64_t terms, const TileOut<Acc>& out) {
  std::int64_t row = 0;
  const auto tiles = [&](auto size) HWY_ATTR {
    constexpr int tile = decltype(size)::value;
    for (; row + tile <= rows; row += tile)
      multiply_tile<tile, Vectors>(a.from_row(row), b, terms,
                                   TileOut<Acc>{out.data + row * out.ld, out.ld, out.columns, out.adds});
  };
  tiles(std::integral_constant<int, full_tile>{});
  tiles(std::integral_constant<int, small_tile>{});
  tiles(std::integral_constant<int, 1>{});
}

}  // namespace weft::dense::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
