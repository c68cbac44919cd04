// GATv2's gradients: weighted sums of leaky_relu(col + row + edge), or of attn times its derivative.
#if defined(WEFT_KERNELS_CPU_LEAKY_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_LEAKY_INL
#undef WEFT_KERNELS_CPU_LEAKY_INL
#else
#define WEFT_KERNELS_CPU_LEAKY_INL
#endif

#include "kernels/cpu/sum_rows-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

template <class Storage>
void leaky_sum_storage(const LeakyArgs& args, const Plan& plan, Arena arena) {
  using Acc = AccumulatorOf<Storage>;
  const auto scratch = RowScratch<Acc>::take(arena, plan);
  if (scratch.row == 0) return;
  const Finish<Acc> finish{args.out, scratch.row, false, false, {}, nullptr};
  Stager<Storage, Acc> stager;
  stager.graph = args.graph;
  stager.heads = args.heads;
  stager.width = args.width;
  stager.x = args.col;
  stager.row = args.row;
  stager.term = args.edge;
  stager.attn = args.attn;
  stager.edge = args.factor;
  stager.slope = static_cast<Acc>(args.slope);
  stager.needs.weight = true;
  stager.prefetch_edges = plan.cpu().prefetch_edges;
  const auto choose = [&]<bool Term>(std::bool_constant<Term>) {
    stager.write = args.derivative ? write_messages<LeakyDerivative<Term>, Storage, Acc>
                                   : write_messages<LeakyValue<Term>, Storage, Acc>;
  };
  args.edge.given() ? choose(std::true_type{}) : choose(std::false_type{});
  sum_rows<Written>(stager, finish, plan, scratch);
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
