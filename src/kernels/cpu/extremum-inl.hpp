// The largest (or smallest) message of a row and the edge that sent it.
#if defined(WEFT_KERNELS_CPU_EXTREMUM_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_EXTREMUM_INL
#undef WEFT_KERNELS_CPU_EXTREMUM_INL
#else
#define WEFT_KERNELS_CPU_EXTREMUM_INL
#endif

#include "kernels/cpu/stage-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace weft::cpu::HWY_NAMESPACE {

/// A message as it is compared.
template <class D>
HWY_INLINE hn::Vec<D> oriented(D d, hn::Vec<D> v, bool negated) {
  return negated ? hn::Xor(v, hn::SignBit(d)) : v;
}

template <int Count, class D, class B, class Acc>
HWY_INLINE void extremum_panel(D d, const B& block, int edges, int first_edge, bool negated, std::int64_t f, Acc* best,
                               std::int32_t* arg) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const hn::Rebind<hwy::MakeSigned<hn::TFromD<D>>, D> di;
  using Index = hn::TFromD<decltype(di)>;
  hn::Vec<D> value[Count];
  hn::Vec<decltype(di)> edge[Count];
  HWY_ALIGN Index wide[HWY_MAX_BYTES / sizeof(Index)];
  for (int j = 0; j < Count; ++j) {
    if (first_edge == 0) {
      value[j] = oriented(d, Written::value(d, Written::edge(d, block, 0), f + j * lanes), negated);
      edge[j] = hn::Zero(di);
    } else {
      value[j] = hn::LoadU(d, best + f + j * lanes);
      for (std::int64_t i = 0; i < lanes; ++i) wide[i] = arg[f + j * lanes + i];
      edge[j] = hn::Load(di, wide);
    }
  }
  for (int k = first_edge == 0 ? 1 : 0; k < edges; ++k) {
    const auto e = Written::edge(d, block, k);
    const auto index = hn::Set(di, static_cast<Index>(first_edge + k));
    for (int j = 0; j < Count; ++j) {
      const auto m = oriented(d, Written::value(d, e, f + j * lanes), negated);
      const auto wins = lanes_replace(m, value[j]);
      value[j] = hn::IfThenElse(wins, m, value[j]);
      edge[j] = hn::IfThenElse(hn::RebindMask(di, wins), index, edge[j]);
    }
  }
  for (int j = 0; j < Count; ++j) {
    hn::StoreU(value[j], d, best + f + j * lanes);
    hn::Store(edge[j], di, wide);
    for (std::int64_t i = 0; i < lanes; ++i) arg[f + j * lanes + i] = static_cast<std::int32_t>(wide[i]);
  }
}

template <class D, class B, class Acc>
HWY_NOINLINE void extremum_features(D d, const B& block, int edges, int first_edge, bool negated, std::int64_t width,
                                    Acc* best, std::int32_t* arg) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t f = 0;
  for (; f + 4 * lanes <= width; f += 4 * lanes) extremum_panel<4>(d, block, edges, first_edge, negated, f, best, arg);
  for (; f + lanes <= width; f += lanes) extremum_panel<1>(d, block, edges, first_edge, negated, f, best, arg);
  if (f < width) extremum_panel<1>(d, block, edges, first_edge, negated, width - lanes, best, arg);
}

/// Over the edges of a non-empty run: the oriented extremum and its edge, counted from the run's start.
template <class D, class Storage, class Acc>
HWY_NOINLINE void extremum_run(D d, const Stager<Storage, Acc>& stager, Block<Storage, Acc>& block, const Run& run,
                               bool negated, Acc* staged, Acc* best, std::int32_t* arg) {
  for (EdgeId begin = run.begin; begin < run.end; begin += block_edges) {
    const int count = static_cast<int>(run.end - begin < block_edges ? run.end - begin : block_edges);
    const int first = static_cast<int>(begin - run.begin);
    stager.template load<false>(block, run.row, begin, count, staged, nullptr);
    for (std::int64_t h = 0; h < stager.heads; ++h) {
      const auto head = stager.heads == 1 ? block : stager.to_head(block, h);
      stager.write(head, count, stager.width);
      extremum_features(d, head, count, first, negated, stager.width, best + h * stager.width, arg + h * stager.width);
    }
  }
}

}  // namespace weft::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
