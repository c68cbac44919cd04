// A whole run of row sums: the rows of every task, then the long rows when all their pieces are there.
#if defined(WEFT_KERNELS_CPU_SUM_ROWS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_SUM_ROWS_INL
#undef WEFT_KERNELS_CPU_SUM_ROWS_INL
#else
#define WEFT_KERNELS_CPU_SUM_ROWS_INL
#endif

#include "core/parallel.hpp"
#include "kernels/cpu/finish-inl.hpp"
#include "kernels/cpu/narrow-inl.hpp"
#include "kernels/cpu/row_sum-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// Sums the messages of every row and finishes it.
template <class Message, class Storage, class Acc>
void sum_rows(const Stager<Storage, Acc>& stager, const Finish<Acc>& finish, const Plan& plan,
              const RowScratch<Acc>& scratch) {
  const GraphView& graph = stager.graph;
  const int spare = scratch.levels_per_thread - 1;
  const bool direct = finish.is_copy();
  for_each_task(plan, graph, [&](const Runs& runs, int thread) HWY_ATTR {
    const Levels<Acc> levels{scratch.level(thread, 0), scratch.row};
    Acc* staged = scratch.stage(thread);
    if constexpr (!std::is_same_v<Message, Written>) {
      if (scratch.row == 1)
        return stager.stands_ready() ? sum_narrow_rows<Message, true>(stager, finish, runs, scratch, staged)
                                     : sum_narrow_rows<Message, false>(stager, finish, runs, scratch, staged);
    }
    EdgeWindow window;
    auto block = stager.start(staged, window);
    with_lanes<Acc>(stager.width, [&](auto d) HWY_ATTR {
      for (const Run& run : runs) {
        Acc* dest = run.slot >= 0 ? scratch.slot(run.slot) : direct ? finish.direct(run.row) : levels.at(spare);
        sum_run<Message>(d, stager, block, run, levels, staged, static_cast<const Acc*>(nullptr), dest);
        if (run.slot < 0 && !direct) finish(run.row, run.end - run.begin, dest);
      }
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
