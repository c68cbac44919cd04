// How a group of threads covers one row of features: each of `lanes` threads moves `steps` packs of `vector` elements,
// `loads` rows at a time; rows wider than that are cut into tiles of it.
#pragma once

#include <cstdint>

namespace weft {

/// Threads of every block that gathers.
inline constexpr int block_threads = 256;

struct GatherShape {
  int vector = 1;
  int lanes = 1;  // of a group
  int steps = 1;
  int loads = 8;

  friend bool operator==(const GatherShape&, const GatherShape&) = default;
};

/// Rows in flight. Eight 16-byte loads per lane are what an H200 wants; more steps take fewer rows at a time instead of
/// more registers, and so do groups of one or two lanes, which hold many edges each.
constexpr int rows_in_flight(int vector, int lanes, int steps) { return (lanes <= vector / 4 ? 4 : 8) / steps; }

/// The widest packs that divide the row (and that `most`, what alignment allows, permits), the fewest lanes that cover
/// it, and beyond a warp more steps a lane.
constexpr GatherShape gather_shape(std::int64_t features, int element_bytes, int most) {
  GatherShape shape;
  shape.vector = 16 / element_bytes < most ? 16 / element_bytes : most;
  while (features % shape.vector != 0) shape.vector /= 2;
  const std::int64_t packs = features / shape.vector;
  while (shape.lanes < 32 && shape.lanes < packs) shape.lanes *= 2;
  const int most_steps = shape.vector == 8 ? 2 : 4;  // eight features per lane and step: more have no registers
  while (shape.steps < most_steps && std::int64_t{shape.lanes} * shape.steps < packs) shape.steps *= 2;
  shape.loads = rows_in_flight(shape.vector, shape.lanes, shape.steps);
  return shape;
}

/// Packs that do not reach across heads.
constexpr GatherShape gather_shape_of_heads(std::int64_t heads, std::int64_t width, int element_bytes, int most) {
  while (width % most != 0) most /= 2;
  return gather_shape(heads * width, element_bytes, most);
}

/// Whether lanes that cover a head can add up over it: a power of two of them cover each, or all lanes some of a lane's
/// steps, or there is one head and it lies in one tile. (More lanes than the shape has may cover a row.)
constexpr bool heads_lie_evenly(std::int64_t heads, std::int64_t width, const GatherShape& shape) {
  const std::int64_t of_head = width / shape.vector, lanes = shape.lanes;
  const bool one_tile = heads * width <= lanes * shape.steps * shape.vector;
  if (heads == 1) return one_tile;
  return of_head <= lanes ? (of_head & (of_head - 1)) == 0 : one_tile && of_head % lanes == 0;
}

/// Attention: edges whose weights a lane finds where lanes of a head share them out.
inline constexpr int shared_weights = 4;
/// Whether they do: as many lanes, a power of two, cover each head, and few heads stand in a step.
constexpr bool shares_weights(std::int64_t heads, std::int64_t width, int element_bytes, const GatherShape& shape) {
  const std::int64_t of_head = width / shape.vector, head_lanes = of_head < shape.lanes ? of_head : shape.lanes;
  return heads > 1 && element_bytes <= 4 && shape.vector >= 4 && shape.lanes >= 8 && shape.lanes >= shape.loads &&
         shape.loads % shared_weights == 0 && (of_head & (of_head - 1)) == 0 &&
         head_lanes * shared_weights >= shape.lanes;
}
/// Whether all steps of a lane then lie within one head, on fewer lanes: a lane weighs an edge for that one alone, and
/// sums over a head take fewer exchanges.
constexpr bool folds_heads(std::int64_t heads, std::int64_t width, int element_bytes, const GatherShape& shape) {
  return shape.steps > 1 && shares_weights(heads, width, element_bytes, shape) &&
         width / (shape.vector * shape.steps) * shared_weights >= shape.lanes &&
         width <= std::int64_t{shape.lanes} * shape.vector * shape.steps;
}

/// Blocks a multiprocessor that gather in that shape: what registers allow.
constexpr int resident_blocks(int element_bytes, const GatherShape& shape) {
  return element_bytes > 4 || shape.steps > 2 || shape.vector * shape.steps > 8 ? 2 : 3;
}
/// The same as a launch bound: lanes of one or two features get along with 64 registers, for a fourth block. (Plans
/// count on three: how they cut rows decides how sums round.)
constexpr int bounded_blocks(int element_bytes, const GatherShape& shape) {
  return element_bytes <= 4 && shape.vector * shape.steps <= 2 ? 4 : resident_blocks(element_bytes, shape);
}
/// Attention holds more: at three blocks weights of several heads spill, unless packs are of few halves, and so
/// do gradients. `shared`: lanes share weights out.
constexpr int resident_blocks_of_attention(bool backward, bool shared, int element_bytes, const GatherShape& shape) {
  const bool holds_more = backward || (shared && (element_bytes > 2 || shape.vector * shape.steps >= 8));
  return holds_more ? 2 : resident_blocks(element_bytes, shape);
}

/// Sums of rows of so few features run with the lanes of a warp along the edges instead, each lane with a row of its
/// own: a row lies within a sector of memory or two, and only neighbouring edges' indices have lines in common.
inline constexpr int most_narrow_features = 4;
inline constexpr int narrow_lanes = 32;
inline constexpr int narrow_slabs = 4;  // rows in flight a lane

constexpr bool is_narrow(std::int64_t features, bool sums) { return sums && features <= most_narrow_features; }

constexpr GatherShape narrow_shape(std::int64_t features, int element_bytes, int most) {
  GatherShape shape = gather_shape(features, element_bytes, most);
  shape.steps = static_cast<int>(features) / shape.vector;
  shape.lanes = narrow_lanes;
  shape.loads = narrow_lanes * narrow_slabs;
  return shape;
}

}  // namespace weft
