// A GatherShape known when a kernel is compiled, and the way there from one that is not.
#pragma once

#include <type_traits>
#include <utility>

#include "kernels/cuda/launch_check.hpp"
#include "plan/kernel_table.hpp"

namespace weft::cuda {

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

template <int Row>
inline constexpr ShapeList row_shapes = shapes_of(kernel_rows[Row]);

/// Calls f(Shape<...>{}) with the shape of that row of the kernel table, known when a kernel is compiled; an Error
/// where the row has none such.
template <int Row, class F>
void with_shape(const GatherShape& shape, const F& f) {
  static_assert(Row >= 0, "the kernel table has a row for every launch");
  const bool found = [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto tried = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
      constexpr GatherShape s = row_shapes<Row>.shapes[Index];
      if (shape != s) return false;
      f(Shape<s.vector, s.lanes, s.steps, s.loads>{});
      return true;
    };
    return (tried(std::integral_constant<std::size_t, I>{}) || ...);
  }
  (std::make_index_sequence<static_cast<std::size_t>(row_shapes<Row>.count)>{});
  if (!found) refuse_shape(shape);
}

/// Calls f(WithHeads<S, ...>{}) with the mapping, in the same way.
template <int Row, class S, class F>
void with_heads(const HeadMapping& mapping, const F& f) {
  bool found = false;
  const auto tried = [&]<HeadMap Map, int Steps>() {
    if constexpr (has_mapping(kernel_rows[Row], S::value, {Map, Steps}))
      if (!found && mapping == HeadMapping{Map, Steps}) {
        found = true;
        f(WithHeads<S, Map, Steps>{});
      }
  };
  tried.template operator()<HeadMap::one, 1>();
  tried.template operator()<HeadMap::shared, S::steps>();
  if constexpr (S::steps > 1) tried.template operator()<HeadMap::shared, 1>();
  tried.template operator()<HeadMap::any, S::steps>();
  if (!found) refuse_shape(S::value);
}

}  // namespace weft::cuda
