#include "plan/kernel_table.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace weft::test {
namespace {

const KernelRow& row(KernelFamily family, KernelMessage message, Reduction reduction, Dtype storage, int stage = 0) {
  const int index = row_index(family, message, reduction, storage, stage);
  EXPECT_GE(index, 0);
  return kernel_rows[std::max(index, 0)];
}

TEST(kernel_table, names_every_kernel_once) {
  const std::vector<Kernel> kernels = built_kernels();
  std::set<std::string> names;
  for (const Kernel& kernel : kernels) EXPECT_TRUE(names.insert(to_string(kernel)).second) << to_string(kernel);
  EXPECT_GT(kernels.size(), 100u);
}

TEST(kernel_table, has_what_it_lists_and_nothing_else) {
  for (const Kernel& kernel : built_kernels()) {
    EXPECT_TRUE(has_kernel(kernel)) << to_string(kernel);
    Kernel other = kernel;
    other.shape.lanes = 3;
    EXPECT_FALSE(has_kernel(other)) << to_string(other);
    other = kernel;
    other.stage_edges = 7;
    EXPECT_FALSE(has_kernel(other)) << to_string(other);
  }
  EXPECT_FALSE(
      has_kernel({KernelFamily::gather, KernelMessage::source, Reduction::winner, Dtype::f32, {4, 8, 1, 8}, 0, {}}));
}

TEST(kernel_table, covers_rows_of_every_width) {
  for (const KernelRow& r : kernel_rows) {
    if (r.shapes == ShapeSet::features || r.shapes == ShapeSet::others) continue;
    const auto bytes = static_cast<int>(size_of(r.storage));
    for (const std::int64_t features : {1, 2, 3, 4, 7, 8, 16, 31, 32, 33, 47, 64, 100, 128, 256, 512, 602, 1024, 5000})
      for (int pack = r.widest; pack >= 1; pack /= 2) {
        const GatherShape wanted = gather_shape(features, bytes, pack);
        const bool has_load =
            std::ranges::any_of(shapes_of(r), [&](const GatherShape& s) { return s.vector == wanted.vector; });
        if (!has_load) continue;
        const GatherShape shape = covering(r, wanted);
        EXPECT_EQ(shape.vector, wanted.vector);
        const bool widest = shape.lanes == 32 && (shape.steps == 4 || shape.vector == 8);
        EXPECT_TRUE(shape.lanes * shape.steps >= wanted.lanes * wanted.steps || widest) << features << " by " << pack;
      }
  }
}

TEST(kernel_table, covers_sums_by_the_lanes_that_their_rows_have_where_every_shape_is_built) {
  if (!every_cuda_shape) GTEST_SKIP() << "built with WEFT_CUDA_SHAPES=few";
  const KernelRow& sums = row(KernelFamily::gather, KernelMessage::weighted, Reduction::sum, Dtype::f32);
  for (const std::int64_t features : {4, 8, 16, 32, 64, 128, 256, 512})
    EXPECT_EQ(covering(sums, gather_shape(features, 4, 4)), gather_shape(features, 4, 4)) << features;
  EXPECT_EQ(covering(sums, gather_shape(7, 4, 4)), gather_shape(7, 4, 4));
  EXPECT_EQ(covering(sums, gather_shape(47, 4, 4)), gather_shape(47, 4, 4)) << "two steps of 32 lanes";
  const KernelRow& halves = row(KernelFamily::gather, KernelMessage::weighted, Reduction::sum, Dtype::f16);
  EXPECT_EQ(covering(halves, gather_shape(30, 2, 8)), gather_shape(64, 2, 2)) << "of narrow loads every other one";
  const KernelRow& rare = row(KernelFamily::gather, KernelMessage::scaled, Reduction::winner, Dtype::f16);
  EXPECT_EQ(covering(rare, gather_shape(16, 2, 4)), (GatherShape{4, 8, 1, 8}));
  const KernelRow& dot = row(KernelFamily::dot, KernelMessage::ends, Reduction::sum, Dtype::f32);
  EXPECT_EQ(covering(dot, gather_shape(64, 4, 4)), (GatherShape{4, 16, 1, 8})) << "not the shape of long rows";
}

TEST(kernel_table, keeps_to_the_loads_that_registers_allow) {
  for (const Kernel& kernel : built_kernels()) {
    const int bytes = static_cast<int>(size_of(kernel.storage));
    EXPECT_LE(kernel.shape.vector * bytes, 16) << to_string(kernel);
    EXPECT_LE(kernel.shape.vector * kernel.shape.steps, 16) << to_string(kernel);
    EXPECT_GE(kernel.shape.loads, 1) << to_string(kernel);
  }
}

}  // namespace
}  // namespace weft::test
