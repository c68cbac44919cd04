// The partial result of one row in a lane's registers, `Count` features of it.
#pragma once

#include <climits>

#include "kernels/cuda/gather/args.hpp"
#include "kernels/cuda/primitives/reduce.cuh"
#include "kernels/semantics.hpp"

namespace weft::cuda {

template <Reduction Kind, class Acc, int Count>
struct RowAccumulator;

/// Chains of additions stay short, which keeps the rounding error under the logarithm of the degree: a batch (or a half
/// of it) is summed by itself, up to eight batches add up in `near`, and that settles into `far`. Edges among which
/// rows end are added one by one, and `near` settles before and after.
template <class Acc, int Count>
struct RowAccumulator<Reduction::sum, Acc, Count> {
  Acc near[Count], far[Count];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < Count; ++i) near[i] = far[i] = 0;
  }
  __device__ __forceinline__ void settle() {
    bool finite = true;
#pragma unroll
    for (int i = 0; i < Count; ++i) finite = cuda::settle(far[i], near[i]) && finite;
    if (finite) return;
#pragma unroll
    for (int i = 0; i < Count; ++i) cuda::drop_rest(near[i]);
  }
  __device__ __forceinline__ void fold(int i, Acc message, int) { near[i] += message; }
  /// `Loads` edges at once; send(u, take) calls take(i, message) with each of the first `Features` of the u-th. Edge by
  /// edge, so that what was loaded for one makes room for sums.
  template <int Loads, int Features = Count, class Send>
  __device__ __forceinline__ void fold_batch(int, const Send& send) {
    constexpr int chains = Loads > 4 ? 2 : 1;
    Acc chain[chains][Features];
#pragma unroll
    for (int u = 0; u < Loads; ++u)
      send(
          u, [&](int i, Acc message) __attribute__((always_inline)) {
            Acc& sum = chain[u * chains / Loads][i];
            sum = u % (Loads / chains) == 0 ? message : sum + message;
          });
#pragma unroll
    for (int i = 0; i < Features; ++i) near[i] += chains > 1 ? chain[0][i] + chain[chains - 1][i] : chain[0][i];
  }
  /// Before a batch in which rows end: where one of this group's rows ends, its whole partial sum moves to `near`.
  __device__ __forceinline__ void collect(bool ending) {
    settle();
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      near[i] = ending ? far[i] : near[i];
      far[i] = ending ? Acc(0) : far[i];
    }
  }
  __device__ __forceinline__ void collect() {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      near[i] += far[i];
      far[i] = 0;
    }
  }
  __device__ __forceinline__ void fold_if(bool there, int i, Acc message) { near[i] += there ? message : Acc(0); }
  __device__ __forceinline__ Acc collected(int i) const { return near[i]; }
  __device__ __forceinline__ void clear_collected(bool over) {
#pragma unroll
    for (int i = 0; i < Count; ++i) near[i] = over ? Acc(0) : near[i];
  }
  __device__ __forceinline__ RowAccumulator settled() const {
    RowAccumulator other = *this;
    other.settle();
    return other;
  }
  __device__ __forceinline__ Acc value(int i) const { return far[i]; }  // once settled
  __device__ __forceinline__ int place(int) const { return 0; }
  __device__ __forceinline__ void absorb(int i, Acc value, int) { near[i] += value; }
};

template <class Acc, int Count>
struct RowAccumulator<Reduction::extremum, Acc, Count> {
  Acc best[Count];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < Count; ++i) best[i] = semantics::below_all<Acc>();
  }
  __device__ __forceinline__ void settle() {}
  __device__ __forceinline__ RowAccumulator settled() const { return *this; }
  __device__ __forceinline__ void fold(int i, Acc message, int) { best[i] = larger(best[i], message); }
  __device__ __forceinline__ void collect(bool) {}
  __device__ __forceinline__ void collect() {}
  __device__ __forceinline__ void fold_if(bool there, int i, Acc message) {
    best[i] = larger(best[i], there ? message : semantics::below_all<Acc>());
  }
  __device__ __forceinline__ Acc collected(int i) const { return best[i]; }
  __device__ __forceinline__ void clear_collected(bool over) {
#pragma unroll
    for (int i = 0; i < Count; ++i) best[i] = over ? semantics::below_all<Acc>() : best[i];
  }
  template <int Loads, class Send>
  __device__ __forceinline__ void fold_batch(int, const Send& send) {
#pragma unroll
    for (int u = 0; u < Loads; ++u) send(u, [&](int i, Acc message) { fold(i, message, 0); });
  }
  __device__ __forceinline__ Acc value(int i) const { return best[i]; }
  __device__ __forceinline__ int place(int) const { return 0; }
  __device__ __forceinline__ void absorb(int i, Acc value, int) { fold(i, value, 0); }
};

/// The largest message and the place of the edge that sent it.
template <class Acc, int Count>
struct RowAccumulator<Reduction::winner, Acc, Count> {
  static constexpr int nowhere = INT_MIN;  // no message was larger than minus infinity
  Acc best[Count];
  int at[Count];

  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      best[i] = semantics::below_all<Acc>();
      at[i] = nowhere;
    }
  }
  __device__ __forceinline__ void settle() {}
  __device__ __forceinline__ void fold(int i, Acc message, int place) {
    const bool wins = semantics::replaces(message, best[i]);
    best[i] = wins ? message : best[i];
    at[i] = wins ? place : at[i];
  }
  template <int Loads, class Send>
  __device__ __forceinline__ void fold_batch(int place, const Send& send) {
#pragma unroll
    for (int u = 0; u < Loads; ++u) send(u, [&](int i, Acc message) { fold(i, message, place + u); });
  }
  __device__ __forceinline__ Acc value(int i) const { return best[i]; }
  __device__ __forceinline__ int place(int i) const { return at[i]; }
  __device__ __forceinline__ void absorb(int i, Acc value, int place) { fold(i, value, place); }
};

}  // namespace weft::cuda
