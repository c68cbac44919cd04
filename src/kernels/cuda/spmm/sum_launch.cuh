// Launches of sum_edges and finish_rows; each storage type's shapes are instantiated in a file of their own.
#pragma once

#include <algorithm>

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/spmm/kernel.cuh"
#include "plan/gather_shape.hpp"

namespace weft::cuda {

/// Whether the current GPU lets a kernel start before the one in front of it has ended.
inline bool starts_early() {
  int device = 0, major = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  return major >= 9;
}

/// The pass over what the tasks left. It may start while the sums still run, and waits for them where it needs them.
template <class Storage, int Vector, int Lanes>
void launch_finish(const SumArgs<Storage>& args, cudaStream_t stream) {
  const EdgeSplit& split = args.split;
  // Blocks for every multiprocessor of a large GPU several times over, each with enough rows to be worth its start.
  constexpr std::int64_t blocks = 132 * 8;
  const std::int64_t rows = split.graph.num_rows;
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
  config.numAttrs = starts_early() ? 1 : 0;
  cudaLaunchKernelEx(&config, finish_rows<Storage, Vector, Lanes>, split, args.finish, args.features, rows_a_block);
  check_launch("the last pass of spmm", split.graph.num_rows, split.graph.num_edges, args.features);
}

template <class Storage, int Vector, int Lanes, int Steps>
void launch_shape(const SumArgs<Storage>& args, cudaStream_t stream) {
  constexpr int loads = 8 / Steps;
  const EdgeSplit& split = args.split;
  constexpr std::int64_t groups = block_threads / Lanes;
  if (split.tasks > 0) {
    const std::int64_t tile = std::int64_t{Vector} * Lanes * Steps;
    const dim3 grid(static_cast<unsigned>((split.tasks + groups - 1) / groups),
                    static_cast<unsigned>((args.features + tile - 1) / tile));
    const auto launch = [&](auto kernel) { kernel<<<grid, block_threads, 0, stream>>>(args); };
    switch (kind_of(args)) {
      case SumKind::plain: launch(sum_edges<Storage, Vector, Lanes, Steps, loads, SumKind::plain>); break;
      case SumKind::weighted: launch(sum_edges<Storage, Vector, Lanes, Steps, loads, SumKind::weighted>); break;
      case SumKind::general: launch(sum_edges<Storage, Vector, Lanes, Steps, loads, SumKind::general>); break;
    }
    check_launch("spmm", split.graph.num_rows, split.graph.num_edges, args.features);
  }
  launch_finish<Storage, Vector, Lanes>(args, stream);
}

template <class Storage, int Vector>
void launch_lanes(const SumArgs<Storage>& args, const GatherShape& shape, cudaStream_t stream) {
  switch (shape.lanes * shape.steps) {
    case 1: return launch_shape<Storage, Vector, 1, 1>(args, stream);
    case 2: return launch_shape<Storage, Vector, 2, 1>(args, stream);
    case 4: return launch_shape<Storage, Vector, 4, 1>(args, stream);
    case 8: return launch_shape<Storage, Vector, 8, 1>(args, stream);
    case 16: return launch_shape<Storage, Vector, 16, 1>(args, stream);
    case 32: return launch_shape<Storage, Vector, 32, 1>(args, stream);
    case 64: return launch_shape<Storage, Vector, 32, 2>(args, stream);
    default: return launch_shape<Storage, Vector, 32, 4>(args, stream);
  }
}

}  // namespace weft::cuda
