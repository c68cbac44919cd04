// Whether sums over neighbours and a product run as one.
#pragma once

#include <optional>

#include "dense/gemm.hpp"
#include "weft/graph.hpp"

namespace weft::dense {

/// What else is known of the sums when they are planned.
struct FusedSums {
  bool scaled = false;     // edges have values, or sources scales
  bool stored = false;     // they are stored as well, and in two kernels would need no pass of their own between them
  bool adds_self = false;  // a row's own counts, too
};

/// Of sums over `graph` of rows of `in` features, which meet weights [in, out]: whether that pays, or what the caller
/// wishes; never where the device has no kernel for it. On a CPU a pass over the rows.
bool fuses(const Gemm& gemm, const Graph& graph, Dtype dtype, std::int64_t in, std::int64_t out, const FusedSums& sums,
           std::optional<bool> wish);

}  // namespace weft::dense
