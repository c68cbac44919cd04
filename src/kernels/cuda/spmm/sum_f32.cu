#include "kernels/cuda/spmm/sum_launch.cuh"
#include "kernels/cuda/spmm/sum_launch.hpp"

namespace weft::cuda {

void launch_sum(const SumArgs<float>& args, const GatherShape& shape, CUstream_st* stream) {
  switch (shape.vector) {
    case 4: return launch_lanes<float, 4>(args, shape, stream);
    case 2: return launch_lanes<float, 2>(args, shape, stream);
    default: return launch_lanes<float, 1>(args, shape, stream);
  }
}

}  // namespace weft::cuda
