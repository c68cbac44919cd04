// What the kernels of one SDDMM read and write: plain views, passed by value.
#pragma once

#include <cstdint>

#include "core/accumulator.hpp"
#include "kernels/cuda/maybe_wide.hpp"
#include "kernels/cuda/schedule/edge_split.hpp"
#include "plan/gather_shape.hpp"
#include "weft/context.hpp"
#include "weft/types.hpp"

namespace weft::cuda {

/// Dot products of a destination's vector with its sources', a head at a time: blockIdx.y is the head.
template <class Storage>
struct DotArgs {
  EdgeSplit split;
  const Storage* source = nullptr;
  const Storage* destination = nullptr;
  std::uint32_t source_pitch_bytes = 0, destination_pitch_bytes = 0;
  std::int64_t source_head = 0, destination_head = 0;
  int features = 0;  // of a head
  int heads = 1;
  Storage* out = nullptr;  // by edge id
  bool wide = false;       // out holds accumulators instead
  std::int64_t out_pitch = 1;
};

/// An operand of the general kernels: at either end of an edge or on it, one value per feature, a head, or an edge.
template <class Storage>
struct EdgeOperand {
  const Storage* data = nullptr;  // null: not read
  Target target = Target::u;
  std::int64_t pitch = 0, head = 0;
  bool vector = true;  // one value per feature, else one per head
};

/// Any operator on any operands: one thread a pack of results, or for dot a group of threads a result.
template <class Storage>
struct EdgewiseArgs {
  GraphView graph;
  SddmmOp op = SddmmOp::dot;
  EdgeOperand<Storage> lhs, rhs;
  int heads = 1, width = 1;
  Storage* out = nullptr;  // by edge id
  bool wide = false;       // out holds accumulators instead
  std::int64_t out_pitch = 1;
};

template <class Storage>
void launch_dot(const DotArgs<Storage>& args, const GatherShape& shape, CUstream_st* stream);
template <class Storage>
void launch_edgewise(const EdgewiseArgs<Storage>& args, int vector, CUstream_st* stream);

}  // namespace weft::cuda
