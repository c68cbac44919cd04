// The epilogue: from a reduced row to the output.
#pragma once

#include "core/pack.hpp"
#include "kernels/cuda/gather/accumulator.cuh"
#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/primitives/store_pack.cuh"

namespace weft::cuda {

/// `Count` features of a row from `feature` on, as they are.
template <int Count, class Storage, class Acc>
__device__ __forceinline__ void store_row(const RowEpilogue<Storage>& epilogue, std::int64_t row, int feature,
                                          const Acc (&value)[Count]) {
  store_pack<Count>(epilogue.out, epilogue.wide, value, [&](auto* out) {
    return row_at(out + feature, static_cast<std::uint32_t>(row), epilogue.pitch_bytes);
  });
}

/// What the epilogue multiplies a row, and x's own one, by.
template <class Acc>
struct RowFactors {
  Acc scale, self_scale;
};
/// Loads them if the row is `stored`.
template <class Storage>
__device__ __forceinline__ RowFactors<AccumulatorOf<Storage>> row_factors(const RowEpilogue<Storage>& epilogue,
                                                                          std::int64_t row, bool stored) {
  RowFactors<AccumulatorOf<Storage>> factors{1, 0};
  if (stored && epilogue.row_scale != nullptr) factors.scale = __ldg(epilogue.row_scale + row);
  if (stored && epilogue.self_scale != nullptr) factors.self_scale = __ldg(epilogue.self_scale + row);
  return factors;
}

/// Stores a row with mean, scale, x's own row, bias and ReLU where they are asked for; the row has `edges`. x is loaded
/// by `SelfPack` elements, which its alignment must allow.
template <int Count, int SelfPack, class Storage, class Acc>
__device__ __forceinline__ void apply_epilogue(const RowEpilogue<Storage>& epilogue, const RowFactors<Acc>& factors,
                                               std::int64_t row, EdgeId edges, int feature, const Acc (&value)[Count]) {
  // One division a row instead of one per feature: the quotient has one rounding more.
  const Acc share = epilogue.mean && edges > 1 ? reciprocal(static_cast<Acc>(edges)) : Acc(1);
  Acc finished[Count];
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    finished[i] = value[i];
    if (epilogue.mean) finished[i] *= share;
    if (epilogue.row_scale != nullptr) finished[i] *= factors.scale;
  }
  if (epilogue.self_scale != nullptr) {
    const Storage* const self =
        row_at(epilogue.self + feature, static_cast<std::uint32_t>(row), epilogue.self_pitch_bytes);
#pragma unroll
    for (int i = 0; i < Count; i += SelfPack) {
      const auto pack = Pack<Storage, SelfPack>::load(self + i);
#pragma unroll
      for (int k = 0; k < SelfPack; ++k) finished[i + k] += factors.self_scale * widen(pack.values[k]);
    }
  }
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    Acc v = finished[i];
    if (epilogue.bias.data != nullptr) v += epilogue.bias[feature + i];
    if (epilogue.relu && v < 0) v = 0;  // NaN stays NaN
    if (epilogue.largest > 0)
      v = v > epilogue.largest ? epilogue.largest : v < -epilogue.largest ? -epilogue.largest : v;
    finished[i] = v;
  }
  store_row<Count>(epilogue, row, feature, finished);
}

/// The same with factors loaded now, and x element by element, as the fix-up's packs may be wider than its alignment
/// allows.
template <int Count, class Storage, class Acc>
__device__ __forceinline__ void apply_epilogue(const RowEpilogue<Storage>& epilogue, std::int64_t row, EdgeId edges,
                                               int feature, const Acc (&value)[Count]) {
  apply_epilogue<Count, 1>(epilogue, row_factors(epilogue, row, true), row, edges, feature, value);
}

/// The mean of a row of so many edges, without anything else.
template <int Count, class Acc, class Edges>
__device__ __forceinline__ void average(Acc (&value)[Count], Edges edges) {
  const Acc share = reciprocal(static_cast<Acc>(edges));
#pragma unroll
  for (int i = 0; i < Count; ++i) value[i] *= share;
}

/// The winners of a row, `edge(i)` being the place in the work's order of the i-th feature's edge; no_edge: none.
inline constexpr EdgeId no_edge = -1;
template <int Count, class Storage, class EdgeOf>
__device__ __forceinline__ void store_winners(const RowEpilogue<Storage>& epilogue, const EdgeSplit& split,
                                              int features, std::int64_t row, int feature, const EdgeOf& edge) {
  if (epilogue.arg_u == nullptr && epilogue.arg_e == nullptr) return;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    const EdgeId k = edge(i);
    const std::int64_t to = row * features + feature + i;
    if (epilogue.arg_u != nullptr) epilogue.arg_u[to] = k == no_edge ? -1 : __ldg(split.graph.cols + k);
    if (epilogue.arg_e != nullptr) epilogue.arg_e[to] = k == no_edge ? -1 : split.id_of(k);
  }
}

}  // namespace weft::cuda
