// What training asks of CUDA beside kernels: a stream of its own, work recorded once and launched many times, and
// memory a GPU writes and the host reads without waiting.
#pragma once

#include <cstddef>
#include <functional>

#include "core/cuda/launcher.hpp"
#include "weft/types.hpp"

struct CUstream_st;
struct CUgraphExec_st;

namespace weft::nn::cuda {

class OwnStream {
 public:
  WEFT_LAUNCHER(explicit OwnStream(Device device));
  WEFT_LAUNCHER(~OwnStream());
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  CUstream_st* get() const { return stream_; }

 private:
  Device device_;
  CUstream_st* stream_ = nullptr;
};

class Recorded {
 public:
  /// Runs nothing: what `work` puts into the stream is kept.
  WEFT_LAUNCHER(Recorded(Device device, CUstream_st* stream, const std::function<void()>& work));
  WEFT_LAUNCHER(~Recorded());
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  WEFT_LAUNCHER(void launch() const);

 private:
  Device device_;
  CUstream_st* stream_;
  CUgraphExec_st* exec_ = nullptr;
};

/// Zeroed.
class HostShared {
 public:
  WEFT_LAUNCHER(HostShared(Device device, std::size_t bytes));
  WEFT_LAUNCHER(~HostShared());
  HostShared(const HostShared&) = delete;
  HostShared& operator=(const HostShared&) = delete;
  void* data() const { return data_; }  // at the same address on both sides

 private:
  Device device_;
  void* data_ = nullptr;
};

}  // namespace weft::nn::cuda
