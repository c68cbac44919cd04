// How kernels over windows of 128 rows start: a block has a window and 64 features.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/windows/window_block.cuh"

namespace weft::cuda {

/// Blocks of `threads` with a `Memory` of shared memory each, `panels` a window. `behind_residual`: the kernel in front
/// is the residual's last, and these wait for its rows by themselves, so they may start before it has ended.
template <class Memory, class Args>
void launch_windows(void (*kernel)(Args), const Args& args, int panels, int threads, bool behind_residual,
                    const char* what, CUstream_st* stream) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(args.windows.windows), static_cast<unsigned>(panels));
  config.blockDim = threads;
  config.dynamicSmemBytes =
      allow_shared(reinterpret_cast<const void*>(kernel), static_cast<std::int64_t>(sizeof(Memory)) + alignment_room);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = behind_residual ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, args);
  check_launch(what, args.windows.windows * 128, 0, args.whole.features);
}

}  // namespace weft::cuda
