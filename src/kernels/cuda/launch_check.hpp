// Launches that fail, for files nvcc compiles.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace weft::cuda {

/// An Error with the operator, its shape and CUDA's own words, unless the launch before it was taken.
void check_launch(const char* op, std::int64_t rows, std::int64_t edges, std::int64_t features);

}  // namespace weft::cuda
