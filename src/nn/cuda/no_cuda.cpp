// Builds without CUDA have no context that could ask for these: what does so all the same hears why there is none.
#include "core/device.hpp"
#include "nn/cuda/blas.hpp"
#include "nn/cuda/passes.hpp"
#include "nn/cuda/product.hpp"
#include "nn/cuda/recorded.hpp"
#include "nn/cuda/sampling.hpp"

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

bool supported(const ProductArgs&, Device) { return false; }
void run(const ProductArgs& args, Device device, CUstream_st*) { refuse(args, device); }
bool supported(const OuterArgs&, Device) { return false; }
std::size_t workspace_bytes(const OuterArgs&) { return 0; }
void run(const OuterArgs& args, Device device, CUstream_st*) { refuse(args, device); }

void run(const MarkArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const NumberArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const TakeRowsArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const DrawRowsArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const RelabelArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const CountArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const SumWeightsArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const WeighArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const LossWeightsArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const ShuffleArgs& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const GatherArgs<NodeId>& args, Device device, CUstream_st*) { refuse(args, device); }
void run(const GatherArgs<EdgeId>& args, Device device, CUstream_st*) { refuse(args, device); }
std::int64_t list_marked(const NodeId* local, std::int64_t, NodeId*, Device device, CUstream_st*) {
  refuse(local, device);
  return 0;
}
EdgeId lengths_to_offsets(EdgeId* offsets, std::int64_t, Device device, CUstream_st*) {
  refuse(offsets, device);
  return 0;
}

}  // namespace weft::nn::cuda
