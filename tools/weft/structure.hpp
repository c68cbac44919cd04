// Facts about a graph that take one pass over its edges.
#pragma once

#include <cstdint>
#include <string>

#include "weft/graph.hpp"
#include "weft/tensor.hpp"

namespace weft::tool {

struct Structure {
  std::int64_t self_loops = 0;
  std::int64_t duplicates = 0;  // edges beyond the first between the same two nodes
  bool sorted_columns = true;   // ascending within every row
  /// Every edge has its reverse (duplicates count once). Decided by comparing two 128-bit sums of
  /// hashes, of the edges and of their reverses: one pass, no random access, wrong once in 2^128.
  bool symmetric = false;
};
Structure structure_of(const Graph& graph);

struct ValueRange {
  double min = 0, max = 0;  // of the finite values
  std::int64_t not_finite = 0;
  bool any = false;  // whether there is a finite value
};
ValueRange range_of(ConstTensorView values);

}  // namespace weft::tool
