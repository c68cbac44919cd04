// The attention scores of the edges of one run, [edges, step].
#if defined(WEFT_KERNELS_CPU_SCORES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_SCORES_INL
#undef WEFT_KERNELS_CPU_SCORES_INL
#else
#define WEFT_KERNELS_CPU_SCORES_INL
#endif

#include "kernels/cpu/dot-inl.hpp"
#include "kernels/cpu/edge_window.hpp"
#include "kernels/cpu/head_lines-inl.hpp"
#include "kernels/cpu/row_passes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

template <class Storage, class Acc>
struct Scorer {
  const AttentionArgs& args;
  int prefetch_edges;
  std::int64_t step = 1;  // from edge to edge: see HeadScratch

  HWY_INLINE const Storage* src(std::int64_t u, std::int64_t h) const {
    return static_cast<const Storage*>(args.src.data) + u * args.src.row_stride + h * args.src.head_stride;
  }
  HWY_INLINE const Storage* dst(std::int64_t v, std::int64_t h) const {
    return static_cast<const Storage*>(args.dst.data) + v * args.dst.row_stride + h * args.dst.head_stride;
  }
  HWY_INLINE const Storage* value(std::int64_t u, std::int64_t h) const {
    return static_cast<const Storage*>(args.value.data) + u * args.value.row_stride + h * args.value.head_stride;
  }
  /// Where the edge has a term.
  HWY_INLINE const Storage* edge(EdgeId id, std::int64_t h) const {
    return static_cast<const Storage*>(args.edge.data) + id * args.edge.row_stride + h * args.edge.head_stride;
  }
  HWY_INLINE Acc slope() const { return static_cast<Acc>(args.slope); }

  /// What gat's leaky_relu is applied to.
  HWY_INLINE Acc sum(std::int64_t u, std::int64_t v, EdgeId id, std::int64_t h) const {
    const Acc z = convert<Acc>(*src(u, h)) + convert<Acc>(*dst(v, h));
    return args.edge.given() ? z + convert<Acc>(*edge(id, h)) : z;
  }

  /// What a node has for each head, side by side, and 0 behind it.
  template <class From>
  HWY_INLINE void copy_heads(const From* from, Acc* to) const {
    if (args.heads == step && step >= 4) {
      const hn::CappedTag<Acc, 4> d;
      for (std::int64_t h = 0; h < step; h += static_cast<std::int64_t>(hn::Lanes(d)))
        hn::StoreU(load_as(d, from + h), d, to + h);
    } else {
      for (std::int64_t h = 0; h < args.heads; ++h) to[h] = convert<Acc>(from[h]);
      for (std::int64_t h = args.heads; h < step; ++h) to[h] = 0;
    }
  }
  HWY_INLINE void repeat_terms(const Storage* from, Acc* to) const {
    repeat_heads(args.heads, step, to, [&](std::int64_t h) { return convert<Acc>(from[h]); });
  }

  /// A score from vectors, without its bias.
  HWY_INLINE Acc score(std::int64_t u, std::int64_t v, EdgeId id, std::int64_t h) const {
    const Storage *a = src(u, h), *b = dst(v, h);
    if (args.score == Score::dot) return static_cast<Acc>(args.scale) * dot<Acc>(a, b, args.score_width);
    const Storage* attn = static_cast<const Storage*>(args.attn.data) + h * args.attn.head_stride;
    const auto with_leaky = [&](auto d, auto sum, auto z, std::int64_t i) HWY_ATTR {
      return hn::MulAdd(load_as(d, attn + i), leaky_relu(d, z, hn::Set(d, slope())), sum);
    };
    if (!args.edge.given())
      return reduce_features<Acc>(args.score_width, [&](auto d, auto sum, std::int64_t i) HWY_ATTR {
        return with_leaky(d, sum, hn::Add(load_as(d, a + i), load_as(d, b + i)), i);
      });
    const Storage* term = edge(id, h);
    return reduce_features<Acc>(args.score_width, [&](auto d, auto sum, std::int64_t i) HWY_ATTR {
      return with_leaky(d, sum, hn::Add(hn::Add(load_as(d, a + i), load_as(d, b + i)), load_as(d, term + i)), i);
    });
  }

  /// f(position, whether dropout takes the edge there), four heads' at a time, as they are drawn.
  template <class F>
  HWY_INLINE void each_drop(const RunEdges& edges, const F& f) const {
    for (std::int64_t h = 0; h < args.heads; h += 4)
      for (std::int64_t k = 0; k < edges.size(); ++k) {
        const FourWords words = args.dropout.words(edges.id_of(k), h);
        for (std::int64_t i = 0; i < 4 && h + i < args.heads; ++i) f(k * step + h + i, args.dropout.drops(words.at[i]));
      }
  }

  /// The scores of all edges; `row` is room for what the row has.
  HWY_INLINE void operator()(const RunEdges& edges, Acc* s, Acc* row) const {
    if (args.score == Score::gat) {
      from_terms(edges, s, row);
    } else {
      from_vectors(edges, s);
    }
    if (!args.bias.given()) return;
    for (std::int64_t k = 0; k < edges.size(); ++k)
      for (std::int64_t h = 0; h < args.heads; ++h) s[k * step + h] += get<Acc>(args.bias, edges.id_of(k), h);
  }

 private:
  HWY_INLINE void from_terms(const RunEdges& edges, Acc* s, Acc* row) const {
    const std::int64_t n = edges.size();
    for (std::int64_t k = 0; k < n; ++k) copy_heads(src(edges.cols[k], 0), s + k * step);
    repeat_terms(dst(edges.run.row, 0), row);
    const bool lean = !args.edge.given();  // at once
    each_vector_of_line<Acc>(n, step, [&](auto d, std::int64_t i, std::int64_t of_row) HWY_ATTR {
      const auto z = hn::Add(hn::LoadU(d, s + i), hn::LoadU(d, row + of_row));
      hn::StoreU(lean ? leaky_relu(d, z, hn::Set(d, slope())) : z, d, s + i);
    });
    if (lean) return;
    for (std::int64_t k = 0; k < n; ++k) {  // in the order that sum() has
      const Storage* term = edge(edges.id_of(k), 0);
      for (std::int64_t h = 0; h < args.heads; ++h) s[k * step + h] += convert<Acc>(term[h]);
    }
    each_vector_of_line<Acc>(n, step, [&](auto d, std::int64_t i, std::int64_t) HWY_ATTR {
      hn::StoreU(leaky_relu(d, hn::LoadU(d, s + i), hn::Set(d, slope())), d, s + i);
    });
  }

  HWY_INLINE void from_vectors(const RunEdges& edges, Acc* s) const {
    const std::int64_t bytes =
        ((args.heads - 1) * args.src.head_stride + args.score_width) * static_cast<std::int64_t>(sizeof(Storage));
    for (std::int64_t k = 0; k < edges.size(); ++k) {
      if (k + prefetch_edges < edges.readable) prefetch_row(src(edges.cols[k + prefetch_edges], 0), bytes);
      const EdgeId id = args.edge.given() ? edges.id_of(k) : 0;
      for (std::int64_t h = 0; h < step; ++h)
        s[k * step + h] = h < args.heads ? score(edges.cols[k], edges.run.row, id, h) : Acc{0};
    }
  }
};

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
