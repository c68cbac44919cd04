// What training asks of CUDA beside kernels: a stream of its own, work recorded once and launched many times, and
// memory a GPU writes and the host reads without waiting.
#pragma once

#include <cstddef>
#include <functional>

#include "weft/types.hpp"

struct CUstream_st;
struct CUgraphExec_st;

namespace weft::nn::cuda {

class OwnStream {
 public:
  explicit OwnStream(Device device);
  ~OwnStream();
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
  Recorded(Device device, CUstream_st* stream, const std::function<void()>& work);
  ~Recorded();
  Recorded(const Recorded&) = delete;
  Recorded& operator=(const Recorded&) = delete;
  void launch() const;

 private:
  Device device_;
  CUstream_st* stream_;
  CUgraphExec_st* exec_ = nullptr;
};

/// Zeroed.
class HostShared {
 public:
  HostShared(Device device, std::size_t bytes);
  ~HostShared();
  HostShared(const HostShared&) = delete;
  HostShared& operator=(const HostShared&) = delete;
  void* data() const { return data_; }  // at the same address on both sides

 private:
  Device device_;
  void* data_ = nullptr;
};

}  // namespace weft::nn::cuda
