// Work captured into a CUDA graph once and replayed.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace weft::test {

/// A stream of the test's own: the default one cannot be captured.
class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreate(&handle_), cudaSuccess); }
  ~Stream() { cudaStreamDestroy(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

/// What `work` puts into the stream, run `times` times as a graph after `before`.
template <class Work, class Before>
void replay(cudaStream_t stream, int times, const Work& work, const Before& before) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  work();
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&ready, graph, 0), cudaSuccess);
  before();
  for (int i = 0; i < times; ++i) ASSERT_EQ(cudaGraphLaunch(ready, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  cudaGraphExecDestroy(ready);
  cudaGraphDestroy(graph);
}

}  // namespace weft::test
