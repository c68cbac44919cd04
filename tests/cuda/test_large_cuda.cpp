// More edges than 31 bits count.
#include <memory>

#include "cuda/gpu.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

class cuda_large : public GpuTest {};

TEST_F(cuda_large, edges_may_pass_2_to_31) {
  constexpr std::int64_t nodes = std::int64_t{1} << 21, degree = 1030, edges = nodes * degree;
  static_assert(edges > std::int64_t{1} << 31);
  const std::size_t memory = cuda_devices().front().memory_bytes;
  if (memory < (std::size_t{60} << 30)) GTEST_SKIP() << "needs 60 GiB of GPU memory, found " << (memory >> 30);
  // Row r has the sources r, r + 1, ..., r + degree - 1, counted round.
  Tensor offsets = Tensor::empty(Shape(nodes + 1), Dtype::i64), cols = Tensor::empty(Shape(edges), Dtype::i32);
  EdgeId* const offset = offsets.span<EdgeId>().data();
  NodeId* const col = cols.span<NodeId>().data();
  for (std::int64_t r = 0; r <= nodes; ++r) offset[r] = r * degree;
  for (std::int64_t r = 0; r < nodes; ++r)
    for (std::int64_t k = 0; k < degree; ++k) col[r * degree + k] = static_cast<NodeId>((r + k) % nodes);
  const Graph there =
      Graph::adopt(nodes, nodes, offsets.span<EdgeId>(), cols.span<NodeId>(), {}, nullptr, Validate::trusted).to(gpu);
  Context context = Context::cuda();
  for (const std::int64_t width : {1, 8}) {
    Tensor x = Tensor::empty(Shape(nodes, width), Dtype::f32);
    for (std::int64_t i = 0; i < nodes * width; ++i)
      x.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i / width % 2 + i % width);
    const Tensor x_there = x.to(gpu);
    SpmmOptions options;
    options.op = SpmmOp::copy_u;
    const Tensor y = spmm(context, there, x_there, {}, options).to(Device{});
    for (std::int64_t r = 0; r < nodes; r += 1009)  // half of any row's sources are odd
      for (std::int64_t f = 0; f < width; ++f)
        ASSERT_EQ(y.span<float>()[static_cast<std::size_t>(r * width + f)], static_cast<float>(degree / 2 + degree * f))
            << "row " << r << " width " << width;
    options.reduce = Reduce::max;
    const Tensor largest = spmm(context, there, x_there, {}, options).to(Device{});
    ASSERT_EQ(largest.span<float>()[static_cast<std::size_t>(nodes * width - 1)], static_cast<float>(width));
  }
  const Tensor ends = [&] {
    Tensor values = Tensor::empty(Shape(nodes), Dtype::f32);
    for (std::int64_t i = 0; i < nodes; ++i)
      values.span<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i % 97);
    return values;
  }();
  const Tensor ends_there = ends.to(gpu);
  const Tensor scores = sddmm(context, there, ends_there, ends_there).to(Device{});
  for (std::int64_t e = edges - 1; e > 0; e -= 10'000'019)
    ASSERT_EQ(scores.span<float>()[static_cast<std::size_t>(e)],
              static_cast<float>((e / degree % 97) * ((e / degree + e % degree) % nodes % 97)))
        << "edge " << e;
}

}  // namespace
}  // namespace weft::test
