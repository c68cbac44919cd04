#include "nn/cuda/sampling.hpp"

#include <thrust/iterator/counting_iterator.h>
#include <cub/device/device_select.cuh>

#include "core/cuda/sorting.hpp"
#include "core/device.hpp"
#include "core/loops/cuda/gpu.cuh"
#include "nn/sample/bodies.hpp"

namespace weft::loops {
using Backend = Gpu;
}
#include "nn/sample/pass_list-inl.hpp"

namespace weft::nn::cuda {
namespace {

using weft::cuda::check_status;
using weft::cuda::OnDevice;

struct IsMarked {
  const NodeId* local;
  __device__ bool operator()(NodeId node) const { return local[node] == marked; }
};

/// `call(memory, bytes)` twice: for its bytes, and with them.
template <class Call>
void with_memory(Device device, CUstream_st* stream, const char* what, const Call& call) {
  std::size_t bytes = 0;
  check_status(call(nullptr, bytes), what);
  const DeviceBuffer memory(device, stream, bytes, what);
  check_status(call(memory.data(), bytes), what);
}

}  // namespace

std::int64_t list_marked(const NodeId* local, std::int64_t count, NodeId* nodes, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  const DeviceBuffer found(device, stream, sizeof(std::int64_t), "the number of nodes drawn");
  const auto number = reinterpret_cast<std::int64_t*>(found.data());
  with_memory(device, stream, "listing the nodes drawn", [&](void* memory, std::size_t& bytes) {
    return cub::DeviceSelect::If(memory, bytes, thrust::counting_iterator<NodeId>(0), nodes, number, count,
                                 IsMarked{local}, stream);
  });
  std::int64_t listed = 0;
  copy_bytes(Device{}, &listed, device, number, sizeof(listed), stream);
  return listed;
}

EdgeId lengths_to_offsets(EdgeId* offsets, std::int64_t count, Device device, CUstream_st* stream) {
  const OnDevice on(device.index);
  zero_bytes(device, offsets, sizeof(EdgeId), stream);
  if (count > 0)
    weft::cuda::add_up(device, stream, "adding up the lengths of rows", weft::cuda::Sums::inclusive, offsets + 1,
                       offsets + 1, count);
  EdgeId total = 0;
  copy_bytes(Device{}, &total, device, offsets + count, sizeof(total), stream);
  return total;
}

}  // namespace weft::nn::cuda
