// Rows of one feature (SpMV): the work around each row would cost more than the row, so there is as little of it as can
// be. Two threads of a Neoverse V1 take 2.0 ms on like:arxiv (bench/records/cpu-neoverse-v1/spmv-arxiv.json), where
// loading the indexed values alone takes 1.2; four chains per row, or messages in a buffer that masked vectors sum,
// took 2.0 to 2.2.
#if defined(WEFT_KERNELS_CPU_NARROW_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_NARROW_INL
#undef WEFT_KERNELS_CPU_NARROW_INL
#else
#define WEFT_KERNELS_CPU_NARROW_INL
#endif

#include "kernels/cpu/finish-inl.hpp"
#include "kernels/cpu/pairwise.hpp"
#include "kernels/cpu/stage-inl.hpp"
#include "plan/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// Up to four blocks are added in order: as many roundings as the bound has room for at this degree.
inline constexpr std::int64_t stretch_edges = 4 * block_edges;
static_assert(stretch_edges + block_edges <= EdgeWindow::stretch, "a window shows a stretch and the block after it");

/// Edges [begin, end) of the block, at most stretch_edges: whole blocks without a branch, the rest in order.
template <class Message, class Storage, class Acc>
HWY_INLINE Acc sum_stretch(const Block<Storage, Acc> block, std::int64_t begin, std::int64_t end) {
  const auto add = [&](Acc& sum, std::int64_t k) HWY_ATTR { sum = Message::add_one(sum, block, k); };
  Acc blocks = 0;
  for (; begin + block_edges < end; begin += block_edges) {
    Acc s[4] = {};
#pragma GCC unroll 16
    for (int k = 0; k < block_edges; ++k) add(s[k % 4], begin + k);
    blocks += (s[0] + s[1]) + (s[2] + s[3]);
  }
  Acc rest = 0;
  for (; begin < end; ++begin) add(rest, begin);
  return blocks + rest;
}

/// The sum over the edges of `run` as a tree of its length. `Ready`: the block stands at edge 0.
template <class Message, bool Ready, class Storage, class Acc>
HWY_INLINE Acc sum_narrow_run(const Stager<Storage, Acc>& stager, Block<Storage, Acc>& block, const Run& run) {
  Acc converted[stretch_edges];
  const auto stretch = [&](EdgeId begin, EdgeId end) HWY_ATTR {
    if constexpr (Ready) return sum_stretch<Message>(block, begin, end);
    stager.template load<true>(block, run.row, begin, static_cast<int>(end - begin), converted, nullptr);
    return sum_stretch<Message>(block, 0, end - begin);
  };
  if (run.end - run.begin <= stretch_edges) return stretch(run.begin, run.end);
  PairwiseSum<Acc> sum;
  for (EdgeId begin = run.begin; begin < run.end; begin += stretch_edges)
    sum.add(stretch(begin, begin + stretch_edges < run.end ? begin + stretch_edges : run.end));
  return sum.total();
}

/// All rows of one task.
template <class Message, bool Ready, class Storage, class Acc>
HWY_NOINLINE void sum_narrow_rows(const Stager<Storage, Acc>& stager, const Finish<Acc>& finish, const Runs& runs,
                                  const RowScratch<Acc>& scratch, Acc* staged) {
  const bool direct = finish.is_copy();
  EdgeWindow window;
  auto block = stager.start(staged, window);
  if constexpr (Ready) stager.template load<true>(block, 0, 0, 0, staged, nullptr);
  for (const Run& run : runs) {
    const Acc sum = sum_narrow_run<Message, Ready>(stager, block, run);
    if (run.slot >= 0) {
      *scratch.slot(run.slot) = sum;
    } else if (direct) {
      *finish.direct(run.row) = sum;
    } else {
      finish(run.row, run.end - run.begin, &sum);
    }
  }
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
