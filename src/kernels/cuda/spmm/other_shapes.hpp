// The weighted sum in shapes that only a policy asks for.
#pragma once

#include "kernels/cuda/messages/messages.hpp"
#include "plan/gather_shape.hpp"
#include "weft/context.hpp"

namespace weft::cuda {

/// Half the usual lanes, or fewer rows in flight.
void launch_other_shape(const GatherArgs<Weighted<float>>& args, const GatherShape& shape, CUstream_st* stream);

}  // namespace weft::cuda
