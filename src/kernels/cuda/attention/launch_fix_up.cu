#include "kernels/cuda/attention/fix_up.cuh"
#include "kernels/cuda/attention/launch.hpp"
#include "kernels/cuda/gather/launch_fix_up.cuh"
#include "plan/built_kernels.hpp"

namespace weft::cuda {

template <class Storage>
void launch_attention_fix_up(const GatherArgs<Gat<Storage>>& args, const GatherShape& shape, CUstream_st* stream) {
  launch_fix_up_of<AttentionRows<Storage>>(args, shape, stream);
}
template <class Storage>
void launch_backward_fix_up(const GatherArgs<GatBackward<Storage>>& args, const GatherShape& shape,
                            CUstream_st* stream) {
  launch_fix_up_of<AttentionBackwardRows<Storage>>(args, shape, stream);
}

#define WEFT_FIX_UP(STORAGE)                                                                                         \
  template void launch_attention_fix_up<STORAGE>(const GatherArgs<Gat<STORAGE>>&, const GatherShape&, CUstream_st*); \
  template void launch_backward_fix_up<STORAGE>(const GatherArgs<GatBackward<STORAGE>>&, const GatherShape&,         \
                                                CUstream_st*);
WEFT_FOR_STORAGES(WEFT_FIX_UP)

}  // namespace weft::cuda
