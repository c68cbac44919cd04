// Tests that need a GPU: they skip, and say why, where there is none.
#pragma once

#include <gtest/gtest.h>

#include <string>

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

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu_tests(); !why.empty()) GTEST_SKIP() << why;
  }
};

}  // namespace weft::test
