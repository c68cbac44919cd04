#include <gtest/gtest.h>

#include "plan/h200.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft::test {
namespace {

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
  EXPECT_TRUE(tuning::stages_edges(16, 486, 113'000'000));
  EXPECT_FALSE(tuning::stages_edges(32, 486, 113'000'000));
  EXPECT_FALSE(tuning::stages_edges(16, 14.7, 113'000'000));
  EXPECT_FALSE(tuning::stages_edges(16, 486, 1'000'000));
  EXPECT_TRUE(tuning::rows_alike(2.05, 8, 256));
  EXPECT_FALSE(tuning::rows_alike(2.05, 8, 64));
  EXPECT_FALSE(tuning::rows_alike(4, 163, 256));
  EXPECT_FALSE(tuning::rows_alike(2.05, -1, 256));
}

TEST(cuda_tuning, halves_come_by_eights_where_enough_lanes_then_cover_a_row) {
  const auto on_large_graph = [](std::int64_t features, double degree) {
    return tuning::halves_a_load(features, degree, 113'000'000, 396);
  };
  EXPECT_EQ(on_large_graph(8, 486), 2);
  EXPECT_EQ(on_large_graph(16, 486), 4);
  for (const std::int64_t features : {32, 64, 256, 1024}) EXPECT_EQ(on_large_graph(features, 486), 8) << features;
  for (const std::int64_t features : {8, 16, 64}) EXPECT_EQ(on_large_graph(features, 2), 8) << features;
}

TEST(cuda_tuning, halves_come_in_smaller_packs_where_a_graph_leaves_the_gpu_empty) {
  const auto on_small_graph = [](std::int64_t features) { return tuning::halves_a_load(features, 3.9, 10'556, 396); };
  EXPECT_EQ(on_small_graph(8), 2);
  EXPECT_EQ(on_small_graph(16), 2);
  EXPECT_EQ(on_small_graph(32), 4);
  EXPECT_EQ(on_small_graph(64), 4);
  EXPECT_EQ(on_small_graph(128), 8);
  EXPECT_EQ(on_small_graph(256), 8);
}

TEST(cuda_tuning, tasks_by_column_are_longer_for_sums_of_halves_and_for_gradients) {
  EXPECT_EQ(tuning::edges_by_columns(256, 493, false), 128);
  EXPECT_EQ(tuning::edges_by_columns(256, 493, true), 512);
  EXPECT_EQ(tuning::edges_by_columns(512, 493, true), 256);
  EXPECT_EQ(tuning::edges_by_columns(256, 51, true), 64) << "no longer than two rows";
}

}  // namespace
}  // namespace weft::test
