// Rows of a product that stand nowhere: sums over neighbours, made on the way into it.
#pragma once

#include "weft/graph.hpp"
#include "weft/types.hpp"

namespace weft::dense {

/// Row v of the left operand is
///   relu(row_scale[v] * sum over u -> v of (col_scale[u] * edge * x[u]) + (1 + *eps) * x[v] + bias),
/// summed up in Acc and rounded once to T, as if it had been stored. Arrays are dense, on the device that multiplies.
struct NeighbourRows {
  GraphView graph;                  // its rows are the product's
  const void* x = nullptr;          // T [num_cols, k]
  const void* edge = nullptr;       // one value per edge, by id, or null
  Dtype edge_dtype = Dtype::f32;    // of `edge`: T or Acc
  bool mean = false;                // the sum over u is divided by the number of edges
  const void* row_scale = nullptr;  // Acc [num_rows] or null
  const void* col_scale = nullptr;  // Acc [num_cols] or null
  bool adds_self = false;           // x[v] counts, of those v that have one
  const void* eps = nullptr;        // Acc; null: 0
  const void* bias = nullptr;       // Acc [k] or null
  bool relu = false;
  bool saturates = false;  // f16: past its range the largest value, not infinity
  void* kept = nullptr;    // T [num_rows, k] or null: where the rows are stored as well
};

}  // namespace weft::dense
