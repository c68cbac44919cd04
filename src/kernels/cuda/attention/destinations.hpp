// What the gradients of edges need of their destinations: one pass over the rows, before the edges are visited.
#pragma once

#include "kernels/cuda/attention/messages.hpp"
#include "kernels/signatures.hpp"

namespace weft::cuda {

/// Into `to`, [rows, heads].
template <class Storage>
void find_destination_terms(const AttentionArgs& forward, const Operand& out_grad,
                            DestinationTerms<AccumulatorOf<Storage>>* to, CUstream_st* stream);

}  // namespace weft::cuda
