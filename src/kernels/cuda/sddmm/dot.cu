// From a shape of the kernel table to the instantiation of dot_edges that has it.
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/sddmm/dot_kernel.cuh"
#include "kernels/cuda/with_storage.hpp"

namespace weft::cuda {

template <class Storage>
void launch_dot(const DotArgs<Storage>& args, const GatherShape& shape, CUstream_st* stream) {
  constexpr int row = row_index(KernelFamily::dot, KernelMessage::ends, Reduction::sum, dtype_of<Storage>);
  with_shape<row>(shape, [&]<class S>(S) {
    const dim3 grid(static_cast<unsigned>(args.split.blocks(S::groups)), static_cast<unsigned>(args.heads));
    dot_edges<Storage, S><<<grid, block_threads, 0, stream>>>(args);
    check_launch("sddmm", args.split.graph.num_rows, args.split.graph.num_edges, args.features);
  });
}

#define WEFT_LAUNCH(STORAGE) \
  template void launch_dot<STORAGE>(const DotArgs<STORAGE>&, const GatherShape&, CUstream_st*);
WEFT_FOR_STORAGES(WEFT_LAUNCH)

}  // namespace weft::cuda
