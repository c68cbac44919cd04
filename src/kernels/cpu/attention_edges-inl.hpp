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
  const int prefetch_edges = plan.cpu().prefetch_edges;
  const Scorer<Storage, Acc> scorer{forward, prefetch_edges};
  const bool gradients = args.score_grad.data != nullptr;
  const auto* out_grad = static_cast<const Storage*>(args.out_grad.data);
  const auto statistic = [](const Result& r, std::int64_t row, std::int64_t h) {
    return static_cast<const Acc*>(r.data)[row * r.row_stride + h];
  };

  const bool drops = gradients && forward.dropout.given();
  const Acc scale = drops ? forward.dropout.scale() : 1.0f;
  const std::int64_t value_bytes =
      ((forward.heads - 1) * forward.value.head_stride + forward.width) * static_cast<std::int64_t>(sizeof(Storage));

  /// grad . value[u] of every edge, a line a head; a few edges at a time, whose values stay in cache for all heads.
  const auto multiply = [&](const Run& run, Acc* product) HWY_ATTR {
    constexpr EdgeId few = 32;
    for (EdgeId begin = run.begin; begin < run.end; begin += few) {
      const EdgeId end = std::min(run.end, begin + few);
      for (std::int64_t h = 0; h < forward.heads; ++h) {
        const Storage* grad = out_grad + run.row * args.out_grad.row_stride + h * args.out_grad.head_stride;
        Acc* const to = product + h * piece_edges - run.begin;
        with_dot<Acc>(grad, forward.width, [&](const auto& times) HWY_ATTR {
          for (EdgeId k = begin; k < end; ++k) {
            if (h == 0 && k + prefetch_edges < g.num_edges)
              prefetch_row(scorer.value(g.cols[k + prefetch_edges], 0), value_bytes);
            to[k] = times(scorer.value(g.cols[k], h));
          }
        });
      }
    }
  };

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
      each_score(of_head, n,
                 [total](auto d, auto v) HWY_ATTR { return total == 0 ? hn::Zero(d) : hn::Div(v, hn::Set(d, total)); });
    }
    if (!gradients) return;
    multiply(run, product);
    if (drops) {
      scorer.each_drop(RunEdges(g, run), [&](std::int64_t h, std::int64_t k, bool dropped) {
        Acc& times = product[h * piece_edges + k];
        times = dropped ? Acc{0} : times * scale;
        if (dropped) alpha[h * piece_edges + k] *= -1;
      });
    }
    for (std::int64_t h = 0; h < forward.heads; ++h, alpha += piece_edges, product += piece_edges)
      sum[h] = dot<Acc>(alpha, product, n);
  };

  const ScalarsOut<Acc> alpha_out(args.alpha), score_grad(args.score_grad), bias_grad(args.bias_grad);
  const bool leans = forward.score == Score::gat;
  const auto store = [&](const Run& run, int thread, const Acc* sum) HWY_ATTR {
    Acc *const alpha = scratch.score(thread), *const product = scratch.weight(thread);
    for (EdgeId k = run.begin; k < run.end; ++k) {
      const EdgeId id = g.edge_id(k);
      for (std::int64_t h = 0; h < forward.heads; ++h) {
        const std::int64_t at = h * piece_edges + (k - run.begin);
        const Acc weight = std::fabs(alpha[at]);
        alpha_out(id, h, alpha[at] < 0 ? Acc{0} : weight * scale);
        if (!gradients) continue;
        Acc gradient = weight * (product[at] - sum[h]);
        if (bias_grad.given()) bias_grad(id, h, gradient);
        if (leans && !(scorer.sum(g.cols[k], run.row, id, h) > 0)) gradient *= scorer.slope();
        score_grad(id, h, gradient);
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
