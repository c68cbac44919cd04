#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/sddmm/dot_kernel.cuh"

namespace weft::cuda {

namespace {

/// Where rows are long, half the lanes of a gather, with two packs each: fewer shuffles an edge, to hand it round and
/// to add its products up. (On an H200 the kernel then is bound by instructions where SpMM is bound by L2: 5% at 64
/// features. Short rows lose as much.)
template <int MostVector, class F>
void with_dot_shape(const GatherShape& shape, bool long_rows, const F& f) {
  with_shape<MostVector, (MostVector < 4)>(shape, [&](auto vector, auto lanes, auto steps) {
    constexpr int all = decltype(lanes)::value;
    if constexpr (MostVector == 4 && decltype(vector)::value == 4 && decltype(steps)::value == 1 && all >= 16)
      if (long_rows) return f(vector, std::integral_constant<int, all / 2>{}, std::integral_constant<int, 2>{});
    f(vector, lanes, steps);
  });
}

}  // namespace

template <class Storage>
void launch_dot(const DotArgs<Storage>& args, const GatherShape& given, CUstream_st* stream) {
  with_dot_shape<16 / static_cast<int>(sizeof(Storage))>(
      given, args.long_rows, [&](auto vector, auto lanes, auto steps) {
        constexpr int loads = sizeof(Storage) > 4 ? 4 / steps : rows_in_flight(vector, lanes, steps);
        using S = Shape<vector, lanes, steps, loads>;
        const dim3 grid(static_cast<unsigned>(args.split.blocks(S::groups)), static_cast<unsigned>(args.heads));
        dot_edges<Storage, S><<<grid, block_threads, 0, stream>>>(args);
        check_launch("sddmm", args.split.graph.num_rows, args.split.graph.num_edges, args.features);
      });
}

template void launch_dot<float>(const DotArgs<float>&, const GatherShape&, CUstream_st*);
template void launch_dot<__half>(const DotArgs<__half>&, const GatherShape&, CUstream_st*);
template void launch_dot<__nv_bfloat16>(const DotArgs<__nv_bfloat16>&, const GatherShape&, CUstream_st*);
#ifndef WEFT_NO_CUDA_F64
template void launch_dot<double>(const DotArgs<double>&, const GatherShape&, CUstream_st*);
#endif

}  // namespace weft::cuda
