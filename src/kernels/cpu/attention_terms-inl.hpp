// GATv2's gradients of what edges add to leaky_relu's argument, one vector per edge.
#if defined(WEFT_KERNELS_CPU_ATTENTION_TERMS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ATTENTION_TERMS_INL
#undef WEFT_KERNELS_CPU_ATTENTION_TERMS_INL
#else
#define WEFT_KERNELS_CPU_ATTENTION_TERMS_INL
#endif

#include "kernels/cpu/scores-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

template <class Storage>
void attention_terms_storage(const AttentionTermArgs& args, const Plan& plan, Arena) {
  using Acc = AccumulatorOf<Storage>;
  const AttentionArgs& forward = args.forward;
  const GraphView& g = forward.graph;
  const Scorer<Storage, Acc> scorer{forward, plan.cpu().prefetch_edges};
  const Acc slope = scorer.slope();
  auto* const out = static_cast<Storage*>(args.edge_grad.data);
  for_each_task(plan, g, [&](const Runs& runs, int) HWY_ATTR {
    for (const Run& run : runs)
      for (EdgeId k = run.begin; k < run.end; ++k) {
        const EdgeId id = g.edge_id(k);
        for (std::int64_t h = 0; h < forward.heads; ++h) {
          const Storage *from = scorer.src(g.cols[k], h), *at = scorer.dst(run.row, h), *term = scorer.edge(id, h);
          const Storage* attn = static_cast<const Storage*>(forward.attn.data) + h * forward.attn.head_stride;
          const Acc gradient = get<Acc>(args.score_grad, id, h);
          Storage* const to = out + id * args.edge_grad.row_stride + h * forward.score_width;
          for_each_element_block<Acc>(forward.score_width, [&](auto d, std::int64_t i) HWY_ATTR {
            const auto z = hn::Add(hn::Add(load_as(d, from + i), load_as(d, at + i)), load_as(d, term + i));
            const auto steep = hn::Mul(hn::Set(d, gradient), load_as(d, attn + i));
            store_as(d, hn::IfThenElse(hn::Gt(z, hn::Zero(d)), steep, hn::Mul(steep, hn::Set(d, slope))), to + i);
          });
        }
      }
  });
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
