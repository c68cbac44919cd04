#include "kernels/cuda/gather/launch_fix_up.cuh"
#include "plan/built_kernels.hpp"

namespace weft::cuda {

#define WEFT_FIX_UP_OF(STORAGE, KIND) \
  template void launch_fix_up<STORAGE, KIND>(const GatherCommon<STORAGE>&, const GatherShape&, CUstream_st*);
#define WEFT_FIX_UP(STORAGE)                   \
  WEFT_FIX_UP_OF(STORAGE, Reduction::sum)      \
  WEFT_FIX_UP_OF(STORAGE, Reduction::extremum) \
  WEFT_FIX_UP_OF(STORAGE, Reduction::winner)
WEFT_FOR_STORAGES(WEFT_FIX_UP)

}  // namespace weft::cuda
