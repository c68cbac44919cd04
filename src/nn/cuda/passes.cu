#include "core/loops/cuda/gpu.cuh"
#include "nn/dense/norm-inl.hpp"

namespace weft::loops {
using Backend = Gpu;
}
#include "nn/dense/pass_list-inl.hpp"
