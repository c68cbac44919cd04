#include <algorithm>
#include <iterator>

#include "core/cuda/status.hpp"
#include "core/device.hpp"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/spmm/finish_rows.cuh"
#include "kernels/cuda/spmm/spmm_launch.hpp"

namespace weft::cuda {
namespace {

/// Whether the current GPU lets a kernel start before the one in front of it has ended, and this code waits then: on
/// such a GPU the newest architecture that was compiled for runs.
bool starts_early() {
  constexpr int compiled[] = {__CUDA_ARCH_LIST__};
  if (*std::max_element(std::begin(compiled), std::end(compiled)) < 900) return false;
  int device = 0;
  check_status(cudaGetDevice(&device), "asking for the current GPU");
  return cuda_device(device).compute_capability >= 90;
}

template <class Storage, Reduction Kind, FinishKind Finish, int Vector, int Lanes>
void launch_lanes(const SpmmKernelArgs<Storage>& args, cudaStream_t stream) {
  // Blocks for every multiprocessor of a large GPU several times over, each with enough rows to be worth its start.
  constexpr std::int64_t blocks = 132 * 8;
  const std::int64_t rows = args.split.graph.num_rows;
  const auto rows_a_block =
      static_cast<int>(std::clamp<std::int64_t>((rows / blocks + 31) / 32 * 32, 32, most_finished_rows));
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
  check_status(cudaLaunchKernelEx(&config, finish_rows<Storage, Vector, Lanes, Kind, Finish>, args, rows_a_block),
               "launching the last pass of spmm");
  check_launch("the last pass of spmm", args.split.graph.num_rows, args.split.graph.num_edges, args.features);
}

template <class Storage, Reduction Kind, FinishKind Finish, int Vector>
void launch_vector(const SpmmKernelArgs<Storage>& args, const GatherShape& shape, cudaStream_t stream) {
  if (shape.lanes <= 4) return launch_lanes<Storage, Kind, Finish, Vector, 4>(args, stream);
  if (shape.lanes <= 16) return launch_lanes<Storage, Kind, Finish, Vector, 16>(args, stream);
  launch_lanes<Storage, Kind, Finish, Vector, 32>(args, stream);
}

}  // namespace

template <class Storage, Reduction Kind, FinishKind Finish>
void launch_finish(const SpmmKernelArgs<Storage>& args, const GatherShape& shape, CUstream_st* stream) {
  if constexpr (sizeof(Storage) <= 4)  // parts are accumulators: four of them are a load
    if (shape.vector >= 4) return launch_vector<Storage, Kind, Finish, 4>(args, shape, stream);
  if (shape.vector == 2) return launch_vector<Storage, Kind, Finish, 2>(args, shape, stream);
  launch_vector<Storage, Kind, Finish, 1>(args, shape, stream);
}

#define WEFT_FINISH(STORAGE, ...) \
  template void launch_finish<STORAGE, __VA_ARGS__>(const SpmmKernelArgs<STORAGE>&, const GatherShape&, CUstream_st*);
WEFT_FINISH(float, Reduction::sum)
WEFT_FINISH(float, Reduction::extremum)
WEFT_FINISH(float, Reduction::winner)
WEFT_FINISH(float, Reduction::sum, FinishKind::attended)
WEFT_FINISH(float, Reduction::sum, FinishKind::returned)
WEFT_FINISH(double, Reduction::sum)
WEFT_FINISH(double, Reduction::winner)
WEFT_FINISH(double, Reduction::sum, FinishKind::attended)
WEFT_FINISH(double, Reduction::sum, FinishKind::returned)
WEFT_FINISH(__half, Reduction::sum)
WEFT_FINISH(__half, Reduction::extremum)
WEFT_FINISH(__half, Reduction::winner)
WEFT_FINISH(__half, Reduction::sum, FinishKind::attended)
WEFT_FINISH(__half, Reduction::sum, FinishKind::returned)
WEFT_FINISH(__nv_bfloat16, Reduction::sum)
WEFT_FINISH(__nv_bfloat16, Reduction::extremum)
WEFT_FINISH(__nv_bfloat16, Reduction::winner)
WEFT_FINISH(__nv_bfloat16, Reduction::sum, FinishKind::attended)
WEFT_FINISH(__nv_bfloat16, Reduction::sum, FinishKind::returned)
#undef WEFT_FINISH

}  // namespace weft::cuda
