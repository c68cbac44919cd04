// The ends of rows: from a reduced row to the output.
#pragma once

#include "kernels/cuda/primitives/row_at.cuh"
#include "kernels/cuda/primitives/store_pack.cuh"
#include "kernels/cuda/spmm/row_state.cuh"

namespace weft::cuda {

/// `Count` features of a row from `feature` on, as they are.
template <int Count, class Storage, class Acc>
__device__ __forceinline__ void write_plain(const RowFinish<Storage>& finish, std::int64_t row, int feature,
                                            const Acc (&value)[Count]) {
  store_pack<Count>(finish.out, finish.wide, value, [&](auto* out) {
    return row_at(out + feature, static_cast<std::uint32_t>(row), finish.pitch_bytes);
  });
}

/// The same with mean, scale, bias and ReLU where they are asked for.
template <int Count, class Storage, class Acc>
__device__ __forceinline__ void write_finished(const RowFinish<Storage>& finish, std::int64_t row, EdgeId edges,
                                               int feature, const Acc (&value)[Count]) {
  // One division a row instead of one a feature: the quotient is off by a rounding more.
  const Acc share = finish.mean && edges > 1 ? reciprocal(static_cast<Acc>(edges)) : Acc(1);
  const Acc scale = finish.row_scale != nullptr ? __ldg(finish.row_scale + row) : Acc(1);
  Acc finished[Count];
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    Acc v = value[i];
    if (finish.mean) v *= share;
    if (finish.row_scale != nullptr) v *= scale;
    if (finish.bias.data != nullptr) v += finish.bias[feature + i];
    if (finish.relu && v < 0) v = 0;  // NaN stays NaN
    if (finish.most > 0) v = v > finish.most ? finish.most : v < -finish.most ? -finish.most : v;
    finished[i] = v;
  }
  write_plain<Count>(finish, row, feature, finished);
}

/// The winners of a row, `edge(i)` being the place in the work's order of the i-th feature's edge; no_edge: none.
inline constexpr EdgeId no_edge = -1;
template <int Count, class Storage, class EdgeOf>
__device__ __forceinline__ void write_winners(const RowFinish<Storage>& finish, const EdgeSplit& split, int features,
                                              std::int64_t row, int feature, const EdgeOf& edge) {
  if (finish.arg_u == nullptr && finish.arg_e == nullptr) return;
#pragma unroll
  for (int i = 0; i < Count; ++i) {
    const EdgeId k = edge(i);
    const std::int64_t to = row * features + feature + i;
    if (finish.arg_u != nullptr) finish.arg_u[to] = k == no_edge ? -1 : __ldg(split.graph.cols + k);
    if (finish.arg_e != nullptr) finish.arg_e[to] = k == no_edge ? -1 : split.id_of(k);
  }
}

}  // namespace weft::cuda
