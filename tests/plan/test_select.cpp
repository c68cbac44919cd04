#include "plan/cuda/select.hpp"

#include "support/errors.hpp"

namespace weft::test {
namespace {

Plan plan_of(Dtype dtype, std::int64_t heads, std::int64_t width) {
  Plan plan;
  plan.device = {DeviceKind::cuda, 0};
  plan.desc = {OpKind::spmm, dtype, heads, width};
  plan.how.emplace<CudaPlan>().vector = 16 / static_cast<int>(size_of(dtype));
  return plan;
}

int widest(Dtype dtype, std::int64_t unit) {
  int pack = 16 / static_cast<int>(size_of(dtype));
  while (unit % pack != 0) pack /= 2;
  return pack;
}

std::vector<Dtype> built_types() {
  std::vector<Dtype> types{Dtype::f32, Dtype::f16, Dtype::bf16};
  if (has_cuda_f64) types.push_back(Dtype::f64);
  return types;
}

TEST(select_spmm, finds_a_kernel_that_exists_for_every_call) {
  for (const Dtype dtype : built_types())
    for (const std::int64_t features : {1, 2, 3, 4, 5, 6, 8, 16, 31, 33, 47, 64, 100, 128, 256, 602, 4096})
      for (unsigned bits = 0; bits < 1u << 8; ++bits)
        for (int pack = widest(dtype, features); pack >= 1; pack /= 2) {
          SpmmTraits t;
          t.features = features;
          t.one_value_an_edge = bits & 1;
          t.weighted = bits & 2;
          t.values_in_order = bits & 4;
          t.scaled_sources = bits & 8;
          t.mean = bits & 16;
          t.epilogue = bits & 32;
          t.extremum = bits & 64;
          t.winners = (bits & 128) && t.extremum;
          const Kernel kernel = select_spmm(plan_of(dtype, 1, features), t, pack).kernel;
          ASSERT_TRUE(has_kernel(kernel)) << to_string(kernel) << ", features " << features << ", traits " << bits;
        }
}

TEST(select_spmm, sends_the_most_special_message) {
  SpmmTraits t;
  t.features = 64;
  const auto message = [&] { return select_spmm(plan_of(Dtype::f32, 1, 64), t, 4).kernel.message; };
  EXPECT_EQ(message(), KernelMessage::source);
  t.mean = true;
  EXPECT_EQ(message(), KernelMessage::averaged);
  t.weighted = true;
  EXPECT_EQ(message(), KernelMessage::scaled);
  t.mean = false;
  EXPECT_EQ(message(), KernelMessage::weighted);
  t.values_in_order = false;
  EXPECT_EQ(message(), KernelMessage::scaled);
  t.one_value_an_edge = false;
  EXPECT_EQ(message(), KernelMessage::edgewise);
}

TEST(select_spmm, puts_lanes_along_the_edges_where_rows_are_narrow) {
  SpmmTraits t;
  for (const std::int64_t features : {1, 2, 3, 4}) {
    t.features = features;
    const Kernel kernel = select_spmm(plan_of(Dtype::f32, 1, features), t, widest(Dtype::f32, features)).kernel;
    EXPECT_EQ(kernel.family, KernelFamily::narrow);
    EXPECT_EQ(kernel.shape.vector * kernel.shape.steps, features);
    EXPECT_EQ(select_spmm(plan_of(Dtype::f32, 1, features), t, 1).kernel.shape.vector, 1) << "no alignment";
  }
  t.features = 5;
  EXPECT_EQ(select_spmm(plan_of(Dtype::f32, 1, 5), t, 1).kernel.family, KernelFamily::gather);
}

TEST(select_spmm, takes_tiles_that_the_planner_chose_only_where_it_can) {
  Plan plan = plan_of(Dtype::f32, 1, 16);
  plan.cuda().stage_edges = 128;
  plan.assignment = Assignment::round_robin;
  SpmmTraits t;
  t.features = 16;
  EXPECT_EQ(select_spmm(plan, t, 4).kernel.family, KernelFamily::staged);
  t.epilogue = true;
  EXPECT_EQ(select_spmm(plan, t, 4).kernel.family, KernelFamily::gather);
  plan.cuda().stage_asked = true;
  expect_refused([&] { select_spmm(plan, t, 4); }, "stage=128", ErrorCode::unsupported);
}

TEST(select_spmm, refuses_policies_whose_kernels_are_not_built_or_do_not_fit) {
  SpmmTraits t;
  t.features = 64;
  Plan pairs = plan_of(Dtype::f16, 1, 64);
  pairs.cuda().accumulate = Accumulate::half2;
  Plan shaped = plan_of(Dtype::f32, 1, 64);
  shaped.cuda().shaped = true;
  shaped.cuda().lanes = 8, shaped.cuda().steps = 2, shaped.cuda().loads = 4;
  if (!has_ablations) {
    expect_refused([&] { select_spmm(pairs, t, 8); }, "WEFT_ABLATIONS", ErrorCode::unsupported);
    expect_refused([&] { select_spmm(shaped, t, 4); }, "WEFT_ABLATIONS", ErrorCode::unsupported);
    return;
  }
  EXPECT_TRUE(has_kernel(select_spmm(pairs, t, 8).kernel));
  expect_refused([&] { select_spmm(pairs, t, 4); }, "half2", ErrorCode::unsupported);
  expect_refused([&] { select_spmm(shaped, t, 4); }, "lanes=8,loads=4", ErrorCode::unsupported);
  t.weighted = true;
  EXPECT_TRUE(has_kernel(select_spmm(shaped, t, 4).kernel));
}

TEST(select_attention, finds_a_kernel_that_exists_for_every_layout_of_heads) {
  for (const Dtype dtype : built_types())
    for (const std::int64_t heads : {1, 2, 3, 4, 5, 8, 16})
      for (const std::int64_t width : {1, 2, 3, 4, 6, 8, 16, 31, 32, 41, 64, 100, 128, 256, 602})
        for (int pack = 16 / static_cast<int>(size_of(dtype)); pack >= 1; pack /= 2) {
          for (const KernelMessage message : {KernelMessage::gat, KernelMessage::gat_backward}) {
            const Kernel kernel = select_gat(message, dtype, heads, width, pack).kernel;
            ASSERT_TRUE(has_kernel(kernel)) << to_string(kernel) << ": " << heads << " x " << width << " by " << pack;
          }
          for (const bool with_edges : {false, true}) {
            for (const std::int64_t score_width : {width, width + 1}) {
              const Kernel kernel = select_vector_scored(dtype, heads, width, score_width, pack, with_edges).kernel;
              ASSERT_TRUE(has_kernel(kernel)) << to_string(kernel) << ": " << heads << " x " << width << " by " << pack;
            }
            const int divides = std::min(pack, widest(dtype, width));
            EXPECT_TRUE(has_kernel(select_leaky_sum(dtype, heads * width, divides, with_edges)));
          }
        }
}

TEST(select_attention, shares_a_heads_lanes_where_a_power_of_two_of_them_covers_it) {
  if (!every_cuda_shape) GTEST_SKIP() << "built with WEFT_CUDA_SHAPES=few";
  const auto mapping = [](std::int64_t heads, std::int64_t width) {
    return select_gat(KernelMessage::gat, Dtype::f32, heads, width, 4).kernel.heads;
  };
  EXPECT_EQ(mapping(1, 64), (HeadMapping{HeadMap::one, 1}));
  EXPECT_EQ(mapping(4, 16), (HeadMapping{HeadMap::shared, 1}));
  EXPECT_EQ(mapping(4, 64), (HeadMapping{HeadMap::shared, 1})) << "both steps of a lane lie in one head";
  EXPECT_EQ(mapping(3, 12).map, HeadMap::any);
}

TEST(select_dot, takes_half_the_lanes_where_rows_are_long) {
  if (!every_cuda_shape) GTEST_SKIP() << "built with WEFT_CUDA_SHAPES=few";
  EXPECT_EQ(select_dot(Dtype::f32, 64, 4, false).shape, (GatherShape{4, 16, 1, 8}));
  EXPECT_EQ(select_dot(Dtype::f32, 64, 4, true).shape, (GatherShape{4, 8, 2, 4}));
  EXPECT_EQ(select_dot(Dtype::f32, 32, 4, true).shape, (GatherShape{4, 8, 1, 8}));
  EXPECT_EQ(select_dot(Dtype::f16, 64, 8, true).shape, (GatherShape{8, 8, 1, 8}));
}

}  // namespace
}  // namespace weft::test
