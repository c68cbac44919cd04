// Graphs over arrays that weft has made itself, wherever they are.
#pragma once

#include "weft/graph.hpp"

namespace weft {

/// offsets i64 [rows + 1], cols i32 [edges], of one device and taken to be right; edge k has the id k. On a GPU the
/// work that wrote them stands in `stream`, and the call waits for it.
Graph adopt_rows(std::int64_t num_cols, Tensor offsets, Tensor cols, CUstream_st* stream);

}  // namespace weft
