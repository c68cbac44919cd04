// A whole run of row sums: the rows of every task, then the long rows when all their pieces are there.
#if defined(WEFT_KERNELS_CPU_SUM_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_SUM_ROWS_INL
#undef WEFT_KERNELS_CPU_SUM_ROWS_INL
#else
#define WEFT_KERNELS_CPU_SUM_ROWS_INL
#endif

#include <algorithm>
#include <type_traits>

#include "core/parallel.hpp"
#include "kernels/cpu/finish-inl.hpp"
#include "kernels/cpu/narrow-inl.hpp"
#include "kernels/cpu/row_sum-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// The sum over a row of one block, to the bits of sum_run: its vectors stay in registers, and nothing is called. In
/// graphs of short rows what sum_run does around each of them costs more than the sums.
template <int Count, class Message, class D, class Storage, class Acc>
HWY_INLINE void sum_short_row(D d, const Stager<Storage, Acc>& stager, Block<Storage, Acc>& block, const Run& run,
                              Acc* dest) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const std::int64_t edges = run.end - run.begin, further = stager.graph.num_edges - 1 - run.begin;
  block.cols = stager.graph.cols + run.begin;
  if constexpr (std::is_same_v<Message, Weighted>) block.weight = static_cast<const Acc*>(stager.edge.data) + run.begin;
  const auto prefetch = [&](std::int64_t k) HWY_ATTR {
    if (block.prefetch_bytes == 0) return;
    const std::int64_t ahead = std::min(k + stager.prefetch_edges, further);
    prefetch_row(block.x_of(ahead), block.prefetch_bytes);
  };
  hn::Vec<D> sum[Count];
  prefetch(0);
  const auto first = Message::edge(d, block, 0);
  for (int j = 0; j < Count; ++j) sum[j] = Message::value(d, first, j * lanes);
  for (std::int64_t k = 1; k < edges; ++k) {
    prefetch(k);
    const auto e = Message::edge(d, block, k);
    for (int j = 0; j < Count; ++j) sum[j] = Message::add(d, sum[j], e, j * lanes);
  }
  for (int j = 0; j < Count; ++j) hn::StoreU(sum[j], d, dest + j * lanes);
}

/// Not inlined, as sum_short_row is where rows are short: a call a row costs long rows nothing, and a copy of the code
/// for every number of vectors would double the build.
template <class Message, class D, class Storage, class Acc>
HWY_NOINLINE void sum_any_row(D d, const Stager<Storage, Acc>& stager, Block<Storage, Acc>& block, const Run& run,
                              const Levels<Acc>& levels, Acc* staged, Acc* dest) {
  sum_run<Message>(d, stager, block, run, levels, staged, static_cast<const Acc*>(nullptr), dest);
}

/// The rows of a task. Count: rows of one block are of so many whole vectors and ready where they stand; 0: they may
/// not be.
template <int Count, class Message, class D, class Storage, class Acc>
HWY_NOINLINE void sum_task(D d, const Stager<Storage, Acc>& stager, const Finish<Acc>& finish, const Runs& runs,
                           const RowScratch<Acc>& scratch, int thread) {
  const Levels<Acc> levels{scratch.level(thread, 0), scratch.row};
  Acc *const staged = scratch.stage(thread), *const spare = levels.at(scratch.levels_per_thread - 1);
  const bool direct = finish.is_copy();
  EdgeWindow window;
  auto block = stager.start(staged, window);
  const auto sum = [&](const Run& run, std::int64_t edges, Acc* dest) HWY_ATTR {
    if constexpr (Count > 0)
      if (edges > 0 && edges <= block_edges) return sum_short_row<Count, Message>(d, stager, block, run, dest);
    sum_any_row<Message>(d, stager, block, run, levels, staged, dest);
  };
  for (const Run& run : runs) {
    const std::int64_t edges = run.end - run.begin;
    Acc* dest = run.slot >= 0 ? scratch.slot(run.slot) : direct ? finish.direct(run.row) : spare;
    sum(run, edges, dest);
    if (run.slot < 0 && !direct) finish(run.row, edges, dest);
  }
}

/// Calls f(Count) with the whole vectors of a row, 1, 2, 4 or 8, where rows can be summed as sum_short_row does; else
/// with 0.
template <class Message, class D, class Storage, class Acc, class F>
HWY_INLINE void with_whole_vectors(D d, const Stager<Storage, Acc>& stager, F&& f) {
  using std::integral_constant;
  constexpr std::size_t most = hn::MaxLanes(D());
  if constexpr (!std::is_same_v<Message, Written> && most > 1) {
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    if (stager.heads == 1 && stager.stands_ready() && stager.width % lanes == 0) {
      const std::int64_t vectors = stager.width / lanes;
      if (vectors == 1) return f(integral_constant<int, 1>{});
      if (vectors == 2) return f(integral_constant<int, 2>{});
      if constexpr (std::is_same_v<D, FullTag<Acc>>) {  // of smaller vectors there are never more
        if (vectors == 4) return f(integral_constant<int, 4>{});
        if (vectors == 8) return f(integral_constant<int, 8>{});
      }
    }
  }
  f(integral_constant<int, 0>{});
}

/// Sums the messages of every row and finishes it.
template <class Message, class Storage, class Acc>
void sum_rows(const Stager<Storage, Acc>& stager, const Finish<Acc>& finish, const Plan& plan,
              const RowScratch<Acc>& scratch) {
  const GraphView& graph = stager.graph;
  const int spare = scratch.levels_per_thread - 1;
  for_each_task(plan, graph, [&](const Runs& runs, int thread) HWY_ATTR {
    if constexpr (!std::is_same_v<Message, Written>) {
      if (scratch.row == 1)
        return stager.stands_ready()
                   ? sum_narrow_rows<Message, true>(stager, finish, runs, scratch, scratch.stage(thread))
                   : sum_narrow_rows<Message, false>(stager, finish, runs, scratch, scratch.stage(thread));
    }
    with_lanes<Acc>(stager.width, [&](auto d) HWY_ATTR {
      with_whole_vectors<Message>(
          d, stager, [&](auto count) HWY_ATTR { sum_task<count, Message>(d, stager, finish, runs, scratch, thread); });
    });
  });
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  parallel_tasks(plan.cpu().threads, static_cast<std::int64_t>(long_rows.rows.size()),
                 [&](std::int64_t i, int thread) HWY_ATTR {
                   const Levels<Acc> levels{scratch.level(thread, 0), scratch.row};
                   const std::int64_t row = long_rows.rows[static_cast<std::size_t>(i)].row;
                   sum_pieces(scratch, long_rows, static_cast<std::size_t>(i), levels, levels.at(spare));
                   finish(row, graph.offsets[row + 1] - graph.offsets[row], levels.at(spare));
                 });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
