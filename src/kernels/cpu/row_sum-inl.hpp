// The sum of a row's messages, as a fixed tree: blocks of block_edges edges are added in order in
// registers, blocks are united pairwise as a binary counter carries. The tree depends on the row's
// degree alone, so the result is the same for any tasks and threads, and its error grows with the
// logarithm of the degree.
#if defined(WEFT_KERNELS_CPU_ROW_SUM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ROW_SUM_INL
#undef WEFT_KERNELS_CPU_ROW_SUM_INL
#else
#define WEFT_KERNELS_CPU_ROW_SUM_INL
#endif

#include <bit>

#include "kernels/cpu/stage-inl.hpp"
#include "plan/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// Where the partial sums of one row wait.
template <class Acc>
struct Levels {
  Acc* base;
  std::int64_t stride;
  HWY_INLINE Acc* at(int level) const { return base + level * stride; }
};

/// Count vectors of features from f on: the block's sum, with `carries` waiting levels added, to dest.
template <int Count, class Message, class D, class B, class Acc>
HWY_INLINE void sum_panel(D d, const B& block, int edges, std::int64_t f, Levels<Acc> levels, int carries, Acc* dest) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const bool asks = !std::is_same_v<Message, Written> && f == 0;  // Written ones were asked for when they were written
  hn::Vec<D> sum[Count];
  {
    if (asks) block.prefetch(0);
    const auto e = Message::edge(d, block, 0);
    for (int j = 0; j < Count; ++j) sum[j] = Message::value(d, e, f + j * lanes);
  }
  for (int k = 1; k < edges; ++k) {
    if (asks) block.prefetch(k);
    const auto e = Message::edge(d, block, k);
    for (int j = 0; j < Count; ++j) sum[j] = Message::add(d, sum[j], e, f + j * lanes);
  }
  for (int level = 0; level < carries; ++level)
    for (int j = 0; j < Count; ++j) sum[j] = hn::Add(hn::LoadU(d, levels.at(level) + f + j * lanes), sum[j]);
  for (int j = 0; j < Count; ++j) hn::StoreU(sum[j], d, dest + f + j * lanes);
}

/// All features of one head; wide panels keep more loads in flight. Not inlined, as the other steps of a row are
/// not: a call a block costs nothing, a copy of the code at every place it is used from doubles the build.
template <class Message, class D, class B, class Acc>
HWY_NOINLINE void sum_features(D d, const B& block, int edges, std::int64_t width, Levels<Acc> levels, int carries,
                               Acc* dest) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t f = 0; f < width;) {
    const std::int64_t left = (width - f + lanes - 1) / lanes;  // vectors still to do, the last one overlapping
    const std::int64_t fits = width / lanes;
    const auto take = [&](auto count) HWY_ATTR {
      constexpr int n = decltype(count)::value;
      const std::int64_t start = f + n * lanes <= width ? f : width - n * lanes;
      sum_panel<n, Message>(d, block, edges, start, levels, carries, dest);
      f = start + n * lanes;
    };
    if (left >= 16 && fits >= 16) {
      take(std::integral_constant<int, 16>{});
    } else if (left >= 8 && fits >= 8) {
      take(std::integral_constant<int, 8>{});
    } else if (left >= 4 && fits >= 4) {
      take(std::integral_constant<int, 4>{});
    } else if (left >= 2 && fits >= 2) {
      take(std::integral_constant<int, 2>{});
    } else {
      take(std::integral_constant<int, 1>{});
    }
  }
}

/// dest = the waiting levels that the bits of `leaves` name, lowest first.
template <class Acc>
HWY_NOINLINE void collapse(Levels<Acc> levels, std::int64_t leaves, std::int64_t row, Acc* dest) {
  for_each_element_block<Acc>(row, [&](auto d, std::int64_t i) HWY_ATTR {
    auto bits = static_cast<std::uint64_t>(leaves);
    auto sum = hn::LoadU(d, levels.at(std::countr_zero(bits)) + i);
    for (bits &= bits - 1; bits != 0; bits &= bits - 1)
      sum = hn::Add(hn::LoadU(d, levels.at(std::countr_zero(bits)) + i), sum);
    hn::StoreU(sum, d, dest + i);
  });
}

/// The sum over the edges of `run` (a whole short row, or one piece of a long one) to dest[heads * width].
/// `block` is the thread's own, from Stager::start; `run_weights` as the stager says.
template <class Message, class D, class Storage, class Acc>
HWY_INLINE void sum_run(D d, const Stager<Storage, Acc>& stager, Block<Storage, Acc>& block, const Run& run,
                        Levels<Acc> levels, Acc* staged, const Acc* run_weights, Acc* dest) {
  constexpr bool hot = !std::is_same_v<Message, Written>;
  const std::int64_t edges = run.end - run.begin;
  if (edges == 0) {
    for (std::int64_t i = 0; i < stager.heads * stager.width; ++i) dest[i] = 0;
    return;
  }
  const std::int64_t blocks = (edges + block_edges - 1) / block_edges;
  for (std::int64_t b = 0; b < blocks; ++b) {
    const EdgeId begin = run.begin + b * block_edges;
    const int count = static_cast<int>(run.end - begin < block_edges ? run.end - begin : block_edges);
    stager.template load<hot>(block, run.row, begin, count, staged,
                              run_weights != nullptr ? run_weights + b * block_edges * stager.weight_step : nullptr);
    const int carries = std::countr_one(static_cast<std::uint64_t>(b));
    Acc* to = blocks == 1 ? dest : levels.at(carries);
    if (stager.heads == 1) {
      if constexpr (!hot) stager.write(block, count, stager.width);
      sum_features<Message>(d, block, count, stager.width, levels, carries, to);
      continue;
    }
    for (std::int64_t h = 0; h < stager.heads; ++h) {
      const std::int64_t offset = h * stager.width;
      const auto head = stager.to_head(block, h);
      if constexpr (!hot) stager.write(head, count, stager.width);
      sum_features<Message>(d, head, count, stager.width, Levels<Acc>{levels.base + offset, levels.stride}, carries,
                            to + offset);
    }
  }
  if (blocks > 1) collapse(levels, blocks, stager.heads * stager.width, dest);
}

/// The pieces of long row `i`, united by the same counter, to dest.
template <class Acc>
HWY_NOINLINE void sum_pieces(const RowScratch<Acc>& scratch, const LongRows& long_rows, std::size_t i,
                             Levels<Acc> levels, Acc* dest) {
  const std::int64_t pieces = long_rows.pieces(i), first = long_rows.rows[i].first_slot;
  for (std::int64_t p = 0; p < pieces; ++p) {
    const int carries = std::countr_one(static_cast<std::uint64_t>(p));
    const Acc* piece = scratch.slot(first + p);
    for_each_element_block<Acc>(scratch.row, [&](auto d, std::int64_t f) HWY_ATTR {
      auto sum = hn::LoadU(d, piece + f);
      for (int level = 0; level < carries; ++level) sum = hn::Add(hn::LoadU(d, levels.at(level) + f), sum);
      hn::StoreU(sum, d, levels.at(carries) + f);
    });
  }
  collapse(levels, pieces, scratch.row, dest);
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
