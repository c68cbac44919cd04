// Tests that need a GPU: they skip, and say why, where there is none.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "weft/context.hpp"

namespace weft::test {

inline constexpr Device gpu{DeviceKind::cuda, 0};

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (cuda_devices(&why).empty()) GTEST_SKIP() << why;
  }
};

}  // namespace weft::test
