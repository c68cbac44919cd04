// Tasks of a product: rows of c, or partial sums of them where c is small and the sums are long.
#if defined(WEFT_DENSE_CPU_PRODUCT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_DENSE_CPU_PRODUCT_INL
#undef WEFT_DENSE_CPU_PRODUCT_INL
#else
#define WEFT_DENSE_CPU_PRODUCT_INL
#endif

#include "core/parallel.hpp"
#include "dense/cpu/product_tile-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::dense::cpu::HWY_NAMESPACE {

/// A range of rows or terms.
struct Stretch {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

template <class From, class To>
HWY_INLINE void convert_row(const From* from, To* to, std::int64_t count) {
  using Acc = AccumulatorOf<From>;
  for_each_element_block<Acc>(count,
                              [&](auto d, std::int64_t i) HWY_ATTR { store_as(d, load_as(d, from + i), to + i); });
}

/// The first `count` elements, zeros behind them.
template <class D, class Storage>
HWY_INLINE hn::Vec<D> load_first(D d, const Storage* from, std::int64_t count) {
  using Acc = AccumulatorOf<Storage>;
  if (count >= static_cast<std::int64_t>(hn::Lanes(d))) return load_as(d, from);
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2  // elsewhere masked lanes are read, too
  if constexpr (std::is_same_v<Storage, Acc>)
    return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(std::max<std::int64_t>(count, 0))), d, from);
#endif
  HWY_ALIGN Acc lane[HWY_MAX_BYTES / sizeof(Acc)] = {};
  for (std::int64_t i = 0; i < count; ++i) lane[i] = static_cast<Acc>(from[i]);
  return hn::Load(d, lane);
}

/// Where a's rows come from: from memory, and what becomes of c's is nothing.
struct StoredRows {
  static constexpr bool makes = false, may_finish = false;
  static constexpr bool finishes() { return false; }
};

/// `Rows` is StoredRows, or makes blocks of a: make(rows, to, stride, thread); or has something to do with c's rows
/// before they are rounded, if it finishes(): finish(row, sums, to).
template <class Storage, class Out, class Rows = StoredRows>
class Product {
  using Acc = AccumulatorOf<Storage>;

 public:
  Product(const ProductArgs& args, Arena arena, const Rows& rows = {})
      : args_(args), cut_(args), scratch_(ProductScratch<Acc>::take(arena, args, cut_)), rows_(rows) {}

  void run() {
    if (cut_.parts == 1) {
      pack_all();
      parallel_tasks(args_.threads, cut_.blocks, [&](std::int64_t task, int thread) { rows_of_c(task, thread); });
      return;
    }
    parallel_tasks(args_.threads, cut_.blocks * cut_.parts, [&](std::int64_t task, int thread) {
      const std::int64_t part = task / cut_.blocks;
      const Stretch rows = cut(args_.m, cut_.rows, task % cut_.blocks);
      Acc* const sums = scratch_.partial.data() + (part * args_.m + rows.begin) * args_.n;
      const bool adds = args_.adds && part == 0;
      if (adds) widen_c(rows, sums);
      sum_terms(rows, cut(args_.k, cut_.terms, part), TileOut<Acc>{sums, args_.n, 0, adds}, thread);
    });
    add_partial();
  }

 private:
  static Stretch cut(std::int64_t count, std::int64_t size, std::int64_t i) {
    return {i * size, std::min(count, (i + 1) * size)};
  }
  Out* c_row(std::int64_t row) const { return static_cast<Out*>(args_.c) + row * args_.c_ld; }

  void widen_c(Stretch rows, Acc* sums) const {
    for (std::int64_t r = 0; r < rows.size(); ++r) convert_row(c_row(rows.begin + r), sums + r * args_.n, args_.n);
  }
  void rows_of_c(std::int64_t task, int thread) const {
    const Stretch rows = cut(args_.m, cut_.rows, task), all{0, args_.k};
    if constexpr (Rows::makes) rows_.make(rows, made(thread), made_stride(), thread);
    if constexpr (std::is_same_v<Out, Acc>) {
      if (!rows_.finishes())
        return sum_terms(rows, all, TileOut<Acc>{c_row(rows.begin), args_.c_ld, 0, args_.adds}, thread);
    }
    if constexpr (!std::is_same_v<Out, Acc> || Rows::may_finish) {
      Acc* const sums = scratch_.sums.data() + thread * scratch_.sums_stride;
      if (args_.adds) widen_c(rows, sums);
      sum_terms(rows, all, TileOut<Acc>{sums, args_.n, 0, args_.adds}, thread);
      for (std::int64_t r = 0; r < rows.size(); ++r) {
        const std::int64_t row = rows.begin + r;
        if constexpr (Rows::may_finish) {
          rows_.finish(row, sums + r * args_.n, c_row(row));
        } else {
          convert_row(sums + r * args_.n, c_row(row), args_.n);
        }
      }
    }
  }
  /// The thread's own block of rows that are made: a line more each than they take, as rows that are copied have.
  Acc* made(int thread) const { return scratch_.copied.data() + thread * scratch_.copied_stride; }
  std::int64_t made_stride() const { return round_up(args_.k, line_elements) + line_elements; }

  /// Chunk after chunk, so that every sum is added up in this order.
  void sum_terms(Stretch rows, Stretch terms, TileOut<Acc> out, int thread) const {
    if (terms.size() == 0 && !out.adds)
      for (std::int64_t r = 0; r < rows.size(); ++r) std::fill_n(out.data + r * out.ld, args_.n, Acc(0));
    for (std::int64_t k = terms.begin; k < terms.end; k += chunk_terms) {
      const Stretch chunk{k, std::min(k + chunk_terms, terms.end)};
      const Acc* b = scratch_.packed.data();
      if (cut_.parts == 1) {
        b += k * round_up(args_.n, line_elements);
      } else {
        Acc* const mine = scratch_.packed.data() + thread * scratch_.packed_stride;
        pack(chunk, mine);
        b = mine;
      }
      multiply_chunk(rows, chunk, b, out, thread);
      out.adds = true;
    }
  }

  /// Whole vectors: what a tile's last one holds too much is overwritten by the next term's, or fills the line that
  /// stands between the tiles.
  static HWY_INLINE void into_tiles(const Storage* from, std::int64_t count, Acc* to, std::int64_t stride) {
    constexpr FullTag<Acc> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const std::int64_t whole = round_up(full_tile, lanes);
    for (; count >= whole; count -= full_tile, from += full_tile, to += stride)
      for (std::int64_t i = 0; i < full_tile; i += lanes) hn::StoreU(load_as(d, from + i), d, to + i);
    for (; count > 0; count -= full_tile, from += full_tile, to += stride)
      convert_row(from, to, std::min<std::int64_t>(count, full_tile));
  }

  void multiply_chunk(Stretch rows, Stretch chunk, const Acc* b, const TileOut<Acc>& out, int thread) const {
    if constexpr (Rows::makes) {
      return multiply_block(RowsOfA<Acc>{made(thread) + chunk.begin, made_stride()}, rows.size(), chunk.size(), b, out);
    }
    const auto* const a = static_cast<const Storage*>(args_.a.data);
    const std::int64_t ld = args_.a.ld;
    Acc* const copied = copies(args_) ? scratch_.copied.data() + thread * scratch_.copied_stride : nullptr;
    if (args_.a.transposed) {
      const TilesOfA<Acc> tiles{copied, full_tile * chunk.size() + line_elements};
      for (std::int64_t k = 0; k < chunk.size(); ++k)
        into_tiles(a + (chunk.begin + k) * ld + rows.begin, rows.size(), copied + k * full_tile, tiles.stride);
      multiply_block(tiles, rows.size(), chunk.size(), b, out);
      return;
    }
    if (copied != nullptr) {
      const std::int64_t stride = round_up(chunk.size(), line_elements) + line_elements;
      for (std::int64_t r = 0; r < rows.size(); ++r)
        convert_row(a + (rows.begin + r) * ld + chunk.begin, copied + r * stride, chunk.size());
      multiply_block(RowsOfA<Acc>{copied, stride}, rows.size(), chunk.size(), b, out);
    } else if constexpr (std::is_same_v<Storage, Acc>) {
      multiply_block(RowsOfA<Acc>{a + rows.begin * ld + chunk.begin, ld}, rows.size(), chunk.size(), b, out);
    }
  }

  /// Panel after panel of b, which then is in the first cache.
  template <class Block>
  HWY_INLINE void multiply_block(Block a, std::int64_t rows, std::int64_t terms, const Acc* b,
                                 const TileOut<Acc>& out) const {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(FullTag<Acc>()));
    for (std::int64_t column = 0; column < args_.n; column += tile_vectors * lanes) {
      const std::int64_t left = args_.n - column;
      const Acc* const panel = b + column * terms;
      if (left > lanes)
        multiply_panel<2>(a, rows, panel, terms, TileOut<Acc>{out.data + column, out.ld, left - lanes, out.adds});
      else
        multiply_panel<1>(a, rows, panel, terms, TileOut<Acc>{out.data + column, out.ld, left, out.adds});
    }
  }

  /// b's rows of the chunk: panels of up to two vectors a term side by side, the last one filled up with zeros.
  void pack(Stretch chunk, Acc* to) const {
    constexpr FullTag<Acc> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto* const b = static_cast<const Storage*>(args_.b.data);
    for (std::int64_t column = 0; column < args_.n; column += tile_vectors * lanes) {
      const std::int64_t own = std::min(args_.n - column, tile_vectors * lanes);
      const std::int64_t width = own > lanes ? tile_vectors * lanes : lanes;
      Acc* const panel = to + column * chunk.size();
      const Storage* const first =
          b + (args_.b.transposed ? column * args_.b.ld + chunk.begin : chunk.begin * args_.b.ld + column);
      if (!args_.b.transposed) {
        for (std::int64_t k = 0; k < chunk.size(); ++k)
          for (std::int64_t j = 0; j < width; j += lanes)
            hn::StoreU(load_first(d, first + k * args_.b.ld + j, own - j), d, panel + k * width + j);
        continue;
      }
      for (std::int64_t j = 0; j < width; ++j)
        for (std::int64_t k = 0; k < chunk.size(); ++k)
          panel[k * width + j] = j < own ? static_cast<Acc>(first[j * args_.b.ld + k]) : Acc(0);
    }
  }
  void pack_all() const {
    const std::int64_t chunks = cut_into(args_.k, chunk_terms);
    const bool few = args_.k * args_.n < task_terms / 4;
    parallel_tasks(few ? 1 : args_.threads, chunks, [&](std::int64_t i, int) {
      const Stretch chunk = cut(args_.k, chunk_terms, i);
      pack(chunk, scratch_.packed.data() + chunk.begin * round_up(args_.n, line_elements));
    });
  }

  void add_partial() const {
    parallel_ranges(args_.threads, args_.m, 1 + (1 << 14) / (args_.n * cut_.parts),
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t row = begin; row < end; ++row) add_partial_row(row);
                    });
  }
  void add_partial_row(std::int64_t row) const {
    const Acc* const sum = scratch_.partial.data() + row * args_.n;
    for_each_element_block<Acc>(args_.n, [&](auto d, std::int64_t i) HWY_ATTR {
      auto all = hn::LoadU(d, sum + i);
      for (std::int64_t part = 1; part < cut_.parts; ++part)
        all = hn::Add(all, hn::LoadU(d, sum + part * args_.m * args_.n + i));
      store_as(d, all, c_row(row) + i);
    });
  }

  const ProductArgs& args_;
  ProductCut cut_;
  ProductScratch<Acc> scratch_;
  Rows rows_;
};

}  // namespace weft::dense::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
