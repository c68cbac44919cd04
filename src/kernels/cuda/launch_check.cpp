#include "kernels/cuda/launch_check.hpp"

#include "core/cuda/check.hpp"

namespace weft::cuda {

void check_launch(const char* op, std::int64_t rows, std::int64_t edges, std::int64_t features) {
  check(cudaGetLastError(), "{} on a graph of {} rows and {} edges, {} features", op, rows, edges, features);
}

}  // namespace weft::cuda
