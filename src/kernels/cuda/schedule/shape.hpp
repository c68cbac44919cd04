// A GatherShape known when a kernel is compiled, and the way there from one that is not.
#pragma once

#include <type_traits>

#include "plan/gather_shape.hpp"

namespace weft::cuda {

/// Attention: how heads lie in the lanes that cover a row. `one`: there is one head, and each lane weighs its own edges
/// for all. `shared`: a power of two of lanes cover each head and share its weights out. `any`: however they lie, every
/// lane weighs all edges for the heads it has features of.
enum class HeadMap { one, shared, any };

template <int VectorOf, int LanesOf, int StepsOf, int LoadsOf>
struct Shape {
  static constexpr int vector = VectorOf, lanes = LanesOf, steps = StepsOf, loads = LoadsOf;
  static constexpr int count = vector * steps;  // features a lane holds
  static constexpr int groups = block_threads / lanes;
  static constexpr int tile = lanes * count;  // features a group covers
  static constexpr int each = lanes >= loads ? 1 : loads / lanes;
  static constexpr bool in_pairs = false;  // batches of halves are added up as such
  static constexpr HeadMap head_map = HeadMap::one;
  static constexpr int head_steps = 1;  // attention: steps of a lane that may lie in different heads
  static constexpr GatherShape value{vector, lanes, steps, loads};
  static constexpr bool widest = lanes == 32 && steps == (vector == 8 ? 2 : 4);  // rows may have more features yet
};

template <class S>
struct InPairs : S {
  static constexpr bool in_pairs = true;
};

template <class S, HeadMap Map, int HeadSteps = (Map == HeadMap::one ? 1 : S::steps)>
struct WithHeads : S {
  static constexpr HeadMap head_map = Map;
  static constexpr int head_steps = HeadSteps;
};

/// Whether every shape that can pay is compiled (WEFT_CUDA_SHAPES=all). Otherwise a few cover all widths: the same
/// results in more time, for builds that only check that everything compiles.
#ifdef WEFT_FEW_CUDA_SHAPES
inline constexpr bool every_shape = false;
#else
inline constexpr bool every_shape = true;
#endif

/// Calls f(vector, lanes, steps) with constants that cover `shape`. With `Rare`, for calls where speed is no goal,
/// every other number of lanes is left out and the next larger one serves; so it is for packs of one or two halves.
template <int MostVector, bool Rare, class F>
void with_shape(const GatherShape& shape, const F& f) {
  constexpr bool coarse = Rare || !every_shape;
  constexpr std::integral_constant<int, 1> one;
  constexpr std::integral_constant<int, 2> two;
  constexpr std::integral_constant<int, 4> four;
  constexpr std::integral_constant<int, 8> eight;
  constexpr std::integral_constant<int, 16> sixteen;
  constexpr std::integral_constant<int, 32> warp;
  const auto with_vector = [&](auto vector) {
    const int covered = shape.lanes * shape.steps;
    if constexpr (!coarse && (MostVector <= 4 || decltype(vector)::value >= 4)) {
      if (covered == 1) return f(vector, one, one);
      if (covered == 4) return f(vector, four, one);
      if (covered == 16) return f(vector, sixteen, one);
    }
    if constexpr (!coarse)
      if (covered == 64) return f(vector, warp, two);
    if constexpr (every_shape)
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
