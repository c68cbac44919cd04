// Operators that visit the edges of long rows twice: the passes, what rows have from those of their pieces, and scalar
// results.
#if defined(WEFT_KERNELS_CPU_ROW_PASSES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ROW_PASSES_INL
#undef WEFT_KERNELS_CPU_ROW_PASSES_INL
#else
#define WEFT_KERNELS_CPU_ROW_PASSES_INL
#endif

#include <cmath>

#include "core/parallel.hpp"
#include "kernels/cpu/pairwise.hpp"
#include "kernels/cpu/simd-inl.hpp"
#include "kernels/signatures.hpp"
#include "plan/scratch.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// exp(piece_top - top), 1 where both are the same (infinities too).
template <class Acc>
HWY_INLINE Acc rescale(Acc piece_top, Acc top) {
  return piece_top == top ? Acc{1} : std::exp(piece_top - top);
}

/// The maximum and the sum of a long row from those of its pieces, left in the first piece's place;
/// visit(piece, factor) learns what each piece's own sums have to be scaled by.
template <class Scratch, class Visit>
HWY_INLINE void unite_statistics(const Scratch& scratch, const LongRows& long_rows, std::size_t i, std::int64_t h,
                                 Visit&& visit) {
  const std::int64_t first = long_rows.rows[i].first_slot, pieces = long_rows.pieces(i);
  using Acc = std::remove_pointer_t<decltype(scratch.piece_max(first))>;
  Acc top = scratch.piece_max(first)[h];
  for (std::int64_t p = 1; p < pieces; ++p) {
    const Acc m = scratch.piece_max(first + p)[h];
    top = m > top || m != m ? m : top;
  }
  PairwiseSum<Acc> sum;
  for (std::int64_t p = 0; p < pieces; ++p) {
    const Acc factor = rescale(scratch.piece_max(first + p)[h], top);
    sum.add(scratch.piece_sum(first + p)[h] * factor);
    visit(p, factor);
  }
  scratch.piece_max(first)[h] = top;
  scratch.piece_sum(first)[h] = sum.total();
}

/// The sums of a long row's pieces, united in the first piece's place.
template <class Scratch>
HWY_INLINE void unite_sums(const Scratch& scratch, const LongRows& long_rows, std::size_t i) {
  const std::int64_t first = long_rows.rows[i].first_slot;
  using Acc = std::remove_pointer_t<decltype(scratch.piece_sum(first))>;
  for (std::int64_t h = 0; h < scratch.heads; ++h) {
    PairwiseSum<Acc> sum;
    for (std::int64_t p = 0; p < long_rows.pieces(i); ++p) sum.add(scratch.piece_sum(first + p)[h]);
    scratch.piece_sum(first)[h] = sum.total();
  }
}

/// The passes every softmax-like operator makes: rows and pieces; then, if there are long rows, what
/// unites their pieces; then their pieces again. Each gets (run or index, thread).
template <class First, class Unite, class Again>
void row_passes(const GraphView& graph, const Plan& plan, First&& first, Unite&& unite, Again&& again) {
  for_each_task(plan, graph, [&](const Runs& runs, int thread) HWY_ATTR {
    for (const Run& run : runs) first(run, thread);
  });
  const auto long_rows = static_cast<std::int64_t>(plan.backing.partition->long_rows->rows.size());
  if (long_rows == 0) return;
  parallel_tasks(plan.cpu().threads, long_rows,
                 [&](std::int64_t i, int thread) HWY_ATTR { unite(static_cast<std::size_t>(i), thread); });
  for_each_task(plan, graph, [&](const Runs& runs, int thread) HWY_ATTR {
    for (const Run& run : runs)
      if (run.slot >= 0) again(run, thread);
  });
}

/// A scalar result of any floating dtype.
template <class Acc>
HWY_INLINE void put(const Result& result, std::int64_t row, std::int64_t head, Acc value) {
  with_floating(result.dtype, "out", [&](auto tag) {
    using Out = typename decltype(tag)::type;
    static_cast<Out*>(result.data)[row * result.row_stride + head] = convert<Out>(value);
  });
}
/// Scalar results, one per head: quickly where they are stored in the type they were computed in.
template <class Acc>
struct ScalarsOut {
  const Result& to;
  Acc* as_computed;

  explicit ScalarsOut(const Result& result)
      : to(result), as_computed(result.dtype == dtype_of<Acc> ? static_cast<Acc*>(result.data) : nullptr) {}
  HWY_INLINE bool given() const { return to.data != nullptr; }
  HWY_INLINE void operator()(std::int64_t row, std::int64_t head, Acc value) const {
    if (as_computed != nullptr) {
      as_computed[row * to.row_stride + head] = value;
    } else {
      put(to, row, head, value);
    }
  }
};
template <class Acc>
HWY_INLINE Acc get(const Operand& operand, std::int64_t row, std::int64_t head) {
  return with_floating(operand.dtype, "operand", [&](auto tag) {
    using In = typename decltype(tag)::type;
    return convert<Acc>(static_cast<const In*>(operand.data)[row * operand.row_stride + head * operand.head_stride]);
  });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
