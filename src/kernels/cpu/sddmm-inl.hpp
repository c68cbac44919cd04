// SDDMM: one result an edge from operands at its ends or on it. Edges are independent, so tasks need no
// second pass; a row's own features stay in cache while the row lasts.
#if defined(WEFT_KERNELS_CPU_SDDMM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_SDDMM_INL
#undef WEFT_KERNELS_CPU_SDDMM_INL
#else
#define WEFT_KERNELS_CPU_SDDMM_INL
#endif

#include "core/parallel.hpp"
#include "kernels/cpu/dot-inl.hpp"
#include "kernels/cpu/messages-inl.hpp"
#include "kernels/signatures.hpp"
#include "plan/partition.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

struct CopyOp {
  template <class V>
  static HWY_INLINE V apply(V a, V) {
    return a;
  }
};

/// One edge's operand: where it stands for head h.
template <class Storage>
struct SddmmOperand {
  const Storage* data = nullptr;
  Target target = Target::u;
  std::int64_t row_stride = 0, head_stride = 0, feature_stride = 0;

  SddmmOperand(const Operand& o, Target t)
      : data(static_cast<const Storage*>(o.data)),
        target(t),
        row_stride(o.row_stride),
        head_stride(o.head_stride),
        feature_stride(o.feature_stride) {}
  HWY_INLINE const Storage* at(std::int64_t u, std::int64_t v, EdgeId e) const {
    return data + (target == Target::u ? u : target == Target::v ? v : e) * row_stride;
  }
};

template <class Op, class Storage, class Acc, class Out>
HWY_INLINE void combine_features(const Storage* a, bool a_vector, const Storage* b, bool b_vector, std::int64_t width,
                                 Out* out) {
  for_each_element_block<Acc>(width, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto va = a_vector ? load_as(d, a + i) : hn::Set(d, convert<Acc>(*a));
    if constexpr (std::is_same_v<Op, CopyOp>) {
      store_as(d, va, out + i);
    } else {
      const auto vb = b_vector ? load_as(d, b + i) : hn::Set(d, convert<Acc>(*b));
      store_as(d, Op::apply(va, vb), out + i);
    }
  });
}

/// Where a dot product runs over a broadcast operand: sum of a[i] * b[0].
template <class Acc, class Storage>
HWY_INLINE Acc dot_of(const Storage* a, bool a_vector, const Storage* b, bool b_vector, std::int64_t width) {
  if (a_vector && b_vector) return dot<Acc>(a, b, width);
  return reduce_features<Acc>(width, [&](auto d, auto sum, std::int64_t i) HWY_ATTR {
    const auto va = a_vector ? load_as(d, a + i) : hn::Set(d, convert<Acc>(*a));
    const auto vb = b_vector ? load_as(d, b + i) : hn::Set(d, convert<Acc>(*b));
    return hn::MulAdd(va, vb, sum);
  });
}

/// Calls visit(u, v, id) for every edge; the sources further on are prefetched.
template <class Storage, class Visit>
void for_each_edge(const SddmmArgs& args, const Plan& plan, Visit&& visit) {
  const GraphView& g = args.graph;
  const Partition& partition = *plan.partition;
  const Operand* gathered = args.op != SddmmOp::copy_rhs && args.lhs_target == Target::u   ? &args.lhs
                            : args.op != SddmmOp::copy_lhs && args.rhs_target == Target::u ? &args.rhs
                                                                                           : nullptr;
  const std::int64_t bytes =
      gathered == nullptr
          ? 0
          : ((args.heads - 1) * gathered->head_stride + (gathered->feature_stride != 0 ? args.width : 1)) *
                static_cast<std::int64_t>(sizeof(Storage));
  parallel_tasks(
      plan.threads, partition.tasks(),
      [&](std::int64_t task, int) HWY_ATTR {
        partition.for_each_run(g, task, [&](const Run& run) HWY_ATTR {
          for (EdgeId k = run.begin; k < run.end; ++k) {
            if (gathered != nullptr && k + plan.prefetch_edges < g.num_edges)
              prefetch_row(static_cast<const Storage*>(gathered->data) +
                               std::int64_t{g.cols[k + plan.prefetch_edges]} * gathered->row_stride,
                           bytes);
            visit(std::int64_t{g.cols[k]}, run.row, g.edge_id(k));
          }
        });
      },
      task_order(plan));
}

template <class Storage, class Out>
void sddmm_to(const SddmmArgs& args, const Plan& plan) {
  using Acc = AccumulatorOf<Storage>;
  const bool swapped = args.op == SddmmOp::copy_rhs;  // a copy of the right is a copy of the left, exchanged
  const SddmmOperand<Storage> lhs(swapped ? args.rhs : args.lhs, swapped ? args.rhs_target : args.lhs_target);
  const SddmmOperand<Storage> rhs(swapped ? args.lhs : args.rhs, swapped ? args.lhs_target : args.rhs_target);
  const bool lhs_vector = lhs.feature_stride != 0, rhs_vector = rhs.feature_stride != 0;
  Out* out = static_cast<Out*>(args.out.data);
  if (args.op == SddmmOp::dot && lhs_vector && rhs_vector) {
    for_each_edge<Storage>(args, plan, [&](std::int64_t u, std::int64_t v, EdgeId e) HWY_ATTR {
      const Storage *a = lhs.at(u, v, e), *b = rhs.at(u, v, e);
      for (std::int64_t h = 0; h < args.heads; ++h)
        out[e * args.out.row_stride + h] =
            convert<Out>(dot<Acc>(a + h * lhs.head_stride, b + h * rhs.head_stride, args.width));
    });
    return;
  }
  if (args.op == SddmmOp::dot) {
    for_each_edge<Storage>(args, plan, [&](std::int64_t u, std::int64_t v, EdgeId e) HWY_ATTR {
      const Storage *a = lhs.at(u, v, e), *b = rhs.at(u, v, e);
      for (std::int64_t h = 0; h < args.heads; ++h)
        out[e * args.out.row_stride + h] = convert<Out>(
            dot_of<Acc>(a + h * lhs.head_stride, lhs_vector, b + h * rhs.head_stride, rhs_vector, args.width));
    });
    return;
  }
  const auto map = [&](auto op) {
    for_each_edge<Storage>(args, plan, [&](std::int64_t u, std::int64_t v, EdgeId e) HWY_ATTR {
      const Storage *a = lhs.at(u, v, e), *b = rhs.data != nullptr ? rhs.at(u, v, e) : nullptr;
      for (std::int64_t h = 0; h < args.heads; ++h)
        combine_features<decltype(op), Storage, Acc>(a + h * lhs.head_stride, lhs_vector,
                                                     b != nullptr ? b + h * rhs.head_stride : a, rhs_vector, args.width,
                                                     out + e * args.out.row_stride + h * args.width);
    });
  };
  switch (args.op) {
    case SddmmOp::add: return map(AddOp{});
    case SddmmOp::sub: return map(SubOp{});
    case SddmmOp::mul: return map(MulOp{});
    case SddmmOp::div: return map(DivOp{});
    default: return map(CopyOp{});
  }
}

template <class Storage>
void sddmm_storage(const SddmmArgs& args, const Plan& plan, Arena) {
  if (args.heads == 0 || (args.width == 0 && args.op != SddmmOp::dot)) return;
  if (args.out.dtype == dtype_of<Storage>) return sddmm_to<Storage, Storage>(args, plan);
  sddmm_to<Storage, AccumulatorOf<Storage>>(args, plan);
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
