// Tests that need a GPU: they skip, and say why, where there is none.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/device.hpp"
#include "weft/context.hpp"

namespace weft::test {

inline constexpr Device gpu{DeviceKind::cuda, 0};

/// Why no GPU test can run; empty: nothing stands against it.
inline std::string why_no_gpu_tests() {
  std::string why;
  if (cuda_devices(&why).empty()) return why;
#ifdef WEFT_NOT_ALL_KERNELS
  why = "this build has not all kernels: GPU tests need WEFT_ABLATIONS=ON and WEFT_CUDA_F64=ON";
#endif
  return why;
}

/// An array on the GPU.
template <class T>
std::vector<T> from_gpu(const T* data, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  copy_bytes(Device{}, values.data(), gpu, data, values.size() * sizeof(T), nullptr);
  return values;
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu_tests(); !why.empty()) GTEST_SKIP() << why;
  }
};

}  // namespace weft::test
