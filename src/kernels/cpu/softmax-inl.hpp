// Edge softmax, forward and backward.
#if defined(WEFT_KERNELS_CPU_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_SOFTMAX_INL
#undef WEFT_KERNELS_CPU_SOFTMAX_INL
#else
#define WEFT_KERNELS_CPU_SOFTMAX_INL
#endif

#include "kernels/cpu/softmax_row-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// The run's values of an edge tensor, one line a head.
template <class Storage, class Acc>
HWY_INLINE void gather_edges(const GraphView& graph, const Operand& operand, std::int64_t heads, const Run& run,
                             Acc* to) {
  const auto* data = static_cast<const Storage*>(operand.data);
  for (EdgeId k = run.begin; k < run.end; ++k) {
    const Storage* e = data + graph.edge_id(k) * operand.row_stride;
    for (std::int64_t h = 0; h < heads; ++h)
      to[h * piece_edges + (k - run.begin)] = convert<Acc>(e[h * operand.head_stride]);
  }
}

/// value(h, k) of every edge of the run to the output.
template <class Storage, class F>
HWY_INLINE void scatter_edges(const SoftmaxArgs& args, const Run& run, F&& value) {
  auto* out = static_cast<Storage*>(args.out.data);
  for (EdgeId k = run.begin; k < run.end; ++k) {
    Storage* e = out + args.graph.edge_id(k) * args.out.row_stride;
    for (std::int64_t h = 0; h < args.heads; ++h) e[h] = convert<Storage>(value(h, k - run.begin));
  }
}

template <class Storage>
void softmax_forward_storage(const SoftmaxArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  const auto scratch = SoftmaxScratch<Acc>::take(arena, plan);
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  row_passes(
      args.graph, plan,
      [&](const Run& run, int thread) HWY_ATTR {
        const std::int64_t n = run.end - run.begin;
        if (n == 0) return;
        Acc* s = scratch.score(thread);
        Acc* top = run.slot >= 0 ? scratch.piece_max(run.slot) : scratch.max_of(thread);
        Acc* sum = run.slot >= 0 ? scratch.piece_sum(run.slot) : scratch.sum_of(thread);
        gather_edges<Storage>(args.graph, args.scores, args.heads, run, s);
        for (std::int64_t h = 0; h < args.heads; ++h) {
          top[h] = max_score(s + h * piece_edges, n);
          sum[h] = exponentials(s + h * piece_edges, n, top[h]);
        }
        if (run.slot < 0)
          scatter_edges<Storage>(args, run, [&](std::int64_t h, std::int64_t k) {
            return sum[h] == 0 ? Acc{0} : s[h * piece_edges + k] / sum[h];
          });
      },
      [&](std::size_t i, int) HWY_ATTR {
        for (std::int64_t h = 0; h < args.heads; ++h)
          unite_statistics(scratch, long_rows, i, h, [](std::int64_t, Acc) {});
      },
      [&](const Run& run, int thread) HWY_ATTR {
        const std::int64_t slot = long_rows.first_slot(run.row);
        const Acc *top = scratch.piece_max(slot), *sum = scratch.piece_sum(slot);
        Acc* s = scratch.score(thread);
        gather_edges<Storage>(args.graph, args.scores, args.heads, run, s);
        for (std::int64_t h = 0; h < args.heads; ++h) exponentials(s + h * piece_edges, run.end - run.begin, top[h]);
        scatter_edges<Storage>(args, run, [&](std::int64_t h, std::int64_t k) {
          return sum[h] == 0 ? Acc{0} : s[h * piece_edges + k] / sum[h];
        });
      });
}

/// out = alpha * (grad - sum over the row of alpha * grad)
template <class Storage>
void softmax_backward_storage(const SoftmaxArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  const auto scratch = SoftmaxScratch<Acc>::take(arena, plan);
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  const auto load = [&](const Run& run, int thread) HWY_ATTR {
    gather_edges<Storage>(args.graph, args.scores, args.heads, run, scratch.score(thread));
    gather_edges<Storage>(args.graph, args.grad, args.heads, run, scratch.weight(thread));
  };
  const auto store = [&](const Run& run, int thread, const Acc* sum) HWY_ATTR {
    const Acc *alpha = scratch.score(thread), *grad = scratch.weight(thread);
    scatter_edges<Storage>(args, run, [&](std::int64_t h, std::int64_t k) {
      return alpha[h * piece_edges + k] * (grad[h * piece_edges + k] - sum[h]);
    });
  };
  row_passes(
      args.graph, plan,
      [&](const Run& run, int thread) HWY_ATTR {
        load(run, thread);
        Acc* sum = run.slot >= 0 ? scratch.piece_sum(run.slot) : scratch.sum_of(thread);
        for (std::int64_t h = 0; h < args.heads; ++h)
          sum[h] = dot<Acc>(scratch.score(thread) + h * piece_edges, scratch.weight(thread) + h * piece_edges,
                            run.end - run.begin);
        if (run.slot < 0) store(run, thread, sum);
      },
      [&](std::size_t i, int) HWY_ATTR { unite_sums(scratch, long_rows, i); },
      [&](const Run& run, int thread) HWY_ATTR {
        load(run, thread);
        store(run, thread, scratch.piece_sum(long_rows.first_slot(run.row)));
      });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
