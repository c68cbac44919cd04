#include <gtest/gtest.h>

#include "plan/tuning/cuda.hpp"

namespace weft::test {
namespace {

CudaDevice h200() {
  CudaDevice device;
  device.compute_capability = 90;
  device.multiprocessors = 132;
  device.l2_bytes = 62914560;
  device.memory_gb_s = 4917;
  return device;
}

TEST(cuda_tuning, of_the_gpu_it_was_measured_on_is_the_table_itself) {
  const tuning::CudaRates rates = tuning::cuda_rates(h200());
  EXPECT_EQ(rates.blocks, 396);
  EXPECT_EQ(rates.l2_bytes, 40e6);
  EXPECT_EQ(rates.l2_gb_s, 7000);
  EXPECT_EQ(rates.memory_gather_gb_s, 5600);
  EXPECT_EQ(rates.stream_gb_s, 4000);
}

TEST(cuda_tuning, of_another_gpu_follows_its_multiprocessors_caches_and_memory) {
  CudaDevice other = h200();
  other.compute_capability = 80;
  other.multiprocessors = 66;
  other.l2_bytes /= 4;
  other.memory_gb_s /= 3;
  const tuning::CudaRates rates = tuning::cuda_rates(other);
  EXPECT_EQ(rates.blocks, 198);
  EXPECT_DOUBLE_EQ(rates.l2_bytes, 10e6);
  EXPECT_DOUBLE_EQ(rates.l2_gb_s, 3500);
  EXPECT_NEAR(rates.stream_gb_s, 4000.0 / 3, 1e-9);
  EXPECT_EQ(rates.launch_us, tuning::cuda_rates(h200()).launch_us);
}

TEST(cuda_tuning, does_not_depend_on_what_a_driver_does_not_tell) {
  CudaDevice unknown;
  unknown.compute_capability = 120;
  EXPECT_EQ(tuning::cuda_rates(unknown).blocks, 396);
  EXPECT_EQ(tuning::cuda_rates(unknown).stream_gb_s, 4000);
}

TEST(cuda_tuning, chooses_tiles_and_row_groups_only_where_they_were_faster) {
  EXPECT_TRUE(tuning::stages_edges(64, 486, 113'000'000));
  EXPECT_FALSE(tuning::stages_edges(128, 486, 113'000'000));
  EXPECT_FALSE(tuning::stages_edges(64, 14.7, 113'000'000));
  EXPECT_FALSE(tuning::stages_edges(64, 486, 1'000'000));
  EXPECT_TRUE(tuning::rows_alike(2.05, 8, 256));
  EXPECT_FALSE(tuning::rows_alike(2.05, 8, 64));
  EXPECT_FALSE(tuning::rows_alike(4, 163, 256));
  EXPECT_FALSE(tuning::rows_alike(2.05, -1, 256));
}

}  // namespace
}  // namespace weft::test
