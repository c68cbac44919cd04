// The attention scores of the edges of one run, one line a head.
#if defined(WEFT_KERNELS_CPU_SCORES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_SCORES_INL
#undef WEFT_KERNELS_CPU_SCORES_INL
#else
#define WEFT_KERNELS_CPU_SCORES_INL
#endif

#include "kernels/cpu/edge_window.hpp"
#include "kernels/cpu/softmax_row-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

template <class Acc>
HWY_INLINE Acc leaky_relu(Acc z, Acc slope) {
  return z > 0 ? z : z * slope;
}

template <class Storage, class Acc>
struct Scorer {
  const AttentionArgs& args;
  int prefetch_edges;

  HWY_INLINE const Storage* src(std::int64_t u, std::int64_t h) const {
    return static_cast<const Storage*>(args.src.data) + u * args.src.row_stride + h * args.src.head_stride;
  }
  HWY_INLINE const Storage* dst(std::int64_t v, std::int64_t h) const {
    return static_cast<const Storage*>(args.dst.data) + v * args.dst.row_stride + h * args.dst.head_stride;
  }
  HWY_INLINE const Storage* value(std::int64_t u, std::int64_t h) const {
    return static_cast<const Storage*>(args.value.data) + u * args.value.row_stride + h * args.value.head_stride;
  }
  HWY_INLINE Acc slope() const { return static_cast<Acc>(args.slope); }

  /// What gat's leaky_relu is applied to.
  HWY_INLINE Acc sum(std::int64_t u, std::int64_t v, std::int64_t h) const {
    return convert<Acc>(*src(u, h)) + convert<Acc>(*dst(v, h));
  }

  /// The score without its bias.
  HWY_INLINE Acc score(std::int64_t u, std::int64_t v, std::int64_t h) const {
    const Storage *a = src(u, h), *b = dst(v, h);
    if (args.score == Score::gat) return leaky_relu(sum(u, v, h), slope());
    if (args.score == Score::dot) return static_cast<Acc>(args.scale) * dot<Acc>(a, b, args.score_width);
    const Storage* attn = static_cast<const Storage*>(args.attn.data) + h * args.attn.head_stride;
    return reduce_features<Acc>(args.score_width, [&](auto d, auto sum, std::int64_t i) HWY_ATTR {
      const auto z = hn::Add(load_as(d, a + i), load_as(d, b + i));
      const auto leaky = hn::IfThenElse(hn::Gt(z, hn::Zero(d)), z, hn::Mul(z, hn::Set(d, slope())));
      return hn::MulAdd(load_as(d, attn + i), leaky, sum);
    });
  }

  /// f(head, edge of the run, whether dropout takes it), four heads' at a time, as they are drawn.
  template <class F>
  HWY_INLINE void each_drop(const RunEdges& edges, const F& f) const {
    for (std::int64_t h = 0; h < args.heads; h += 4)
      for (std::int64_t k = 0; k < edges.size(); ++k) {
        const FourWords words = args.dropout.words(edges.id_of(k), h);
        for (std::int64_t i = 0; i < 4 && h + i < args.heads; ++i) f(h + i, k, args.dropout.drops(words.at[i]));
      }
  }

  HWY_INLINE void operator()(const RunEdges& edges, Acc* s) const {
    const std::int64_t bytes =
        ((args.heads - 1) * args.src.head_stride + args.score_width) * static_cast<std::int64_t>(sizeof(Storage));
    for (std::int64_t k = 0; k < edges.size(); ++k) {
      if (args.score != Score::gat && k + prefetch_edges < edges.readable)
        prefetch_row(src(edges.cols[k + prefetch_edges], 0), bytes);
      for (std::int64_t h = 0; h < args.heads; ++h) s[h * piece_edges + k] = score(edges.cols[k], edges.run.row, h);
    }
    if (!args.bias.given()) return;
    for (std::int64_t k = 0; k < edges.size(); ++k)
      for (std::int64_t h = 0; h < args.heads; ++h) s[h * piece_edges + k] += get<Acc>(args.bias, edges.id_of(k), h);
  }
};

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
