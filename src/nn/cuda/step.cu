#include "core/loops/cuda/gpu.cuh"
#include "nn/step/passes-inl.hpp"

namespace weft::loops {
using Backend = Gpu;
}
#include "nn/step/pass_list-inl.hpp"
