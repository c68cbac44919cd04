// The launches nvcc compiles, for the host code that has selected a kernel. Which exist is listed in plan/kernels.def.
#pragma once

#include "kernels/cuda/gather/args.hpp"
#include "plan/kernel_table.hpp"
#include "weft/context.hpp"

namespace weft::cuda {

/// Puts the tasks of a gather into the stream.
template <class Message, Reduction Kind>
void launch_gather(const GatherArgs<Message>& args, const GatherShape& shape, CUstream_st* stream);

/// The same for sums of rows of few features (see is_narrow).
template <class Message>
void launch_narrow(const GatherArgs<Message>& args, const GatherShape& shape, CUstream_st* stream);

/// Sums of halves whose batches are added up in pairs.
template <class Message>
void launch_half_pairs(const GatherArgs<Message>& args, const GatherShape& shape, CUstream_st* stream);

/// Sums in shapes that only a policy asks for.
template <class Message>
void launch_other_shape(const GatherArgs<Message>& args, const GatherShape& shape, CUstream_st* stream);

/// Sums over tiles of `Tile` edges in shared memory. `atomic`: onto an output of zeros, instead of through staging
/// slots.
template <class Message, int Tile>
void launch_staged(const GatherArgs<Message>& args, const GatherShape& shape, bool round_robin, bool atomic,
                   CUstream_st* stream);

/// Puts the fix-up of rows that the tasks left into the stream.
template <class Storage, Reduction Kind>
void launch_fix_up(const GatherCommon<Storage>& args, const GatherShape& shape, CUstream_st* stream);

}  // namespace weft::cuda
