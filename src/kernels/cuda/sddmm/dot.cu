#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/sddmm/dot_kernel.cuh"

namespace weft::cuda {

template <class Storage>
void launch_dot(const DotArgs<Storage>& args, const GatherShape& given, CUstream_st* stream) {
  with_shape<16 / sizeof(Storage), (sizeof(Storage) > 4)>(given, [&](auto vector, auto lanes, auto steps) {
    using S = Shape<vector, lanes, steps, (sizeof(Storage) > 4 ? 4 : 8) / steps>;
    const std::int64_t blocks = args.split.joined ? args.split.tasks : (args.split.tasks + S::groups - 1) / S::groups;
    const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(args.heads));
    dot_edges<Storage, S><<<grid, block_threads, 0, stream>>>(args);
    check_launch("sddmm", args.split.graph.num_rows, args.split.graph.num_edges, args.features);
  });
}

template void launch_dot<float>(const DotArgs<float>&, const GatherShape&, CUstream_st*);
template void launch_dot<double>(const DotArgs<double>&, const GatherShape&, CUstream_st*);

}  // namespace weft::cuda
