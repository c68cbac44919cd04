// The edge part of attention's backward: weights and score gradients, recomputed from the row statistics.
#if defined(WEFT_KERNELS_CPU_ATTENTION_EDGES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ATTENTION_EDGES_INL
#undef WEFT_KERNELS_CPU_ATTENTION_EDGES_INL
#else
#define WEFT_KERNELS_CPU_ATTENTION_EDGES_INL
#endif

#include "kernels/cpu/head_dots-inl.hpp"
#include "kernels/cpu/scores-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

template <class Storage>
void attention_edges_storage(const AttentionEdgeArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  const AttentionArgs& forward = args.forward;
  const GraphView& g = forward.graph;
  RowScratch<Acc>::take(arena, plan);
  const auto scratch = HeadScratch<Acc>::take(arena, plan);
  const std::int64_t step = scratch.step;
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  const int prefetch_edges = plan.cpu().prefetch_edges;
  const Scorer<Storage, Acc> scorer{forward, prefetch_edges, step};
  const bool gradients = args.score_grad.data != nullptr;
  const auto* out_grad = static_cast<const Storage*>(args.out_grad.data);
  const auto statistic = [](const Result& r, std::int64_t row, std::int64_t h) {
    return static_cast<const Acc*>(r.data)[row * r.row_stride + h];
  };

  const bool drops = gradients && forward.dropout.given();
  const Acc scale = drops ? forward.dropout.scale() : 1.0f;
  const std::int64_t value_bytes =
      ((forward.heads - 1) * forward.value.head_stride + forward.width) * static_cast<std::int64_t>(sizeof(Storage));

  /// grad . value[u] of every edge and head.
  const HeadDots<Storage, Acc> dots{forward.heads, forward.width, step};
  const auto multiply = [&](const Run& run, Acc* product) HWY_ATTR {
    dots(
        out_grad + run.row * args.out_grad.row_stride, run.end - run.begin, product,
        [&](std::int64_t k) HWY_ATTR { return scorer.value(g.cols[run.begin + k], 0); },
        [&](std::int64_t k) HWY_ATTR WEFT_INLINE_LAMBDA {
          const EdgeId later = run.begin + k + prefetch_edges;
          if (later < g.num_edges) prefetch_row(scorer.value(g.cols[later], 0), value_bytes);
        });
  };

  // alpha to the first line, negative where its edge is dropped, grad . value[u] to the second, and the sums of their
  // products to `sum`: taken over the edges, not from the rounded output, which for half storage would be a bias in
  // every edge.
  const auto products = [&](const Run& run, int thread, Acc* sum) HWY_ATTR {
    const std::int64_t n = run.end - run.begin;
    Acc *alpha = scratch.line(thread, 0), *product = scratch.line(thread, 1);
    Acc *top = scratch.row(thread, 0), *total = scratch.row(thread, 1);
    scorer(RunEdges(g, run), alpha, top);
    repeat_heads(forward.heads, step, top, [&](std::int64_t h) { return statistic(forward.row_max, run.row, h); });
    repeat_heads(forward.heads, step, total, [&](std::int64_t h) { return statistic(forward.row_sum, run.row, h); });
    weigh_line(alpha, n, step, top);
    divide_line(alpha, n, step, total);
    if (!gradients) return;
    multiply(run, product);
    if (drops) {
      scorer.each_drop(RunEdges(g, run), [&](std::int64_t at, bool dropped) {
        product[at] = dropped ? Acc{0} : product[at] * scale;
        if (dropped) alpha[at] *= -1;
      });
    }
    sum_products(alpha, product, n, step, sum);
  };

  const ScalarsOut<Acc> alpha_out(args.alpha), score_grad(args.score_grad), bias_grad(args.bias_grad);
  const bool leans = forward.score == Score::gat;
  const auto store = [&](const Run& run, int thread, const Acc* sum) HWY_ATTR {
    const Acc *const alpha = scratch.line(thread, 0), *const product = scratch.line(thread, 1);
    for (EdgeId k = run.begin; k < run.end; ++k) {
      const EdgeId id = g.edge_id(k);
      for (std::int64_t h = 0; h < forward.heads; ++h) {
        const std::int64_t at = (k - run.begin) * step + h;
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
        Acc* sum = run.slot >= 0 ? scratch.piece_sum(run.slot) : scratch.row(thread, 2);
        products(run, thread, sum);
        if (run.slot < 0) store(run, thread, sum);
      },
      [&](std::size_t i, int) HWY_ATTR { unite_sums(scratch, long_rows, i); },
      [&](const Run& run, int thread) HWY_ATTR {
        products(run, thread, scratch.row(thread, 2));
        store(run, thread, scratch.piece_sum(long_rows.first_slot(run.row)));
      });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
