// Fused attention, forward: scores, softmax and the weighted sum of a row's sources in one visit; nothing
// of the size of the edges is stored.
#if defined(WEFT_KERNELS_CPU_ATTENTION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ATTENTION_INL
#undef WEFT_KERNELS_CPU_ATTENTION_INL
#else
#define WEFT_KERNELS_CPU_ATTENTION_INL
#endif

#include "kernels/cpu/scores-inl.hpp"
#include "kernels/cpu/sum_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// Sums over rows of x = [nodes, heads, width] times weights that come with each run, [edges, step].
template <class Storage, class Acc>
Stager<Storage, Acc> weighted_heads(const GraphView& graph, const Operand& x, const AttentionArgs& args,
                                    const HeadScratch<Acc>& scratch, int prefetch_edges) {
  Stager<Storage, Acc> stager;
  stager.graph = graph;
  stager.x = x;
  stager.width = args.heads * args.width;  // heads stand side by side: a row of them is one of features
  stager.needs.weight = true;
  stager.run_weights = true;
  stager.weight_step = scratch.step;
  stager.head_of = number_heads(args.heads, args.width, scratch.head_of.data());
  stager.prefetch_edges = prefetch_edges;
  return stager;
}

template <class Storage, class Acc>
HWY_INLINE void sum_weighted_run(const Stager<Storage, Acc>& stager, EdgeWindow& window, const Run& run,
                                 const Levels<Acc>& levels, Acc* staged, const Acc* weights, Acc* sums) {
  if (stager.width == 0) return;
  auto block = stager.start(staged, window);
  with_lanes<Acc>(stager.width, [&](auto d) HWY_ATTR {
    if (stager.weight_step == 1) {
      sum_run<Weighted>(d, stager, block, run, levels, staged, weights, sums);
    } else {
      sum_run<WeightedHeads>(d, stager, block, run, levels, staged, weights, sums);
    }
  });
}

/// A row divided by the sum of its weights, a head at a time: 0 where all is masked, and so may hold 0 * inf.
template <class Acc>
HWY_INLINE void divide_by_weights(Acc* sums, const Acc* total, const IndexOf<Acc>* head_of, std::int64_t step,
                                  std::int64_t features) {
  const FullTag<Acc> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t f = 0;  // each feature once: vectors that overlap would divide some twice
  for (; f + lanes <= features; f += lanes) {
    hn::StoreU(share_of(d, hn::LoadU(d, sums + f), of_heads(d, total, head_of + f, step)), d, sums + f);
  }
  for (; f < features; ++f) sums[f] = total[head_of[f]] == 0 ? Acc{0} : sums[f] / total[head_of[f]];
}

template <class Storage>
void attention_forward_storage(const AttentionArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  const auto rows = RowScratch<Acc>::take(arena, plan);
  const auto scratch = HeadScratch<Acc>::take(arena, plan);
  const std::int64_t step = scratch.step;
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  const Finish<Acc> finish{args.out, rows.row, false, false, {}, nullptr};
  const Scorer<Storage, Acc> scorer{args, plan.cpu().prefetch_edges, step};
  auto stager = weighted_heads<Storage>(args.graph, args.value, args, scratch, plan.cpu().prefetch_edges);
  stager.sample = args.sample;

  const ScalarsOut<Acc> row_max(args.row_max), row_sum(args.row_sum);
  // The weighted sum divided by the sum of weights, head by head, and the statistics the backward needs.
  const auto finish_row = [&](std::int64_t row, Acc* sums, const Acc* top, const Acc* total) HWY_ATTR {
    divide_by_weights(sums, total, stager.head_of, step, rows.row);
    for (std::int64_t h = 0; h < args.heads; ++h) {
      row_max(row, h, top[h]);
      row_sum(row, h, total[h]);
    }
    finish(row, 0, sums);
  };

  row_passes(
      args.graph, plan,
      [&](const Run& run, int thread) HWY_ATTR {
        const std::int64_t n = run.end - run.begin;
        const Levels<Acc> levels{rows.level(thread, 0), rows.row};
        Acc* sums = run.slot >= 0 ? rows.slot(run.slot) : levels.at(rows.levels_per_thread - 1);
        Acc* top = run.slot >= 0 ? scratch.piece_max(run.slot) : scratch.row(thread, 0);
        Acc* total = run.slot >= 0 ? scratch.piece_sum(run.slot) : scratch.row(thread, 1);
        Acc* s = scratch.line(thread, 0);
        EdgeWindow window;
        const RunEdges edges(args.graph, args.sample, run, window);
        scorer(edges, s, scratch.row(thread, 2));
        max_of_line(s, n, step, top);
        weigh_line(s, n, step, top);
        sum_line(s, n, step, total);
        if (args.dropout.given())
          scorer.each_drop(edges, [&](std::int64_t at, bool dropped) {
            s[at] *= dropped ? Acc{0} : static_cast<Acc>(args.dropout.scale());
          });
        sum_weighted_run(stager, window, run, levels, rows.stage(thread), static_cast<const Acc*>(s), sums);
        if (run.slot < 0) finish_row(run.row, sums, top, total);
      },
      [&](std::size_t i, int thread) HWY_ATTR {
        const auto [row, first] = long_rows.rows[i];
        for (std::int64_t h = 0; h < args.heads; ++h)
          unite_statistics(scratch, long_rows, i, h, [&](std::int64_t p, Acc factor) {
            for (std::int64_t f = 0; f < args.width; ++f) rows.slot(first + p)[h * args.width + f] *= factor;
          });
        const Levels<Acc> levels{rows.level(thread, 0), rows.row};
        Acc* sums = levels.at(rows.levels_per_thread - 1);
        if (args.width > 0) sum_pieces(rows, long_rows, i, levels, sums);
        finish_row(row, sums, scratch.piece_max(first), scratch.piece_sum(first));
      },
      [](const Run&, int) {});
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
