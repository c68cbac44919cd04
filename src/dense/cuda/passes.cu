#include "core/loops/cuda/gpu.cuh"
#include "dense/norm-inl.hpp"

namespace weft::loops {
using Backend = Gpu;
}
#include "dense/pass_list-inl.hpp"
