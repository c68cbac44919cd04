// What an edge sends to its row. A message is a type with two steps: `edge` gathers what stays the same
// for all features of one edge, `value` gives the message for one vector of features.
#if defined(WEFT_KERNELS_CPU_MESSAGES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_MESSAGES_INL
#undef WEFT_KERNELS_CPU_MESSAGES_INL
#else
#define WEFT_KERNELS_CPU_MESSAGES_INL
#endif

#include "kernels/cpu/edge_window.hpp"
#include "kernels/cpu/formula-inl.hpp"
#include "kernels/cpu/simd-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// Some edges of one row, for one head: everything a message may read.
template <class Storage, class Acc>
struct Block {
  const NodeId* cols = nullptr;
  const Storage* x = nullptr;  // the head's first feature in row 0 of X
  std::int64_t x_stride = 0;
  const Acc* weight = nullptr;    // one per edge: the edge's value, times the column scale where that is all
  const Acc* scale = nullptr;     // one per edge: the column scale, or 1
  const Storage* edge = nullptr;  // the head's first feature in row 0 of the edge tensor
  std::int64_t edge_stride = 0;
  const EdgeId* ids = nullptr;    // of these edges, or null:
  EdgeId first = 0;               //   then edge k has the id first + k
  const Storage* row = nullptr;   // the row's own vector, for messages that compare with it
  const Storage* term = nullptr;  // such a message's edge vectors: the head's first feature of edge 0
  std::int64_t term_stride = 0;
  const Storage* attn = nullptr;
  Acc slope = 0;
  const IndexOf<Acc>* head_of = nullptr;  // of each feature, where weights are [edges, weight_step], one per head
  std::int64_t weight_step = 1;
  Acc* messages = nullptr;  // [block_edges, message_stride]: room for the messages themselves
  std::int64_t message_stride = 0;
  const NodeId* ahead = nullptr;    // columns some edges further on, whose rows are asked for meanwhile
  std::int64_t prefetch_bytes = 0;  // of such a row; 0: none
  EdgeWindow* window = nullptr;     // the thread's own, for edges of a sample

  const Storage* x_of(std::int64_t k) const { return x + std::int64_t{cols[k]} * x_stride; }
  /// Spread over the edges: asked for in bursts, the rows would wait for each other and then for nothing.
  HWY_INLINE void prefetch(int k) const {
    if (prefetch_bytes > 0) prefetch_row(x + std::int64_t{ahead[k]} * x_stride, prefetch_bytes);
  }
  EdgeId id_of(int k) const { return ids != nullptr ? ids[k] : first + k; }
  const Storage* edge_of(int k) const { return edge + id_of(k) * edge_stride; }
};

/// m = x
struct Plain {
  static constexpr bool hot = true;
  template <class D, class B>
  static HWY_INLINE auto edge(D, const B& block, std::int64_t k) {
    return block.x_of(k);
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> value(D d, const E& x, std::int64_t f) {
    return load_as(d, x + f);
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> add(D d, hn::Vec<D> sum, const E& x, std::int64_t f) {
    return hn::Add(sum, load_as(d, x + f));
  }
  /// The only feature of edge k: scalar code is shorter than vectors of one lane.
  template <class Acc, class B>
  static HWY_INLINE Acc add_one(Acc sum, const B& block, std::int64_t k) {
    return sum + convert<Acc>(*block.x_of(k));
  }
};

template <class D, class Storage>
struct ScaledRow {
  const Storage* x;
  hn::Vec<D> w;
};

/// m = x * w
struct Weighted {
  static constexpr bool hot = true;
  template <class D, class B>
  static HWY_INLINE auto edge(D d, const B& block, std::int64_t k) {
    const auto* x = block.x_of(k);
    return ScaledRow<D, std::remove_cvref_t<decltype(*x)>>{x, hn::Set(d, block.weight[k])};
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> value(D d, const E& e, std::int64_t f) {
    return hn::Mul(load_as(d, e.x + f), e.w);
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> add(D d, hn::Vec<D> sum, const E& e, std::int64_t f) {
    return hn::MulAdd(load_as(d, e.x + f), e.w, sum);
  }
  template <class Acc, class B>
  static HWY_INLINE Acc add_one(Acc sum, const B& block, std::int64_t k) {
    return sum + convert<Acc>(*block.x_of(k)) * block.weight[k];
  }
};

template <class D, class Storage>
struct HeadsRow {
  const Storage* x;
  const hn::TFromD<D>* w;
  const IndexOf<hn::TFromD<D>>* head_of;
  std::int64_t step;
};

/// m = x * the weight of the feature's head: a row of several heads is one of features. Only sums of vectors have it.
struct WeightedHeads {
  static constexpr bool hot = true;
  template <class D, class B>
  static HWY_INLINE auto edge(D, const B& block, std::int64_t k) {
    const auto* x = block.x_of(k);
    return HeadsRow<D, std::remove_cvref_t<decltype(*x)>>{x, block.weight + k * block.weight_step, block.head_of,
                                                          block.weight_step};
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> value(D d, const E& e, std::int64_t f) {
    return hn::Mul(load_as(d, e.x + f), of_heads(d, e.w, e.head_of + f, e.step));
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> add(D d, hn::Vec<D> sum, const E& e, std::int64_t f) {
    return hn::MulAdd(load_as(d, e.x + f), of_heads(d, e.w, e.head_of + f, e.step), sum);
  }
};

/// The messages above are reduced as they are loaded. All others are first written out, a block at a time, and
/// then read back as this one: one reduction serves them all, and the writer is a plain function pointer.
struct Written : Plain {
  template <class D, class B>
  static HWY_INLINE auto edge(D, const B& block, int k) {
    return static_cast<const hn::TFromD<D>*>(block.messages + k * block.message_stride);
  }
};

struct Cold {
  static constexpr bool hot = false;
};

template <class Storage, class Acc>
using MessageWriter = void (*)(const Block<Storage, Acc>& block, int edges, std::int64_t width);

template <class Message, class Storage, class Acc>
void write_messages(const Block<Storage, Acc>& block, int edges, std::int64_t width) {
  with_lanes<Acc>(width, [&](auto d) HWY_ATTR {
    for (int k = 0; k < edges; ++k) {
      block.prefetch(k);
      const auto e = Message::edge(d, block, k);
      Acc* to = block.messages + k * block.message_stride;
      for_each_vector(d, width, [&](std::int64_t f) HWY_ATTR { hn::StoreU(Message::value(d, e, f), d, to + f); });
    }
  });
}

template <class D, class Storage>
struct EdgeTerms {
  const Storage* x;
  const Storage* e;
  hn::Vec<D> w, s;
};

template <class D, class Storage, class Acc>
HWY_INLINE EdgeTerms<D, Storage> vector_terms(D d, const Block<Storage, Acc>& block, int k) {
  return {block.x_of(k), block.edge_of(k), hn::Zero(d), hn::Set(d, block.scale[k])};
}

/// m = formula(x, w) * s with one value per head on the edge
template <class Formula>
struct WithEdgeScalar : Cold {
  template <class D, class Storage, class Acc>
  static HWY_INLINE EdgeTerms<D, Storage> edge(D d, const Block<Storage, Acc>& block, int k) {
    return {block.x_of(k), nullptr, hn::Set(d, block.weight[k]), hn::Set(d, block.scale[k])};
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> value(D d, const E& e, std::int64_t f) {
    return hn::Mul(Lanes<Formula>::of(load_as(d, e.x + f), e.w), e.s);
  }
};

/// m = e * s; the sources do not count
struct CopyEdge : Cold {
  template <class D, class B>
  static HWY_INLINE auto edge(D d, const B& block, int k) {
    const auto* e = block.edge_of(k);
    return EdgeTerms<D, std::remove_cvref_t<decltype(*e)>>{nullptr, e, hn::Zero(d), hn::Set(d, block.scale[k])};
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> value(D d, const E& e, std::int64_t f) {
    return hn::Mul(load_as(d, e.e + f), e.s);
  }
};

/// m = formula(x, e) * s with a vector on the edge; x a vector too, or one value for all features
template <class Formula, bool BroadcastX>
struct WithEdgeVector : Cold {
  template <class D, class B>
  static HWY_INLINE auto edge(D d, const B& block, int k) {
    auto terms = vector_terms(d, block, k);
    if constexpr (BroadcastX) terms.w = hn::Set(d, convert<hn::TFromD<D>>(*terms.x));
    return terms;
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> value(D d, const E& e, std::int64_t f) {
    const auto x = [&]() HWY_ATTR {
      if constexpr (BroadcastX) {
        return e.w;
      } else {
        return load_as(d, e.x + f);
      }
    }();
    return hn::Mul(Lanes<Formula>::of(x, load_as(d, e.e + f)), e.s);
  }
};

template <class D, class Storage>
struct LeakyTerms {
  const Storage *x, *row, *term, *attn;
  hn::Vec<D> w, slope;
};

/// Messages that compare the source with the row's own vector; z = x + row, and with Term the edge's vector as well.
template <bool Term>
struct Leaky : Cold {
  template <class D, class Storage, class Acc>
  static HWY_INLINE LeakyTerms<D, Storage> edge(D d, const Block<Storage, Acc>& block, int k) {
    const Storage* const term = Term ? block.term + block.id_of(k) * block.term_stride : nullptr;
    return {block.x_of(k), block.row, term, block.attn, hn::Set(d, block.weight[k]), hn::Set(d, block.slope)};
  }
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> z_of(D d, const E& e, std::int64_t f) {
    const auto z = hn::Add(load_as(d, e.x + f), load_as(d, e.row + f));
    if constexpr (Term) return hn::Add(z, load_as(d, e.term + f));
    return z;
  }
};

/// m = w * leaky_relu(z)
template <bool Term>
struct LeakyValue : Leaky<Term> {
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> value(D d, const E& e, std::int64_t f) {
    const auto z = Leaky<Term>::z_of(d, e, f);
    return hn::Mul(e.w, leaky_relu(d, z, e.slope));
  }
};

/// m = w * attn * leaky_relu'(z)
template <bool Term>
struct LeakyDerivative : Leaky<Term> {
  template <class D, class E>
  static HWY_INLINE hn::Vec<D> value(D d, const E& e, std::int64_t f) {
    const auto z = Leaky<Term>::z_of(d, e, f);
    const auto a = hn::Mul(e.w, load_as(d, e.attn + f));
    return hn::IfThenElse(hn::Gt(z, hn::Zero(d)), a, hn::Mul(a, e.slope));
  }
};

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
