// The launches nvcc compiles, for the host code that chooses among them.
#pragma once

#include "kernels/cuda/spmm/sum_args.hpp"
#include "plan/gather_shape.hpp"
#include "weft/context.hpp"

namespace weft::cuda {

void launch_sum(const SumArgs<float>& args, const GatherShape& shape, CUstream_st* stream);

}  // namespace weft::cuda
