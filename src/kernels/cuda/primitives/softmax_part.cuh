// What a softmax needs of some of a row's scores, and how parts of a row unite.
#pragma once

#include <cstdint>

#include "kernels/cuda/primitives/reduce.cuh"

namespace weft::cuda {

__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }

/// exp(top - new_top); 1 where both are the same, infinities too.
template <class Acc>
__device__ __forceinline__ Acc rescale(Acc top, Acc new_top) {
  return top == new_top ? Acc(1) : exponential(top - new_top);
}

/// The largest score, and the sum of exp(score - largest). Parts unite in any grouping, and the same one gives the same
/// bits. Where every part has the same top it is a plain sum.
template <class Acc>
struct alignas(2 * sizeof(Acc)) SoftmaxPart {
  Acc top, total;

  static __device__ __forceinline__ SoftmaxPart none() { return {-Acc(INFINITY), Acc(0)}; }
  /// A masked edge (-inf) has no share in the sum.
  static __device__ __forceinline__ SoftmaxPart of_score(Acc score) {
    return {score, score == -Acc(INFINITY) ? Acc(0) : Acc(1)};
  }
  /// This part and another, by one exponential.
  __device__ __forceinline__ SoftmaxPart with(const SoftmaxPart& other) const {
    const bool mine = top >= other.top;
    const Acc factor = exponential(mine ? other.top - top : top - other.top);
    const Acc less = (mine ? other.total : total) * (top == other.top ? Acc(1) : factor);
    return {larger(top, other.top), (mine ? total : other.total) + less};
  }
  __device__ __forceinline__ SoftmaxPart from_lane_xor(int step) const {
    return {__shfl_xor_sync(~0u, top, step), __shfl_xor_sync(~0u, total, step)};
  }
  __device__ __forceinline__ SoftmaxPart from_lane(int lane) const {
    return {__shfl_sync(~0u, top, lane), __shfl_sync(~0u, total, lane)};
  }
  /// What an edge of this row weighs: as in any softmax nothing where all are masked, and NaN where a score was that,
  /// or infinite.
  __device__ __forceinline__ Acc weight(Acc score) const {
    if (top == -Acc(INFINITY)) return 0;
    if (!(top < Acc(INFINITY))) return Acc(NAN);
    return exponential(score - top) * reciprocal(total);
  }
};

/// Of all lanes of the warp, in each of them. The lower lanes' part comes first.
template <class Acc>
__device__ __forceinline__ SoftmaxPart<Acc> united_over_warp(SoftmaxPart<Acc> part, int lane) {
#pragma unroll
  for (int step = 1; step < 32; step *= 2) {
    const SoftmaxPart<Acc> other = part.from_lane_xor(step);
    part = (lane & step) != 0 ? other.with(part) : part.with(other);
  }
  return part;
}

/// Many parts added up one after the other: what rounding takes from the sum is kept beside it.
template <class Acc>
struct SoftmaxSum {
  SoftmaxPart<Acc> part = SoftmaxPart<Acc>::none();
  Acc rest = 0;

  __device__ __forceinline__ void add(const SoftmaxPart<Acc>& next) {
    const Acc top = larger(part.top, next.top), down = rescale(part.top, top);
    part = {top, part.total * down};
    rest = rest * down + next.total * rescale(next.top, top);
    if (!settle(part.total, rest)) drop_rest(rest);
  }
};

/// Of `count` parts in their order, by a warp: a lane takes a run of neighbours.
template <class PartOf>
__device__ __forceinline__ auto united_in_order(std::int64_t count, int lane, const PartOf& part_of) {
  using Acc = decltype(part_of(0).total);
  const std::int64_t each = (count + 31) / 32;
  SoftmaxSum<Acc> sum;
  for (std::int64_t t = lane * each; t < count && t < (lane + 1) * each; ++t) sum.add(part_of(t));
  return united_over_warp(sum.part, lane);
}

}  // namespace weft::cuda
