// SpMM: which message an operator sends, and the two passes of a run: tasks, then the long rows.
#if defined(WEFT_KERNELS_CPU_SPMM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_SPMM_INL
#undef WEFT_KERNELS_CPU_SPMM_INL
#else
#define WEFT_KERNELS_CPU_SPMM_INL
#endif

#include "kernels/cpu/extremum-inl.hpp"
#include "kernels/cpu/sum_rows-inl.hpp"
#include "kernels/heads.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// The extremum of one row to the output, and who sent it.
template <class Acc, class EdgeAt>
HWY_NOINLINE void finish_extremum(const SpmmArgs& args, const Finish<Acc>& finish, std::int64_t row, Acc* best,
                                  EdgeAt edge_at) {
  const GraphView& g = args.graph;
  const bool empty = g.offsets[row] == g.offsets[row + 1];
  const bool sampled_winners = args.sample.given() && (args.arg_u != nullptr || args.arg_e != nullptr);
  for (std::int64_t i = 0; i < finish.row; ++i) {
    if (empty)
      best[i] = 0;
    else if (semantics::negates_messages(args.reduce))
      best[i] = -best[i];
    EdgeId edge = empty ? -1 : edge_at(i);
    if (!empty && sampled_winners) edge = args.sample.of(row, edge, g.offsets[row]);
    if (args.arg_u != nullptr) args.arg_u[row * finish.row + i] = empty || g.cols == nullptr ? -1 : g.cols[edge];
    if (args.arg_e != nullptr) args.arg_e[row * finish.row + i] = empty ? -1 : g.edge_id(edge);
  }
  finish(row, 0, best);
}

template <class Storage, class Acc>
void extremum_rows(const SpmmArgs& args, const Stager<Storage, Acc>& stager, const Finish<Acc>& finish,
                   const Plan& plan, const RowScratch<Acc>& scratch) {
  const bool negated = semantics::negates_messages(args.reduce);
  for_each_task(plan, stager.graph, [&](const Runs& runs, int thread) HWY_ATTR {
    std::int32_t* arg = scratch.arg(thread);
    EdgeWindow window;
    auto block = stager.start(scratch.stage(thread), window);
    with_lanes<Acc>(stager.width, [&](auto d) HWY_ATTR {
      for (const Run& run : runs) {
        Acc* best = run.slot >= 0 ? scratch.slot(run.slot) : scratch.level(thread, 0);
        extremum_run(d, stager, block, run, negated, scratch.stage(thread), best, arg);
        if (run.slot >= 0) {
          for (std::int64_t i = 0; i < scratch.row; ++i) scratch.slot_arg(run.slot)[i] = run.begin + arg[i];
        } else {
          finish_extremum(args, finish, run.row, best, [&](std::int64_t i) { return run.begin + arg[i]; });
        }
      }
    });
  });
  const LongRows& long_rows = *plan.backing.partition->long_rows;
  parallel_tasks(plan.cpu().threads, static_cast<std::int64_t>(long_rows.rows.size()),
                 [&](std::int64_t i, int) HWY_ATTR {
                   const auto [row, first] = long_rows.rows[static_cast<std::size_t>(i)];
                   Acc* best = scratch.slot(first);
                   EdgeId* arg = scratch.slot_arg(first);
                   for (std::int64_t p = 1; p < long_rows.pieces(static_cast<std::size_t>(i)); ++p)
                     for (std::int64_t f = 0; f < scratch.row; ++f) {
                       const Acc m = scratch.slot(first + p)[f];
                       if (semantics::replaces(m, best[f])) {
                         best[f] = m;
                         arg[f] = scratch.slot_arg(first + p)[f];
                       }
                     }
                   finish_extremum(args, finish, row, best, [&](std::int64_t f) { return arg[f]; });
                 });
}

/// Calls f(Message{}, needs) for what the operator sends, given the shapes of its operands. A source's row, as it is or
/// times one number, has messages of its own, which are reduced as they are loaded.
template <class F>
void with_message(const SpmmArgs& args, F&& f) {
  const bool scaled = args.col_scale.given();
  const bool edge_vector = args.edge.given() && (args.edge.feature_stride != 0 && args.width > 1);
  const bool x_broadcast = args.x.given() && args.x.feature_stride == 0 && args.width > 1;
  semantics::with_meaning(args.op, [&](auto meaning) {
    using Formula = typename decltype(meaning)::Value;
    constexpr bool is_copy = std::is_same_v<Formula, semantics::Left>;
    constexpr bool is_edge_copy = std::is_same_v<Formula, semantics::Right>;
    constexpr bool is_product = std::is_same_v<Formula, semantics::Times<semantics::Left, semantics::Right>>;
    static_assert(is_copy || is_edge_copy || (Formula::reads_left && Formula::reads_right),
                  "of one operand only a copy is sent");
    StageNeeds needs;
    if constexpr (is_copy) {
      needs.weight = scaled;
      scaled ? f(Weighted{}, needs) : f(Plain{}, needs);
    } else if constexpr (is_edge_copy) {
      needs.scale = true;
      f(CopyEdge{}, needs);
    } else if (edge_vector) {
      needs.scale = true;
      x_broadcast ? f(WithEdgeVector<Formula, true>{}, needs) : f(WithEdgeVector<Formula, false>{}, needs);
    } else if constexpr (is_product) {
      needs.weight = true;
      needs.scale_weight = scaled;
      f(Weighted{}, needs);
    } else {
      needs.weight = needs.scale = true;
      f(WithEdgeScalar<Formula>{}, needs);
    }
  });
}

/// Whether col_scale may be applied to the rows of x before the sums: those are the messages, and rows of x are as long
/// as those of the output. (With edge values a scale along the edges costs little more than they do, and x times its
/// scale could leave the range that x times both stays in.)
inline bool scales_rows(const SpmmArgs& args) {
  return args.op == SpmmOp::copy_u && args.col_scale.given() && (args.width == 1 || args.x.feature_stride == 1) &&
         (args.heads == 1 || args.x.head_stride == args.width);
}

/// x times col_scale, row by row. Along the edges the scales would cost sums of narrow rows as much time again.
template <class Acc>
void scale_sources(const SpmmArgs& args, int threads, const RowScratch<Acc>& scratch) {
  constexpr std::int64_t grain = 1 << 14;  // elements a task moves at least
  const auto* const x = static_cast<const Acc*>(args.x.data);
  const auto* const scale = static_cast<const Acc*>(args.col_scale.data);
  parallel_ranges(threads, args.graph.num_cols, grain / scratch.row + 1,
                  [&](std::int64_t begin, std::int64_t end) HWY_ATTR {
                    for (std::int64_t u = begin; u < end; ++u) {
                      const Acc* const from = x + u * args.x.row_stride;
                      Acc* const to = scratch.scaled.data() + u * scratch.row;
                      for_each_element_block<Acc>(scratch.row, [&](auto d, std::int64_t i) HWY_ATTR {
                        hn::StoreU(hn::Mul(hn::LoadU(d, from + i), hn::Set(d, scale[u])), d, to + i);
                      });
                    }
                  });
}

template <class Storage>
void spmm_storage(const SpmmArgs& given, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  SpmmArgs args = with_heads_joined(given);
  const auto scratch = RowScratch<Acc>::take(arena, plan);
  Finish<Acc> finish{args.out,  scratch.row,    semantics::divides_by_edges(args.reduce),
                     args.relu, args.row_scale, nullptr};
  if (args.unbiased_sums) finish.unbiased = args.sample;
  if (args.self_scale.given()) {
    finish.self_scale = static_cast<const Acc*>(args.self_scale.data);
    finish.self = args.x;
  }
  if (args.saturate) finish.most = static_cast<Acc>(largest_value(args.out.dtype));
  if (scratch.row == 0) return;
  if constexpr (std::is_same_v<Storage, Acc>) {
    if (plan.cpu().scaled_rows > 0 && scales_rows(args)) {
      scale_sources(args, plan.cpu().threads, scratch);
      args.x.data = scratch.scaled.data();
      args.x.row_stride = scratch.row;
      args.col_scale = {};
    }
  }
  if (args.bias.given()) {
    with_floating(args.bias.dtype, "bias", [&](auto tag) {
      using Bias = typename decltype(tag)::type;
      for (std::int64_t i = 0; i < scratch.row; ++i)
        scratch.bias[static_cast<std::size_t>(i)] = convert<Acc>(static_cast<const Bias*>(args.bias.data)[i]);
    });
    finish.bias = scratch.bias.data();
  }
  Stager<Storage, Acc> stager;
  stager.graph = args.graph;
  stager.sample = args.sample;
  stager.heads = args.heads;
  stager.width = args.width;
  if (uses_node(args.op)) stager.x = args.x;
  if (uses_edge(args.op)) stager.edge = args.edge;
  stager.col_scale = args.col_scale;
  stager.prefetch_edges = plan.cpu().prefetch_edges;
  with_message(args, [&](auto message, const StageNeeds& needs) {
    using Message = decltype(message);
    stager.needs = needs;
    stager.write = write_messages<Message, Storage, Acc>;
    if (is_extremum(args.reduce)) {
      extremum_rows(args, stager, finish, plan, scratch);
    } else if constexpr (Message::hot) {
      sum_rows<Message>(stager, finish, plan, scratch);
    } else {
      sum_rows<Written>(stager, finish, plan, scratch);
    }
  });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
