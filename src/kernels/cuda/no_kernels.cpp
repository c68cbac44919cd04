// Builds without CUDA have no context that could ask for these.
#include "core/check.hpp"
#include "kernels/signatures.hpp"

namespace weft::cuda {
namespace {

[[noreturn]] void refuse(const Plan& plan) {
  fail(ErrorCode::unsupported, "device {} is not available: this build of weft has no CUDA", to_string(plan.device));
}

}  // namespace

void spmm(const SpmmArgs&, const Plan& plan, Arena, CUstream_st*) { refuse(plan); }
void sddmm(const SddmmArgs&, const Plan& plan, CUstream_st*) { refuse(plan); }

}  // namespace weft::cuda
