// Builds without CUDA have no context that could ask for these.
#include "core/check.hpp"
#include "kernels/signatures.hpp"

namespace weft::cuda {

void spmm(const SpmmArgs&, const Plan& plan, Arena, CUstream_st*) {
  fail(ErrorCode::unsupported, "device {} is not available: this build of weft has no CUDA", to_string(plan.device));
}

}  // namespace weft::cuda
