// The launches nvcc compiles, for the host code that chooses among them.
#pragma once

#include "kernels/cuda/spmm/spmm_args.hpp"
#include "plan/gather_shape.hpp"
#include "weft/context.hpp"

namespace weft::cuda {

/// Puts the tasks of one kind into the stream.
template <class Storage, Message Sent, Reduction Kind>
void launch_tasks(const SpmmKernelArgs<Storage>& args, const GatherShape& shape, CUstream_st* stream);

/// The weighted sum with `shape` as a policy asks for it: half the usual lanes, or fewer rows in flight.
void launch_other_shape(const SpmmKernelArgs<float>& args, const GatherShape& shape, CUstream_st* stream);

/// Sums of halves whose batches are added up in pairs; `shape` has whole packs.
template <class Storage, Message Sent>
void launch_pairs(const SpmmKernelArgs<Storage>& args, const GatherShape& shape, CUstream_st* stream);

/// The same for sums of rows of few features (see is_narrow): `vector` elements a load is what alignment allows.
template <class Storage, Message Sent>
void launch_narrow(const SpmmKernelArgs<Storage>& args, int vector, CUstream_st* stream);

/// Puts a sum, weighted or not, over tiles of `Tile` edges in shared memory into the stream. `atomic`: onto
/// an output of zeros, instead of through staging slots.
template <class Storage, int Tile>
void launch_staged(const SpmmKernelArgs<Storage>& args, const GatherShape& shape, bool round_robin, bool atomic,
                   CUstream_st* stream);

/// Attention's tasks, and those of its gradients. How lanes share the weights of edges follows from heads and shape.
template <class Storage>
void launch_attended(SpmmKernelArgs<Storage> args, const GatherShape& shape, CUstream_st* stream);
template <class Storage>
void launch_returned(SpmmKernelArgs<Storage> args, const GatherShape& shape, CUstream_st* stream);

/// Attention's tasks where scores come from vectors; `shared`: lanes that cover a head, a power of two, or all lanes
/// where there is one, share its scores out. GATv2's gradients.
template <class Storage>
void launch_scored(SpmmKernelArgs<Storage> args, const GatherShape& shape, bool shared, CUstream_st* stream);
template <class Storage>
void launch_leaned(SpmmKernelArgs<Storage> args, const GatherShape& shape, CUstream_st* stream);
/// Elements a load of these, or one.
template <class Storage>
inline constexpr int few_shapes_vector = sizeof(Storage) > 4 ? 2 : 4;

/// Puts the pass over what the tasks leave into the stream.
template <class Storage, Reduction Kind, FinishKind Finish = FinishKind::plain>
void launch_finish(const SpmmKernelArgs<Storage>& args, const GatherShape& shape, CUstream_st* stream);

}  // namespace weft::cuda
