#include "weft/context.hpp"

namespace weft {

bool built_with_cuda() { return false; }

std::vector<CudaDevice> cuda_devices(std::string* why) {
  if (why != nullptr) *why = "this build of weft has no CUDA (configured with WEFT_CUDA=OFF, or no toolkit was found)";
  return {};
}

}  // namespace weft
