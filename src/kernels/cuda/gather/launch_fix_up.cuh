// From a GatherShape to the instantiation of fix_up_rows.
#pragma once

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/cuda/status.hpp"
#include "core/device.hpp"
#include "kernels/cuda/gather/fix_up.cuh"
#include "kernels/cuda/gather/launch.hpp"
#include "kernels/cuda/launch_check.hpp"

namespace weft::cuda {

/// Whether the current GPU lets a kernel start before the one in front of it has ended, and this code waits then: on
/// such a GPU the newest architecture that was compiled for runs.
inline bool starts_early() {
  constexpr int compiled[] = {__CUDA_ARCH_LIST__};
  if (*std::max_element(std::begin(compiled), std::end(compiled)) < 900) return false;
  int device = 0;
  check_status(cudaGetDevice(&device), "asking for the current GPU");
  return cuda_device(device).compute_capability >= 90;
}

template <class Rows, int Vector>
void launch_fix_up_vector(const typename Rows::Args& args, const GatherShape& shape, cudaStream_t stream) {
  // Blocks for every multiprocessor of a large GPU several times over, each with enough rows to be worth its start.
  constexpr std::int64_t blocks = 132 * 8;
  const std::int64_t rows = args.split.graph.num_rows;
  const auto rows_a_block =
      static_cast<int>(std::clamp<std::int64_t>((rows / blocks + 31) / 32 * 32, 32, most_fixed_rows));
  const int lanes = shape.lanes <= 4 ? 4 : shape.lanes <= 16 ? 16 : 32;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>((rows + rows_a_block - 1) / rows_a_block));
  config.blockDim = dim3(block_threads);
  config.stream = stream;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  // Without tasks there is nothing of this call to wait for, and what came before must be over.
  config.numAttrs = args.split.tasks > 0 && starts_early() ? 1 : 0;
  check_status(cudaLaunchKernelEx(&config, fix_up_rows<Rows, Vector>, args, rows_a_block,
                                  std::countr_zero(static_cast<unsigned>(lanes))),
               "launching the fix-up of cut rows");
  check_launch("the fix-up of cut rows", args.split.graph.num_rows, args.split.graph.num_edges, args.features);
}

template <class Rows>
void launch_fix_up_of(const typename Rows::Args& args, const GatherShape& shape, CUstream_st* stream) {
  if constexpr (sizeof(typename Rows::Storage) <= 4)  // parts are accumulators: four of them are a load
    if (shape.vector >= 4) return launch_fix_up_vector<Rows, 4>(args, shape, stream);
  if (shape.vector == 2) return launch_fix_up_vector<Rows, 2>(args, shape, stream);
  launch_fix_up_vector<Rows, 1>(args, shape, stream);
}

template <class Storage, Reduction Kind>
void launch_fix_up(const GatherCommon<Storage>& args, const GatherShape& shape, CUstream_st* stream) {
  launch_fix_up_of<ReducedRows<Storage, Kind>>(args, shape, stream);
}

}  // namespace weft::cuda
