// How heads lie in the lanes of a group of threads.
#pragma once

#include <cstdint>

#include "plan/gather_shape.hpp"

namespace weft::cuda {

/// Whether lanes that cover a head can add up over it: a power of two of them cover each, or all lanes some of a lane's
/// steps, or there is one head and it lies in one tile. (More lanes than the shape has may cover a row.)
inline bool heads_lie_evenly(std::int64_t heads, std::int64_t width, const GatherShape& shape) {
  const std::int64_t of_head = width / shape.vector, lanes = shape.lanes;
  const bool one_tile = heads * width <= lanes * shape.steps * shape.vector;
  if (heads == 1) return one_tile;
  return of_head <= lanes ? (of_head & (of_head - 1)) == 0 : one_tile && of_head % lanes == 0;
}

}  // namespace weft::cuda
