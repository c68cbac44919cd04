// Heads that need no telling apart.
#pragma once

#include "kernels/signatures.hpp"

namespace weft {

/// Heads that are treated alike are one wide head: fewer, longer loops.
inline SpmmArgs with_heads_joined(SpmmArgs args) {
  const auto contiguous = [&](const Operand& o) {
    return o.head_stride == args.width && (o.feature_stride == 1 || args.width == 1);
  };
  const bool edge_alike =
      !uses_edge(args.op) || (args.edge.head_stride == 0 && args.edge.feature_stride == 0 && uses_node(args.op));
  // Joined, one value per head becomes a vector, and vectors on edges are read in the type of x.
  const bool edge_joined =
      !uses_edge(args.op) || (contiguous(args.edge) && (!uses_node(args.op) || args.edge.dtype == args.x.dtype));
  const bool x_joined = !uses_node(args.op) || contiguous(args.x);
  if (args.heads == 1 || !x_joined || !(edge_alike || edge_joined)) return args;
  args.x.feature_stride = 1;
  if (!edge_alike) args.edge.feature_stride = 1;
  args.width *= args.heads;
  args.heads = 1;
  return args;
}

}  // namespace weft
