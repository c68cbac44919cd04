// Builds without CUDA have no context that could ask for these: what does so all the same hears why there is none.
#include "core/device.hpp"
#include "nn/cuda/blas.hpp"
#include "nn/cuda/passes.hpp"
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

void run(const ActivateArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const ActivateBackwardArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const ScaleRowsArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const AddSelfArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const SelfGradArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const HeadDotsArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const HeadDotsBackwardArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const MeanHeadsArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const MeanHeadsBackwardArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const LossArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const FindOverflowArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const OptimiseArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const EndStepArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const EndEvaluationArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const KeepBestArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const BatchNormArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const BatchNormBackwardArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const LayerNormArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const LayerNormBackwardArgs& args, Device device, CUstream_st*) { refuse(args, device); }

}  // namespace weft::nn::cuda
