// Gradients of gat in one visit of the edges of the transpose: an edge's row of out_grad is read once, for the product
// with the source's value and for the gradient of value.
#if defined(WEFT_KERNELS_CPU_ATTENTION_BACKWARD_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ATTENTION_BACKWARD_INL
#undef WEFT_KERNELS_CPU_ATTENTION_BACKWARD_INL
#else
#define WEFT_KERNELS_CPU_ATTENTION_BACKWARD_INL
#endif

#include "kernels/cpu/attention-inl.hpp"
#include "kernels/cpu/head_dots-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// What edges need of a destination, [4, heads]: its part of the score, its largest score (+inf where all are masked,
/// which makes their weights 0), one over its sum of weights, and the mean of the gradients of its weights, which is
/// out_grad . out.
template <class Storage>
void describe_destinations(const AttentionBackwardArgs& args, const Plan& plan, std::int64_t step) {
  using Acc = AccumulatorOf<Storage>;
  const AttentionArgs& f = args.forward;
  const auto *out = static_cast<const Storage*>(f.out.data),
             *out_grad = static_cast<const Storage*>(args.out_grad.data);
  const auto *row_max = static_cast<const Acc*>(f.row_max.data), *row_sum = static_cast<const Acc*>(f.row_sum.data);
  const Scorer<Storage, Acc> scorer{f, 0, step};
  parallel_ranges(plan.cpu().threads, f.graph.num_rows, 256, [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
    for (std::int64_t v = begin; v < end; ++v) {
      Acc* const to = static_cast<Acc*>(args.destinations.data) + v * 4 * f.heads;
      for (std::int64_t h = 0; h < f.heads; ++h) {
        const Acc top = row_max[v * f.row_max.row_stride + h], sum = row_sum[v * f.row_sum.row_stride + h];
        to[h] = convert<Acc>(*scorer.dst(v, h));
        to[f.heads + h] = sum == 0 ? std::numeric_limits<Acc>::infinity() : top;
        to[2 * f.heads + h] = sum == 0 ? Acc{0} : 1 / sum;
        to[3 * f.heads + h] =
            dot<Acc>(out + v * f.out.row_stride + h * f.width,
                     out_grad + v * args.out_grad.row_stride + h * args.out_grad.head_stride, f.width);
      }
    }
  });
}

template <class Storage>
void attention_backward_storage(const AttentionBackwardArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  if constexpr (std::is_same_v<Storage, Acc>) {  // of halves, out was rounded, and out_grad . out would be off
    const AttentionArgs& forward = args.forward;
    const auto rows = RowScratch<Acc>::take(arena, plan);
    const auto scratch = HeadScratch<Acc>::take(arena, plan);
    const std::int64_t heads = forward.heads, step = scratch.step;
    const int prefetch_edges = plan.cpu().prefetch_edges;
    const GraphView& g = args.reversed;
    const LongRows& long_rows = *plan.backing.partition->long_rows;
    describe_destinations<Storage>(args, plan, step);

    const auto* destinations = static_cast<const Acc*>(args.destinations.data);
    const auto* out_grad = static_cast<const Acc*>(args.out_grad.data);
    auto* score_grad = static_cast<Acc*>(args.score_grad.data);
    const std::int64_t grad_bytes =
        ((heads - 1) * args.out_grad.head_stride + forward.width) * static_cast<std::int64_t>(sizeof(Acc));
    const std::int64_t destination_bytes = 4 * heads * static_cast<std::int64_t>(sizeof(Acc));
    const Scorer<Acc, Acc> scorer{forward, prefetch_edges, step};
    const HeadDots<Acc, Acc> dots{heads, forward.width, step};
    const auto stager = weighted_heads<Acc>(g, args.out_grad, forward, scratch, 0);  // products have read the rows
    const Finish<Acc> finish{args.value_grad, rows.row, false, false, {}, nullptr};
    const ScalarsOut<Acc> src_grad(args.src_grad);
    const bool drops = forward.dropout.given();
    const auto ahead = [&](EdgeId k) HWY_ATTR WEFT_INLINE_LAMBDA {
      if (k + prefetch_edges >= g.num_edges) return;
      const std::int64_t v = g.cols[k + prefetch_edges];
      prefetch_row(out_grad + v * args.out_grad.row_stride, grad_bytes);
      prefetch_row(destinations + v * 4 * heads, destination_bytes);
      prefetch_row(score_grad + g.edge_id(k + prefetch_edges) * heads, heads * static_cast<std::int64_t>(sizeof(Acc)));
    };

    // The weights of a run's edges, less those that dropout takes, to `weight`, and the gradients of what leaky_relu is
    // applied to in the place of their scores.
    const auto weigh = [&](const Run& run, int thread, Acc* score, Acc* weight) HWY_ATTR {
      const std::int64_t n = run.end - run.begin;
      Acc *const top = scratch.line(thread, 2), *const inverse = scratch.line(thread, 3),
                 *const mean = scratch.line(thread, 4), *const own = scratch.row(thread, 0);
      dots(
          scorer.value(run.row, 0), n, weight,
          [&](std::int64_t k) HWY_ATTR { return out_grad + g.cols[run.begin + k] * args.out_grad.row_stride; },
          [&](std::int64_t k) HWY_ATTR WEFT_INLINE_LAMBDA { ahead(run.begin + k); });
      for (std::int64_t k = 0; k < n; ++k) {
        const Acc* const v = destinations + std::int64_t{g.cols[run.begin + k]} * 4 * heads;
        scorer.copy_heads(v, score + k * step);
        scorer.copy_heads(v + heads, top + k * step);
        scorer.copy_heads(v + 2 * heads, inverse + k * step);
        scorer.copy_heads(v + 3 * heads, mean + k * step);
      }
      scorer.repeat_terms(scorer.src(run.row, 0), own);
      const Acc slope = scorer.slope();
      const auto each = [&](const auto& kept) HWY_ATTR {
        each_vector_of_line<Acc>(n, step, [&](auto d, std::int64_t i, std::int64_t of_row) HWY_ATTR {
          const auto at = [&](const Acc* line) HWY_ATTR { return hn::LoadU(d, line + i); };
          const auto z = hn::Add(at(score), hn::LoadU(d, own + of_row));
          const auto alpha = hn::Mul(weight_below(d, leaky_relu(d, z, hn::Set(d, slope)), at(top)), at(inverse));
          const auto keeps = kept(d, i);
          const auto gradient = hn::Mul(alpha, hn::Sub(hn::Mul(at(weight), keeps), at(mean)));
          hn::StoreU(hn::Mul(alpha, keeps), d, weight + i);
          const auto leans = hn::Not(hn::Gt(z, hn::Zero(d)));
          hn::StoreU(hn::IfThenElse(leans, hn::Mul(gradient, hn::Set(d, slope)), gradient), d, score + i);
        });
      };
      if (!drops) return each([](auto d, std::int64_t) HWY_ATTR { return hn::Set(d, Acc{1}); });
      Acc* const factor = scratch.line(thread, 5);
      const auto scale = static_cast<Acc>(forward.dropout.scale());
      scorer.each_drop(RunEdges(g, run), [&](std::int64_t at, bool dropped) { factor[at] = dropped ? Acc{0} : scale; });
      each([factor](auto d, std::int64_t i) HWY_ATTR { return hn::LoadU(d, factor + i); });
    };

    const auto finish_row = [&](std::int64_t row, const Acc* value, const Acc* source) HWY_ATTR {
      for (std::int64_t h = 0; h < heads; ++h) src_grad(row, h, source[h]);
      finish(row, 0, value);
    };
    row_passes(
        g, plan,
        [&](const Run& run, int thread) HWY_ATTR {
          const std::int64_t n = run.end - run.begin;
          const Levels<Acc> levels{rows.level(thread, 0), rows.row};
          Acc* const sums = run.slot >= 0 ? rows.slot(run.slot) : levels.at(rows.levels_per_thread - 1);
          Acc* const source = run.slot >= 0 ? scratch.piece_sum(run.slot) : scratch.row(thread, 1);
          Acc *const score = scratch.line(thread, 0), *const weight = scratch.line(thread, 1);
          weigh(run, thread, score, weight);
          EdgeWindow window;
          sum_weighted_run(stager, window, run, levels, rows.stage(thread), static_cast<const Acc*>(weight), sums);
          for (std::int64_t k = 0; k < n; ++k) {
            Acc* const to = score_grad + g.edge_id(run.begin + k) * heads;
            for (std::int64_t h = 0; h < heads; ++h) to[h] = score[k * step + h];
          }
          sum_line(score, n, step, source);
          if (run.slot < 0) finish_row(run.row, sums, source);
        },
        [&](std::size_t i, int thread) HWY_ATTR {
          unite_sums(scratch, long_rows, i);
          const auto [row, first] = long_rows.rows[i];
          const Levels<Acc> levels{rows.level(thread, 0), rows.row};
          Acc* const sums = levels.at(rows.levels_per_thread - 1);
          if (forward.width > 0) sum_pieces(rows, long_rows, i, levels, sums);
          finish_row(row, sums, scratch.piece_sum(first));
        },
        [](const Run&, int) {});
  }
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
