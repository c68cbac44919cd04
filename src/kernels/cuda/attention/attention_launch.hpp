// Launches of fused attention, one instantiation a storage type in files of their own.
#pragma once

#include "kernels/cuda/attention/attention_args.hpp"
#include "plan/gather_shape.hpp"
#include "weft/context.hpp"

namespace weft::cuda {

/// The tasks, where there are any.
template <class Storage>
void launch_attention(const AttentionKernelArgs<Storage>& args, const GatherShape& shape, CUstream_st* stream);
/// Rows that they leave.
template <class Storage>
void launch_attention_finish(const AttentionKernelArgs<Storage>& args, CUstream_st* stream);

}  // namespace weft::cuda
