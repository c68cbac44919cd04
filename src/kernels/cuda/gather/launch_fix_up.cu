#include "kernels/cuda/gather/launch_fix_up.cuh"

namespace weft::cuda {

#define WEFT_FIX_UP(STORAGE, KIND) \
  template void launch_fix_up<STORAGE, KIND>(const GatherCommon<STORAGE>&, const GatherShape&, CUstream_st*);
WEFT_FIX_UP(float, Reduction::sum)
WEFT_FIX_UP(float, Reduction::extremum)
WEFT_FIX_UP(float, Reduction::winner)
#ifndef WEFT_NO_CUDA_F64
WEFT_FIX_UP(double, Reduction::sum)
WEFT_FIX_UP(double, Reduction::winner)
#endif
WEFT_FIX_UP(__half, Reduction::sum)
WEFT_FIX_UP(__half, Reduction::extremum)
WEFT_FIX_UP(__half, Reduction::winner)
WEFT_FIX_UP(__nv_bfloat16, Reduction::sum)
WEFT_FIX_UP(__nv_bfloat16, Reduction::extremum)
WEFT_FIX_UP(__nv_bfloat16, Reduction::winner)
#undef WEFT_FIX_UP

}  // namespace weft::cuda
