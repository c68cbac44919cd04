#pragma once

#include "kernels/signatures.hpp"

namespace weft::cuda {

/// By a plan with core=tensor; heads are joined.
void spmm_by_windows(const SpmmArgs& args, const Plan& plan, Arena arena, CUstream_st* stream);
void sddmm_by_windows(const SddmmArgs& args, const Plan& plan, CUstream_st* stream);
void attention_by_windows(const AttentionArgs& args, const Plan& plan, Arena arena, CUstream_st* stream);
/// Behind find_destination_terms, which writes what args.destinations point to.
void gradients_by_windows(const AttentionBackwardArgs& args, const Plan& plan, Arena arena, CUstream_st* stream);

}  // namespace weft::cuda
