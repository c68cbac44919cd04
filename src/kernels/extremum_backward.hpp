// Gradients of max and min: what a winning message passes on. Gathered, never scattered, so the order of
// every sum is fixed: a row's edges in stored order, a long row's pieces one after the other.
#pragma once

#include "core/cuda/launcher.hpp"
#include "kernels/signatures.hpp"

namespace weft {

struct ExtremumBackwardArgs {
  GraphView graph;  // with rows, on a GPU
  SpmmOp op = SpmmOp::copy_u;
  std::int64_t heads = 1, width = 1;          // of the forward's output
  std::int64_t out_heads = 1, out_width = 1;  // of the gradient: those of x or edge themselves
  Operand x, edge;                            // the forward's inputs
  Operand out_grad;                           // by destination; x has its dtype, scales that of its accumulator
  Operand row_scale, col_scale;               // the forward's: by destination, by source
  const EdgeId* arg_e = nullptr;              // [destinations, heads, width]: the winning edge of every output element
  Result out;
};

/// What to make a plan for: sums are kept in float64 whatever is stored, and every edge looks at all features.
inline OpDesc extremum_backward_desc(std::int64_t heads, std::int64_t width) {
  return {OpKind::spmm, Dtype::f64, heads, width, Reduce::sum, true};
}

namespace cpu {

/// `graph` is the transpose: row = source.
void extremum_x_gradient(const ExtremumBackwardArgs& args, const Plan& plan, Arena arena);
/// `graph` is the graph itself.
void extremum_edge_gradient(const ExtremumBackwardArgs& args, const Plan& plan, Arena arena);

}  // namespace cpu

namespace cuda {

// The same on a GPU, put into the stream. Tasks follow from the graph, so there is no plan.
/// Bytes extremum_x_gradient carves from its arena.
WEFT_LAUNCHER(std::size_t extremum_workspace(const ExtremumBackwardArgs& args));
WEFT_LAUNCHER(void extremum_x_gradient(const ExtremumBackwardArgs& args, Device device, Arena arena,
                                       CUstream_st* stream));
WEFT_LAUNCHER(void extremum_edge_gradient(const ExtremumBackwardArgs& args, Device device, CUstream_st* stream));

}  // namespace cuda
}  // namespace weft
