// Launches that fail and kernels that are missing, for files nvcc compiles (which cannot read fmt's format strings).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string_view>

namespace weft::cuda {

/// An Error with the operator, its shape and CUDA's own words, unless the launch before it was taken.
void check_launch(const char* op, std::int64_t rows, std::int64_t edges, std::int64_t features);

/// Errors that name what this build lacks: kernels in f64, or those of a policy.
[[noreturn]] void refuse_f64();
[[noreturn]] void refuse_policy(std::string_view policy);

}  // namespace weft::cuda
