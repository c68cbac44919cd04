#include <numeric>

#include "cuda/gpu.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/values.hpp"
#include "weft/graph.hpp"

namespace weft::test {
namespace {

class transfer : public GpuTest {};

TEST_F(transfer, a_tensor_comes_back_as_it_went) {
  const Tensor there = random_tensor(Shape(123, 45), Dtype::f32, 7);
  const Tensor back = there.to(gpu).to(Device{});
  EXPECT_EQ(doubles(back), doubles(there));
}

TEST_F(transfer, zeros_are_zero_on_the_device) {
  const Tensor back = Tensor::zeros(Shape(1000), Dtype::i64, "counts", gpu).to(Device{});
  for (const std::int64_t value : back.span<std::int64_t>()) ASSERT_EQ(value, 0);
}

TEST_F(transfer, the_host_is_told_when_it_reads_device_memory) {
  const Tensor there = Tensor::zeros(Shape(4), Dtype::f32, "tensor", gpu);
  expect_refused([&] { there.span<float>(); }, "cuda:0");
  const Graph graph = battery::hub_graph().to(gpu);
  expect_refused([&] { graph.offsets(); }, "cuda:0");
  expect_refused([&] { graph.degree_stats(); }, "cuda:0");
}

TEST_F(transfer, every_battery_graph_comes_back_as_it_went) {
  for (const BatteryGraph& battery : battery_graphs()) {
    SCOPED_TRACE(battery.name);
    const Graph back = battery.graph.to(gpu).to(Device{});
    EXPECT_EQ(back.num_rows(), battery.graph.num_rows());
    EXPECT_EQ(back.num_cols(), battery.graph.num_cols());
    EXPECT_TRUE(std::ranges::equal(back.offsets(), battery.graph.offsets()));
    EXPECT_TRUE(std::ranges::equal(back.cols(), battery.graph.cols()));
    EXPECT_TRUE(std::ranges::equal(back.edge_ids(), battery.graph.edge_ids()));
  }
}

TEST_F(transfer, too_much_memory_is_an_error_that_says_how_much_and_what_for) {
  expect_refused([&] { Tensor::empty(Shape(std::int64_t{1} << 42), Dtype::f32, "a table", gpu); }, "a table",
                 ErrorCode::out_of_memory);
  EXPECT_NO_THROW(Tensor::zeros(Shape(16), Dtype::f32, "after it", gpu).to(Device{}));
}

}  // namespace
}  // namespace weft::test
