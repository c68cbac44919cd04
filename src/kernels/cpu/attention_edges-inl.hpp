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
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  const Scorer<Storage, Acc> scorer{forward, plan.cpu().prefetch_edges};
  const bool gradients = args.score_grad.data != nullptr;
  const auto* out_grad = static_cast<const Storage*>(args.out_grad.data);
  const auto statistic = [](const Result& r, std::int64_t row, std::int64_t h) {
    return static_cast<const Acc*>(r.data)[row * r.row_stride + h];
  };

  const bool drops = gradients && forward.dropout.given();
  const Acc scale = drops ? forward.dropout.scale() : 1.0f;

  // alpha to the score buffer, negative where its edge is dropped, grad . value[u] to the weight buffer, and the sum of
  // their products to sum[h]: taken over the edges, not from the rounded output, which for half storage would be a bias
  // in every edge.
  const auto products = [&](const Run& run, int thread, Acc* sum) HWY_ATTR {
    const std::int64_t n = run.end - run.begin;
    Acc *alpha = scratch.score(thread), *product = scratch.weight(thread);
    scorer(RunEdges(g, run), alpha);
    for (std::int64_t h = 0; h < forward.heads; ++h) {
      Acc* const of_head = alpha + h * piece_edges;
      const Acc total = statistic(forward.row_sum, run.row, h);
      exponentials(of_head, n, statistic(forward.row_max, run.row, h));
      for (std::int64_t k = 0; k < n; ++k) of_head[k] = total == 0 ? Acc{0} : of_head[k] / total;
    }
    if (!gradients) return;
    if (drops)
      scorer.each_drop(RunEdges(g, run), [&](std::int64_t h, std::int64_t k, bool dropped) {
        if (dropped) alpha[h * piece_edges + k] *= -1;
      });
    for (std::int64_t h = 0; h < forward.heads; ++h, alpha += piece_edges, product += piece_edges) {
      const Storage* grad = out_grad + run.row * args.out_grad.row_stride + h * args.out_grad.head_stride;
      for (std::int64_t k = 0; k < n; ++k)
        product[k] =
            alpha[k] < 0 ? Acc{0} : scale * dot<Acc>(grad, scorer.value(g.cols[run.begin + k], h), forward.width);
      sum[h] = dot<Acc>(alpha, product, n);
    }
  };

  const auto store = [&](const Run& run, int thread, const Acc* sum) HWY_ATTR {
    for (std::int64_t h = 0; h < forward.heads; ++h) {
      const Acc* alpha = scratch.score(thread) + h * piece_edges;
      const Acc* product = scratch.weight(thread) + h * piece_edges;
      for (EdgeId k = run.begin; k < run.end; ++k) {
        const EdgeId id = g.edge_id(k);
        const Acc weight = std::fabs(alpha[k - run.begin]);
        put(args.alpha, id, h, alpha[k - run.begin] < 0 ? Acc{0} : weight * scale);
        if (!gradients) continue;
        Acc gradient = weight * (product[k - run.begin] - sum[h]);
        if (args.bias_grad.data != nullptr) put(args.bias_grad, id, h, gradient);
        if (forward.score == Score::gat && !(scorer.sum(g.cols[k], run.row, h) > 0)) gradient *= scorer.slope();
        put(args.score_grad, id, h, gradient);
      }
    }
  };

  row_passes(
      g, plan,
      [&](const Run& run, int thread) HWY_ATTR {
        Acc* sum = run.slot >= 0 ? scratch.piece_sum(run.slot) : scratch.sum_of(thread);
        products(run, thread, sum);
        if (run.slot < 0) store(run, thread, sum);
      },
      [&](std::size_t i, int) HWY_ATTR { unite_sums(scratch, long_rows, i); },
      [&](const Run& run, int thread) HWY_ATTR {
        products(run, thread, scratch.sum_of(thread));
        store(run, thread, scratch.piece_sum(long_rows.first_slot(run.row)));
      });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
