// Edge softmax, forward and backward.
#if defined(WEFT_KERNELS_CPU_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_SOFTMAX_INL
#undef WEFT_KERNELS_CPU_SOFTMAX_INL
#else
#define WEFT_KERNELS_CPU_SOFTMAX_INL
#endif

#include "kernels/cpu/head_lines-inl.hpp"
#include "kernels/cpu/row_passes-inl.hpp"
#include "kernels/signatures.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// The run's values of an edge tensor, [edges, step].
template <class Storage, class Acc>
HWY_INLINE void gather_edges(const GraphView& graph, const Operand& operand, std::int64_t heads, std::int64_t step,
                             const Run& run, Acc* to) {
  const auto* data = static_cast<const Storage*>(operand.data);
  for (EdgeId k = run.begin; k < run.end; ++k, to += step) {
    const Storage* e = data + graph.edge_id(k) * operand.row_stride;
    for (std::int64_t h = 0; h < heads; ++h) to[h] = convert<Acc>(e[h * operand.head_stride]);
    for (std::int64_t h = heads; h < step; ++h) to[h] = 0;
  }
}

/// The line of a run to the output.
template <class Storage, class Acc>
HWY_INLINE void scatter_edges(const SoftmaxArgs& args, std::int64_t step, const Run& run, const Acc* line) {
  auto* out = static_cast<Storage*>(args.out.data);
  for (EdgeId k = run.begin; k < run.end; ++k, line += step) {
    Storage* e = out + args.graph.edge_id(k) * args.out.row_stride;
    for (std::int64_t h = 0; h < args.heads; ++h) e[h] = convert<Storage>(line[h]);
  }
}

template <class Storage>
void softmax_forward_storage(const SoftmaxArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  const auto scratch = HeadScratch<Acc>::take(arena, plan);
  const std::int64_t step = scratch.step;
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  row_passes(
      args.graph, plan,
      [&](const Run& run, int thread) HWY_ATTR {
        const std::int64_t n = run.end - run.begin;
        Acc* s = scratch.line(thread, 0);
        Acc* top = run.slot >= 0 ? scratch.piece_max(run.slot) : scratch.row(thread, 0);
        Acc* sum = run.slot >= 0 ? scratch.piece_sum(run.slot) : scratch.row(thread, 1);
        gather_edges<Storage>(args.graph, args.scores, args.heads, step, run, s);
        max_of_line(s, n, step, top);
        weigh_line(s, n, step, top);
        sum_line(s, n, step, sum);
        if (run.slot >= 0) return;
        divide_line(s, n, step, sum);
        scatter_edges<Storage>(args, step, run, s);
      },
      [&](std::size_t i, int) HWY_ATTR {
        for (std::int64_t h = 0; h < args.heads; ++h)
          unite_statistics(scratch, long_rows, i, h, [](std::int64_t, Acc) {});
      },
      [&](const Run& run, int thread) HWY_ATTR {
        const std::int64_t n = run.end - run.begin, slot = long_rows.first_slot(run.row);
        Acc *s = scratch.line(thread, 0), *top = scratch.row(thread, 0), *sum = scratch.row(thread, 1);
        repeat_heads(args.heads, step, top, [&](std::int64_t h) { return scratch.piece_max(slot)[h]; });
        repeat_heads(args.heads, step, sum, [&](std::int64_t h) { return scratch.piece_sum(slot)[h]; });
        gather_edges<Storage>(args.graph, args.scores, args.heads, step, run, s);
        weigh_line(s, n, step, top);
        divide_line(s, n, step, sum);
        scatter_edges<Storage>(args, step, run, s);
      });
}

/// out = alpha * (grad - sum over the row of alpha * grad)
template <class Storage>
void softmax_backward_storage(const SoftmaxArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  const auto scratch = HeadScratch<Acc>::take(arena, plan);
  const std::int64_t step = scratch.step;
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  const auto load = [&](const Run& run, int thread) HWY_ATTR {
    gather_edges<Storage>(args.graph, args.scores, args.heads, step, run, scratch.line(thread, 0));
    gather_edges<Storage>(args.graph, args.grad, args.heads, step, run, scratch.line(thread, 1));
  };
  const auto store = [&](const Run& run, int thread, const Acc* sum) HWY_ATTR {
    Acc *const alpha = scratch.line(thread, 0), *const grad = scratch.line(thread, 1);
    each_vector_of_line<Acc>(run.end - run.begin, step, [&](auto d, std::int64_t i, std::int64_t of_row) HWY_ATTR {
      const auto above = hn::Sub(hn::LoadU(d, grad + i), hn::LoadU(d, sum + of_row));
      hn::StoreU(hn::Mul(hn::LoadU(d, alpha + i), above), d, alpha + i);
    });
    scatter_edges<Storage>(args, step, run, static_cast<const Acc*>(alpha));
  };
  row_passes(
      args.graph, plan,
      [&](const Run& run, int thread) HWY_ATTR {
        load(run, thread);
        Acc* sum = run.slot >= 0 ? scratch.piece_sum(run.slot) : scratch.row(thread, 0);
        sum_products(scratch.line(thread, 0), scratch.line(thread, 1), run.end - run.begin, step, sum);
        if (run.slot < 0) store(run, thread, sum);
      },
      [&](std::size_t i, int) HWY_ATTR { unite_sums(scratch, long_rows, i); },
      [&](const Run& run, int thread) HWY_ATTR {
        const Acc* const united = scratch.piece_sum(long_rows.first_slot(run.row));
        Acc* const sum = scratch.row(thread, 0);
        load(run, thread);
        repeat_heads(args.heads, step, sum, [&](std::int64_t h) { return united[h]; });
        store(run, thread, sum);
      });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
