// Gradients of max and min: what a winning message passes on. Gathered, never scattered, so the order of
// every sum is fixed.
#pragma once

#include "kernels/signatures.hpp"

namespace weft {

struct ExtremumBackwardArgs {
  GraphView graph;
  SpmmOp op = SpmmOp::copy_u;
  std::int64_t heads = 1, width = 1;  // of the forward's output
  Operand x, edge;                    // the forward's inputs
  Operand out_grad;                   // by destination
  Operand row_scale, col_scale;       // the forward's: by destination, by source
  const EdgeId* arg_e = nullptr;      // [destinations, heads, width]: the winning edge of every output element
  Result out;
};

namespace cpu {

/// `graph` is the transpose: row = source. The output has x's own heads and width.
void extremum_x_gradient(const ExtremumBackwardArgs& args, std::int64_t out_heads, std::int64_t out_width, int threads);
/// `graph` is the graph itself. The output has the edge tensor's own heads and width.
void extremum_edge_gradient(const ExtremumBackwardArgs& args, std::int64_t out_heads, std::int64_t out_width,
                            int threads);

}  // namespace cpu
}  // namespace weft
