#include <cuda_runtime.h>

#include "bench/cuda/measure.hpp"
#include "core/cuda/status.hpp"

namespace weft::tool {
namespace {

using weft::cuda::check_status;

// About 50 us on an H200: longer than a host takes to check and launch one operator.
constexpr long long waited_cycles = 100'000;

__global__ void wait_cycles(long long cycles) {
  const long long begun = clock64();
  while (clock64() - begun < cycles) {
  }
}

class EventTimer final : public Timer {
 public:
  EventTimer(const Context& context, bool behind_work)
      : index_(context.device().index), stream_(context.stream()), behind_work_(behind_work) {
    const weft::cuda::OnDevice on(index_);
    check_status(cudaEventCreate(&begun_), "making an event");
    const cudaError_t status = cudaEventCreate(&ended_);
    if (status != cudaSuccess) cudaEventDestroy(begun_);
    check_status(status, "making an event");
  }
  EventTimer(const EventTimer&) = delete;
  EventTimer& operator=(const EventTimer&) = delete;
  ~EventTimer() override {
    cudaEventDestroy(begun_);
    cudaEventDestroy(ended_);
  }

  double microseconds(const std::function<void()>& run) override {
    const weft::cuda::OnDevice on(index_);
    if (behind_work_) {
      wait_cycles<<<1, 1, 0, stream_>>>(waited_cycles);
      check_status(cudaGetLastError(), "keeping the GPU busy before a timed run");
    }
    check_status(cudaEventRecord(begun_, stream_), "recording the start of a timed run");
    run();
    check_status(cudaEventRecord(ended_, stream_), "recording the end of a timed run");
    check_status(cudaEventSynchronize(ended_), "waiting for a timed run");
    float milliseconds = 0;
    check_status(cudaEventElapsedTime(&milliseconds, begun_, ended_), "reading the time of a run");
    return static_cast<double>(milliseconds) * 1e3;
  }

 private:
  int index_;
  cudaStream_t stream_;
  bool behind_work_;
  cudaEvent_t begun_ = nullptr, ended_ = nullptr;
};

}  // namespace

std::unique_ptr<Timer> make_event_timer(const Context& context, bool behind_work) {
  return std::make_unique<EventTimer>(context, behind_work);
}

}  // namespace weft::tool
