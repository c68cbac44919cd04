// The edge part of attention's backward: weights and score gradients, recomputed from the row statistics.
#if defined(WEFT_KERNELS_CPU_ATTENTION_EDGES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ATTENTION_EDGES_INL
#undef WEFT_KERNELS_CPU_ATTENTION_EDGES_INL
#else
#define WEFT_KERNELS_CPU_ATTENTION_EDGES_INL
#endif

#include "kernels/cpu/scores-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

template <class Storage>
void attention_edges_storage(const AttentionEdgeArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  const AttentionArgs& forward = args.forward;
  const GraphView& g = forward.graph;
  RowScratch<Acc>::take(arena, plan);
  const auto scratch = SoftmaxScratch<Acc>::take(arena, plan);
  const Scorer<Storage, Acc> scorer{forward, plan.prefetch_edges};
  const auto* out = static_cast<const Storage*>(forward.out.data);
  const auto* out_grad = static_cast<const Storage*>(args.out_grad.data);
  const auto statistic = [&](const Result& r, std::int64_t row, std::int64_t h) {
    return static_cast<const Acc*>(r.data)[row * r.row_stride + h];
  };

  const auto edges_of = [&](const Run& run, int thread) HWY_ATTR {
    const std::int64_t n = run.end - run.begin;
    Acc* s = scratch.score(thread);
    scorer(run, s);
    for (std::int64_t h = 0; h < forward.heads; ++h) {
      const Acc total = statistic(forward.row_sum, run.row, h);
      exponentials(s + h * piece_edges, n, statistic(forward.row_max, run.row, h));
      const Storage* grad_v = args.score_grad.data != nullptr ? out_grad + run.row * args.out_grad.row_stride + h * args.out_grad.head_stride : nullptr;
      // The softmax's backward needs sum of alpha * (grad . value), which is grad . out.
      const Acc shared = grad_v != nullptr ? dot<Acc>(grad_v, out + run.row * forward.out.row_stride + h * forward.width, forward.width) : Acc{0};
      for (std::int64_t k = 0; k < n; ++k) {
        const EdgeId id = g.edge_id(run.begin + k);
        const std::int64_t u = g.cols[run.begin + k];
        const Acc alpha = total == 0 ? Acc{0} : s[h * piece_edges + k] / total;
        put(args.alpha, id, h, alpha);
        if (grad_v == nullptr) continue;
        Acc gradient = alpha * (dot<Acc>(grad_v, scorer.value(u, h), forward.width) - shared);
        if (args.bias_grad.data != nullptr) put(args.bias_grad, id, h, gradient);
        if (forward.score == Score::gat && !(convert<Acc>(*scorer.src(u, h)) + convert<Acc>(*scorer.dst(run.row, h)) > 0)) gradient *= scorer.slope();
        put(args.score_grad, id, h, gradient);
      }
    }
  };
  const Partition& partition = *plan.partition;
  parallel_tasks(plan.threads, partition.tasks(), [&](std::int64_t task, int thread) HWY_ATTR {
    partition.for_each_run(g, task, [&](const Run& run) HWY_ATTR { edges_of(run, thread); });
  });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
