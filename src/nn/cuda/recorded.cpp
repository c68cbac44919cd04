#include "nn/cuda/recorded.hpp"

#include <cuda_runtime_api.h>

#include <cstring>

#include "core/cuda/status.hpp"

namespace weft::nn::cuda {

using weft::cuda::check_status;
using weft::cuda::OnDevice;

OwnStream::OwnStream(Device device) : device_(device) {
  const OnDevice on(device.index);
  check_status(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
}
OwnStream::~OwnStream() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Recorded::Recorded(Device device, CUstream_st* stream, const std::function<void()>& work)
    : device_(device), stream_(stream) {
  const OnDevice on(device.index);
  check_status(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording an epoch");
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();  // what the capture failed with is told by the exception
    throw;
  }
  check_status(cudaStreamEndCapture(stream, &graph), "recording an epoch");
  const cudaError_t status = cudaGraphInstantiate(&exec_, graph, 0);
  cudaGraphDestroy(graph);
  check_status(status, "preparing a recorded epoch");
}
Recorded::~Recorded() {
  if (exec_ != nullptr) cudaGraphExecDestroy(exec_);
}
void Recorded::launch() const {
  const OnDevice on(device_.index);
  check_status(cudaGraphLaunch(exec_, stream_), "running a recorded epoch");
}

HostShared::HostShared(Device device, std::size_t bytes) : device_(device) {
  const OnDevice on(device.index);
  check_status(cudaHostAlloc(&data_, bytes, cudaHostAllocPortable | cudaHostAllocMapped), "memory for figures");
  std::memset(data_, 0, bytes);
}
HostShared::~HostShared() {
  if (data_ != nullptr) cudaFreeHost(data_);
}

}  // namespace weft::nn::cuda
