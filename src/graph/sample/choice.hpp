// Which edges of a row a sample keeps, and back: from the i-th kept edge to its place in the row, and from a place to
// i, or to "not kept". Both in a few integer operations, on any device.
#pragma once

#include "core/draws.hpp"
#include "weft/sample.hpp"

namespace weft {

/// A prime that does not divide the degree, so that i -> i * prime mod degree visits every place once. No degree below
/// 2^31 is a multiple of all four.
WEFT_ANYWHERE constexpr std::uint32_t sampling_prime(std::uint32_t degree) {
  if (degree % 577 != 0) return 577;
  if (degree % 1009 != 0) return 1009;
  if (degree % 2003 != 0) return 2003;
  return 4001;
}

/// x with x * value = 1 modulo `modulus`, which must have no factor in common with `value`; 0 modulo 1.
WEFT_ANYWHERE constexpr std::uint32_t inverse_modulo(std::uint32_t value, std::uint32_t modulus) {
  std::int64_t before = 0, now = 1;
  std::uint32_t left = modulus, right = value % modulus;
  while (right > 1) {
    const std::uint32_t times = left / right, rest = left % right;
    const std::int64_t next = before - std::int64_t{times} * now;
    left = right;
    right = rest;
    before = now;
    now = next;
  }
  if (modulus == 1) return 0;
  return static_cast<std::uint32_t>(now < 0 ? now + modulus : now);
}

// Divisions of 64 bits take a GPU some hundred instructions; nearly all numbers here fit 32.
WEFT_ANYWHERE constexpr std::uint32_t quotient(std::uint64_t value, std::uint32_t by) {
  return value >> 32 == 0 ? static_cast<std::uint32_t>(value) / by : static_cast<std::uint32_t>(value / by);
}
WEFT_ANYWHERE constexpr std::uint32_t remainder(std::uint64_t value, std::uint32_t by) {
  return value >> 32 == 0 ? static_cast<std::uint32_t>(value) % by : static_cast<std::uint32_t>(value % by);
}

/// The choice in one row of more edges than are kept.
struct RowChoice {
  EdgeSampling method = EdgeSampling::bucket;
  std::uint32_t degree = 1, kept = 1;
  std::uint32_t prime = 1, start = 0;  // of fastrand and fresh

  /// The place in the row of the i-th kept edge, i < kept.
  WEFT_ANYWHERE constexpr std::uint32_t place(std::uint32_t i) const {
    switch (method) {
      case EdgeSampling::bucket: return i;
      case EdgeSampling::strata: return quotient(std::uint64_t{i} * degree, kept);
      default: return remainder(std::uint64_t{i} * prime + start, degree);
    }
  }
  /// The i of place(i) == place, or a number of `kept` or more where there is none. `inverse`: of the prime, modulo the
  /// degree; only fastrand and fresh read it.
  WEFT_ANYWHERE constexpr std::uint32_t index(std::uint32_t place_of, std::uint32_t inverse) const {
    switch (method) {
      case EdgeSampling::bucket: return place_of;
      case EdgeSampling::strata: {
        const auto i = quotient(std::uint64_t{place_of} * kept + degree - 1, degree);
        return i < kept && place(i) == place_of ? i : kept;
      }
      default: {
        const std::uint32_t from_start = place_of >= start ? place_of - start : place_of + (degree - start);
        return remainder(std::uint64_t{from_start} * inverse, degree);
      }
    }
  }
};

/// The choice in every row.
struct EdgeChoice {
  EdgeSampling method = EdgeSampling::bucket;
  std::int64_t width = 0;
  std::uint64_t seed = 0;
  std::int64_t step = 0;

  EdgeChoice() = default;
  explicit EdgeChoice(const EdgeSample& sample)
      : method(sample.method), width(sample.width), seed(sample.seed), step(sample.step) {}

  WEFT_ANYWHERE constexpr std::int64_t kept(std::int64_t degree) const { return degree < width ? degree : width; }
  /// Of a row with more edges than `width`.
  WEFT_ANYWHERE constexpr RowChoice row(std::int64_t v, std::int64_t degree) const {
    RowChoice choice;
    choice.method = method;
    choice.degree = static_cast<std::uint32_t>(degree);
    choice.kept = static_cast<std::uint32_t>(width);
    if (method == EdgeSampling::bucket || method == EdgeSampling::strata) return choice;
    choice.prime = sampling_prime(choice.degree);
    if (method == EdgeSampling::fresh)
      choice.start = static_cast<std::uint32_t>(Draws{seed, step, Purpose::edges}.below(v, 0, degree));
    return choice;
  }
  /// The place of the i-th kept edge of row v.
  WEFT_ANYWHERE constexpr std::int64_t place(std::int64_t v, std::int64_t degree, std::int64_t i) const {
    return degree <= width ? i : row(v, degree).place(static_cast<std::uint32_t>(i));
  }
  /// Whether the edge at a place of row v is kept.
  WEFT_ANYWHERE constexpr bool keeps(std::int64_t v, std::int64_t degree, std::int64_t at) const {
    if (degree <= width) return true;
    const RowChoice choice = row(v, degree);
    return choice.index(static_cast<std::uint32_t>(at), inverse_modulo(choice.prime, choice.degree)) < choice.kept;
  }
};

/// Where the edges of a sample stand in the whole graph. The sample's own graph is an index space alone: its offsets
/// and rows are those of the kept edges, its columns and ids those of all, to be read at places.
struct SampledPlaces {
  const EdgeId* offsets = nullptr;  // of the whole graph; null: edges are not sampled
  EdgeChoice choice;

  WEFT_ANYWHERE constexpr bool given() const { return offsets != nullptr; }
  /// The place of edge k of the index space, which is the (k - row_begin)-th of its row.
  WEFT_ANYWHERE constexpr EdgeId of(std::int64_t row, EdgeId k, EdgeId row_begin) const {
    const EdgeId first = offsets[row];
    return first + choice.place(row, offsets[row + 1] - first, k - row_begin);
  }
  /// f(k, place) for edges [begin, end) of the index space, all of which are in `row`, the first being at `row_begin`.
  template <class F>
  void each_place(std::int64_t row, EdgeId row_begin, EdgeId begin, EdgeId end, const F& f) const {
    const EdgeId first = offsets[row], degree = offsets[row + 1] - first;
    const bool all = degree <= choice.width;
    const RowChoice of_row = all ? RowChoice{} : choice.row(row, degree);
    for (EdgeId k = begin; k < end; ++k) {
      const EdgeId i = k - row_begin;
      f(k, first + (all ? i : EdgeId{of_row.place(static_cast<std::uint32_t>(i))}));
    }
  }
  /// What a sum over the row's kept edges is multiplied by to be one over all of them in expectation.
  template <class Acc>
  WEFT_ANYWHERE constexpr Acc unbiased(std::int64_t row, std::int64_t kept) const {
    return kept > 0 ? static_cast<Acc>(offsets[row + 1] - offsets[row]) / static_cast<Acc>(kept) : Acc(1);
  }
};

}  // namespace weft
