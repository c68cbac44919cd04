// The edges of a sample, written to the workspace before the kernels that sum them.
//
// To find them in those kernels instead, in shared memory before a share is walked, took as long or longer, and made
// kernels that sample nothing up to 1.17 times slower (bench/records/h200/sampling-in-kernels.json).
#pragma once

#include "kernels/signatures.hpp"

namespace weft::cuda {

/// Puts the drawing of the sample into the stream. The arguments are then of a graph without one, whose arrays are the
/// arena's.
SpmmArgs with_sample_drawn(SpmmArgs args, const Plan& plan, Arena& arena, CUstream_st* stream);
AttentionArgs with_sample_drawn(AttentionArgs args, const Plan& plan, Arena& arena, CUstream_st* stream);

}  // namespace weft::cuda
