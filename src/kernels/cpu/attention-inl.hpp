// Fused attention, forward: scores, softmax and the weighted sum of a row's sources in one visit; nothing
// of the size of the edges is stored.
#if defined(WEFT_KERNELS_CPU_ATTENTION_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ATTENTION_INL
#undef WEFT_KERNELS_CPU_ATTENTION_INL
#else
#define WEFT_KERNELS_CPU_ATTENTION_INL
#endif

#include <algorithm>

#include "kernels/cpu/scores-inl.hpp"
#include "kernels/cpu/sum_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

template <class Storage>
void attention_forward_storage(const AttentionArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  const auto rows = RowScratch<Acc>::take(arena, plan);
  const auto scratch = SoftmaxScratch<Acc>::take(arena, plan);
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  const Finish<Acc> finish{args.out, rows.row, false, false, {}, nullptr};
  const Scorer<Storage, Acc> scorer{args, plan.cpu().prefetch_edges};

  Stager<Storage, Acc> stager;
  stager.graph = args.graph;
  stager.sample = args.sample;
  stager.heads = args.heads;
  stager.width = args.width;
  stager.x = args.value;
  stager.needs.weight = true;
  stager.run_weights = true;
  stager.prefetch_edges = plan.cpu().prefetch_edges;

  const ScalarsOut<Acc> row_max(args.row_max), row_sum(args.row_sum);
  // The weighted sum divided by the sum of weights, head by head, and the statistics the backward needs.
  const auto finish_row = [&](std::int64_t row, Acc* sums, const Acc* top, const Acc* total) HWY_ATTR {
    for (std::int64_t h = 0; h < args.heads; ++h) {
      Acc* const head = sums + h * args.width;  // where everything is masked it may hold 0 * inf
      const Acc weights = total[h];
      if (weights == 0) {
        std::fill_n(head, args.width, Acc{0});
      } else {  // each feature once: vectors that overlap would divide some twice
        const FullTag<Acc> d;
        const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
        std::int64_t f = 0;
        for (; f + lanes <= args.width; f += lanes)
          hn::StoreU(hn::Div(hn::LoadU(d, head + f), hn::Set(d, weights)), d, head + f);
        for (; f < args.width; ++f) head[f] /= weights;
      }
      row_max(row, h, top[h]);
      row_sum(row, h, weights);
    }
    finish(row, 0, sums);
  };

  row_passes(
      args.graph, plan,
      [&](const Run& run, int thread) HWY_ATTR {
        const std::int64_t n = run.end - run.begin;
        const Levels<Acc> levels{rows.level(thread, 0), rows.row};
        Acc* sums = run.slot >= 0 ? rows.slot(run.slot) : levels.at(rows.levels_per_thread - 1);
        Acc* top = run.slot >= 0 ? scratch.piece_max(run.slot) : scratch.max_of(thread);
        Acc* total = run.slot >= 0 ? scratch.piece_sum(run.slot) : scratch.sum_of(thread);
        Acc* s = scratch.score(thread);
        EdgeWindow window;
        const RunEdges edges(args.graph, args.sample, run, window);
        scorer(edges, s);
        for (std::int64_t h = 0; h < args.heads; ++h) {
          top[h] = n == 0 ? -std::numeric_limits<Acc>::infinity() : max_score(s + h * piece_edges, n);
          total[h] = exponentials(s + h * piece_edges, n, top[h]);
        }
        if (args.dropout.given())
          scorer.each_drop(edges, [&](std::int64_t h, std::int64_t k, bool dropped) {
            s[h * piece_edges + k] *= dropped ? Acc{0} : static_cast<Acc>(args.dropout.scale());
          });
        if (args.width > 0) {
          auto block = stager.start(rows.stage(thread), window);
          with_lanes<Acc>(args.width, [&](auto d) HWY_ATTR {
            sum_run<Weighted>(d, stager, block, run, levels, rows.stage(thread), static_cast<const Acc*>(s), sums);
          });
        }
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
