// Attention's launches that nvcc compiles, for the host code that has selected a kernel.
#pragma once

#include "kernels/cuda/attention/messages.hpp"
#include "plan/kernel_table.hpp"
#include "weft/context.hpp"

namespace weft::cuda {

/// The tasks of attention, whatever its scores, and those of GAT's backward.
template <class Message>
void launch_by_heads(const GatherArgs<Message>& args, const GatherShape& shape, const HeadMapping& heads,
                     CUstream_st* stream);

/// The fix-up of attention, whatever its scores, and of GAT's backward.
template <class Storage>
void launch_attention_fix_up(const GatherArgs<Gat<Storage>>& args, const GatherShape& shape, CUstream_st* stream);
template <class Storage>
void launch_backward_fix_up(const GatherArgs<GatBackward<Storage>>& args, const GatherShape& shape,
                            CUstream_st* stream);

}  // namespace weft::cuda
