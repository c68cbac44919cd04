// Launches that fail and kernels that are missing, for files nvcc compiles (which cannot read fmt's format strings).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "plan/kernel_table.hpp"

namespace weft::cuda {

/// The operator that a message's gather is part of, for errors.
constexpr const char* operator_of(KernelMessage message) {
  switch (message) {
    case KernelMessage::gat:
    case KernelMessage::vector_scored:
    case KernelMessage::vector_scored_edges: return "attention";
    case KernelMessage::gat_backward:
    case KernelMessage::leaky_sum:
    case KernelMessage::leaky_sum_edges: return "attention's backward";
    default: return "spmm";
  }
}

/// An Error with the operator, its shape and CUDA's own words, unless the launch before it was taken.
void check_launch(const char* op, std::int64_t rows, std::int64_t edges, std::int64_t features);

/// So many bytes of shared memory, which the kernel is then allowed; an Error where a block has no room for them.
std::size_t allow_shared(const void* kernel, std::int64_t bytes);

/// Errors that name what this build lacks: kernels in f64, or of a shape that nothing should have chosen.
[[noreturn]] void refuse_f64();
[[noreturn]] void refuse_shape(const GatherShape& shape);

}  // namespace weft::cuda
