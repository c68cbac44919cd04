// Attention's launches that nvcc compiles, for the host code that chooses among them.
#pragma once

#include "kernels/cuda/attention/messages.hpp"
#include "plan/gather_shape.hpp"
#include "weft/context.hpp"

namespace weft::cuda {

/// GAT's tasks, and those of its backward. How heads map to lanes follows from heads and shape.
template <class Message>
void launch_by_heads(GatherArgs<Message> args, const GatherShape& shape, CUstream_st* stream);

/// Attention's tasks where scores come from vectors; `shared`: lanes that cover a head, a power of two, or all lanes
/// where there is one, share its scores out.
template <class Storage>
void launch_vector_scored(GatherArgs<VectorScored<Storage>> args, const GatherShape& shape, bool shared,
                          CUstream_st* stream);
template <class Storage>
void launch_leaky_sum(const GatherArgs<LeakySum<Storage>>& args, const GatherShape& shape, CUstream_st* stream);
/// Elements a load of these two, or one.
template <class Storage>
inline constexpr int few_shapes_vector = sizeof(Storage) > 4 ? 2 : 4;

/// The fix-up of attention, whatever its scores, and of GAT's backward.
template <class Storage>
void launch_attention_fix_up(const GatherArgs<Gat<Storage>>& args, const GatherShape& shape, CUstream_st* stream);
template <class Storage>
void launch_backward_fix_up(const GatherArgs<GatBackward<Storage>>& args, const GatherShape& shape,
                            CUstream_st* stream);

}  // namespace weft::cuda
