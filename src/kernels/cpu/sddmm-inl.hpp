// SDDMM: one result per edge from operands at its ends or on it. Edges are independent, so tasks need no
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

/// An operand that the formula does not read may be null.
template <class Formula, class Storage, class Acc, class Out>
HWY_INLINE void combine_features(const Storage* a, bool a_vector, const Storage* b, bool b_vector, std::int64_t width,
                                 Out* out) {
  for_each_element_block<Acc>(width, [&](auto d, std::int64_t i) HWY_ATTR {
    const auto load = [&](const Storage* from, bool vector)
                          HWY_ATTR { return vector ? load_as(d, from + i) : hn::Set(d, convert<Acc>(*from)); };
    auto va = hn::Zero(d), vb = va;
    if constexpr (Formula::reads_left) va = load(a, a_vector);
    if constexpr (Formula::reads_right) vb = load(b, b_vector);
    store_as(d, Lanes<Formula>::of(va, vb), out + i);
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

/// Asks for the sources of edges further on.
template <class Storage>
struct SourcesAhead {
  const NodeId* cols = nullptr;
  EdgeId last = 0;
  const Storage* data = nullptr;
  std::int64_t stride = 0, bytes = 0;  // of a source; 0 bytes: nothing is asked for
  int edges = 0;

  SourcesAhead(const SddmmArgs& args, const Operand* source, const Plan& plan) {
    if (source == nullptr || plan.cpu().prefetch_edges == 0) return;
    cols = args.graph.cols;
    last = args.graph.num_edges - 1;
    data = static_cast<const Storage*>(source->data);
    stride = source->row_stride;
    bytes = ((args.heads - 1) * source->head_stride + (source->feature_stride != 0 ? args.width : 1)) *
            static_cast<std::int64_t>(sizeof(Storage));
    edges = plan.cpu().prefetch_edges;
  }
  HWY_INLINE void prefetch(EdgeId k) const {
    if (bytes == 0) return;
    const EdgeId ahead = k + edges < last ? k + edges : last;
    prefetch_row(data + std::int64_t{cols[ahead]} * stride, bytes);
  }
};

/// Dot products of a row's own vector with its sources', for the widths whose vectors all fit registers.
template <int Count, class Storage, class Out>
void dot_rows(const SddmmArgs& args, const Operand& at_row, const Operand& at_source, const Plan& plan) {
  const GraphView& g = args.graph;
  const FullTag<AccumulatorOf<Storage>> d;
  const auto* rows = static_cast<const Storage*>(at_row.data);
  const auto* sources = static_cast<const Storage*>(at_source.data);
  const SourcesAhead<Storage> further(args, &at_source, plan);
  Out* out = static_cast<Out*>(args.out.data);
  for_each_task(plan, g, [&](const Runs& runs, int) HWY_ATTR {
    for (const Run& run : runs) {
      if (run.begin == run.end) continue;
      const DotWith<Count, decltype(d)> dot(d, rows + run.row * at_row.row_stride);
      for (EdgeId k = run.begin; k < run.end; ++k) {
        further.prefetch(k);
        out[g.edge_id(k) * args.out.row_stride] =
            convert<Out>(dot(sources + std::int64_t{g.cols[k]} * at_source.row_stride));
      }
    }
  });
}

/// Whether dot_rows did it: one head, a vector at either end, a width of 1, 2, 4 or 8 whole vectors.
template <class Storage, class Out>
bool dot_rows_of(const SddmmArgs& args, const Plan& plan) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(FullTag<AccumulatorOf<Storage>>{}));
  const bool row_left = args.lhs_target == Target::v && args.rhs_target == Target::u;
  const bool row_right = args.lhs_target == Target::u && args.rhs_target == Target::v;
  if (args.heads != 1 || !(row_left || row_right)) return false;
  const Operand &row = row_left ? args.lhs : args.rhs, &source = row_left ? args.rhs : args.lhs;
  const auto fits = [&](auto count) {
    if (args.width != count * lanes) return false;
    dot_rows<count, Storage, Out>(args, row, source, plan);
    return true;
  };
  return fits(std::integral_constant<int, 1>{}) || fits(std::integral_constant<int, 2>{}) ||
         fits(std::integral_constant<int, 4>{}) || fits(std::integral_constant<int, 8>{});
}

/// Calls visit(u, v, id) for every edge; the sources further on are prefetched.
template <class Storage, class Visit>
void for_each_edge(const SddmmArgs& args, const Plan& plan, Visit&& visit) {
  const GraphView& g = args.graph;
  const SourcesAhead<Storage> further(args,
                                      semantics::reads_left(args.op) && args.lhs_target == Target::u    ? &args.lhs
                                      : semantics::reads_right(args.op) && args.rhs_target == Target::u ? &args.rhs
                                                                                                        : nullptr,
                                      plan);
  for_each_task(plan, g, [&](const Runs& runs, int) HWY_ATTR {
    for (const Run& run : runs)
      for (EdgeId k = run.begin; k < run.end; ++k) {
        further.prefetch(k);
        visit(std::int64_t{g.cols[k]}, run.row, g.edge_id(k));
      }
  });
}

template <class Storage, class Out>
void sddmm_to(const SddmmArgs& args, const Plan& plan) {
  using Acc = AccumulatorOf<Storage>;
  const SddmmOperand<Storage> lhs(args.lhs, args.lhs_target), rhs(args.rhs, args.rhs_target);
  const bool lhs_vector = lhs.feature_stride != 0, rhs_vector = rhs.feature_stride != 0;
  Out* out = static_cast<Out*>(args.out.data);
  if (args.op == SddmmOp::dot && lhs_vector && rhs_vector) {
    if (dot_rows_of<Storage, Out>(args, plan)) return;
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
  semantics::with_meaning(args.op, [&](auto meaning) {
    using Formula = typename decltype(meaning)::Value;
    for_each_edge<Storage>(args, plan, [&](std::int64_t u, std::int64_t v, EdgeId e) HWY_ATTR {
      const Storage* a = Formula::reads_left ? lhs.at(u, v, e) : nullptr;
      const Storage* b = Formula::reads_right ? rhs.at(u, v, e) : nullptr;
      for (std::int64_t h = 0; h < args.heads; ++h)
        combine_features<Formula, Storage, Acc>(a + h * lhs.head_stride, lhs_vector, b + h * rhs.head_stride,
                                                rhs_vector, args.width, out + e * args.out.row_stride + h * args.width);
    });
  });
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
