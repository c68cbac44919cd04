// Memory on a device, ordered with a stream. One implementation speaks to CUDA, one stands in for builds without it.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "weft/context.hpp"

namespace weft {

/// An Error that says who wanted the GPU and why it is not there; nothing where it is.
void require_cuda(int index, std::string_view what);

/// What is known of a GPU; asked once a process. An Error where it is not there.
const CudaDevice& cuda_device(int index);

/// `bytes` on the device, uninitialised, usable by work that follows in the stream. An Error says what it was for.
void* allocate_on(Device device, CUstream_st* stream, std::size_t bytes, std::string_view what);
/// Freed when the work that stands before it in the stream is done.
void deallocate_on(Device device, CUstream_st* stream, void* memory) noexcept;

/// Copies between host and device, or on one device, in the stream's order. Where the host takes part, the bytes are
/// there (or may be reused) on return.
void copy_bytes(Device to_device, void* to, Device from_device, const void* from, std::size_t bytes,
                CUstream_st* stream);
void zero_bytes(Device device, void* memory, std::size_t bytes, CUstream_st* stream);
/// Waits for the stream; an Error where anything in it failed.
void synchronise(Device device, CUstream_st* stream);

/// An owned block on any device.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(Device device, CUstream_st* stream, std::size_t bytes, std::string_view what)
      : device_(device), stream_(stream), data_(allocate_on(device, stream, bytes, what)) {}
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~DeviceBuffer() { deallocate_on(device_, stream_, data_); }

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  Device device_;
  CUstream_st* stream_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace weft
