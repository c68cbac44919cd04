// Builds without CUDA have no context that could ask for these: what does so all the same hears why there is none.
#include "core/device.hpp"
#include "nn/cuda/blas.hpp"
#include "nn/cuda/product.hpp"
#include "nn/cuda/recorded.hpp"

namespace weft::nn::cuda {
namespace {

template <class Args>
void refuse(const Args&, Device device) {
  require_cuda(device.index, "a dense pass");
}

}  // namespace

Blas::Blas(Device device, CUstream_st*, bool tf32) : device_(device), tf32_(tf32) {
  require_cuda(device.index, "cuBLAS");
}
Blas::~Blas() = default;
void Blas::multiply(std::int64_t, std::int64_t, std::int64_t, ConstTensorView, bool, ConstTensorView, bool, TensorView,
                    bool) {}

OwnStream::OwnStream(Device device) : device_(device) { require_cuda(device.index, "training"); }
OwnStream::~OwnStream() = default;
Recorded::Recorded(Device device, CUstream_st* stream, const std::function<void()>&)
    : device_(device), stream_(stream) {
  require_cuda(device.index, "training");
}
Recorded::~Recorded() = default;
void Recorded::launch() const {}
HostShared::HostShared(Device device, std::size_t) : device_(device) { require_cuda(device.index, "training"); }
HostShared::~HostShared() = default;

bool supported(const ProductArgs&, Device) { return false; }
void run(const ProductArgs& args, Device device, CUstream_st*) { refuse(args, device); }
bool supported(const OuterArgs&, Device) { return false; }
std::size_t workspace_bytes(const OuterArgs&) { return 0; }
void run(const OuterArgs& args, Device device, CUstream_st*) { refuse(args, device); }

}  // namespace weft::nn::cuda
