// GAT's gradients by a visit of the edges of the transpose: of all of them, or of the residual beside windows.
#pragma once

#include "kernels/cuda/attention/messages.hpp"
#include "kernels/signatures.hpp"

namespace weft::cuda {

/// What edges need beside out_grad; head_lanes is of no selection yet.
template <class Storage>
typename GatBackward<Storage>::Args gradient_terms(const AttentionBackwardArgs& args);

/// Where find_destination_terms has written args.destinations. Gradients may be wide.
template <class Storage>
void gather_gradients(const AttentionBackwardArgs& args, const Plan& plan, Arena arena, CUstream_st* stream);

}  // namespace weft::cuda
