// A GatherShape known when a kernel is compiled, and the way there from one that is not.
#pragma once

#include <type_traits>

#include "plan/gather_shape.hpp"

namespace weft::cuda {

template <int VectorOf, int LanesOf, int StepsOf, int LoadsOf>
struct Shape {
  static constexpr int vector = VectorOf, lanes = LanesOf, steps = StepsOf, loads = LoadsOf;
  static constexpr int count = vector * steps;  // features a lane holds
  static constexpr int groups = block_threads / lanes;
  static constexpr int tile = lanes * count;  // features a group covers
  static constexpr int each = lanes >= loads ? 1 : loads / lanes;
  static constexpr bool in_pairs = false;  // batches of halves are added up as such
  static constexpr int held = 1;           // attention: edges whose weights a lane of several heads finds; 1: one head
  static constexpr int head_steps = 1;     // attention: steps of a lane that may stand in different heads
  static constexpr GatherShape value{vector, lanes, steps, loads};
  static constexpr bool widest = lanes == 32 && steps == (vector == 8 ? 2 : 4);  // rows may have more features yet
};

template <class S>
struct InPairs : S {
  static constexpr bool in_pairs = true;
};

template <class S, int Held, int HeadSteps = (Held == 1 ? 1 : S::steps)>
struct WithHeads : S {
  static constexpr int held = Held, head_steps = HeadSteps;
};

/// Calls f(vector, lanes, steps) with constants that cover `shape`. With `coarse`, for where speed is no goal, every
/// other number of lanes is left out and the next larger one serves; so it is for packs of one or two halves.
template <int MostVector, bool Coarse, class F>
void with_shape(const GatherShape& shape, const F& f) {
  constexpr std::integral_constant<int, 1> one;
  constexpr std::integral_constant<int, 2> two;
  constexpr std::integral_constant<int, 4> four;
  constexpr std::integral_constant<int, 8> eight;
  constexpr std::integral_constant<int, 16> sixteen;
  constexpr std::integral_constant<int, 32> warp;
  const auto with_vector = [&](auto vector) {
    const int covered = shape.lanes * shape.steps;
    if constexpr (!Coarse && (MostVector <= 4 || decltype(vector)::value >= 4)) {
      if (covered == 1) return f(vector, one, one);
      if (covered == 4) return f(vector, four, one);
      if (covered == 16) return f(vector, sixteen, one);
    }
    if constexpr (!Coarse)
      if (covered == 64) return f(vector, warp, two);
    if (covered <= 2) return f(vector, two, one);
    if (covered <= 8) return f(vector, eight, one);
    if (covered <= 32) return f(vector, warp, one);
    // Lanes of eight features have enough with two steps: four would be too much for registers and shared memory.
    if constexpr (decltype(vector)::value == 8) {
      f(vector, warp, two);
    } else {
      f(vector, warp, four);
    }
  };
  if constexpr (MostVector >= 8)
    if (shape.vector == 8) return with_vector(eight);
  if constexpr (MostVector >= 4)
    if (shape.vector == 4) return with_vector(four);
  if (shape.vector == 2) return with_vector(two);
  with_vector(one);
}

}  // namespace weft::cuda
