// Memory on a GPU of the program that weft runs inside of.
#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "cuda/replay.hpp"
#include "weft/embedding.hpp"

namespace weft::test {
namespace {

/// Lends memory in the order of a stream and keeps account of what is out.
struct Lender {
  CUstream_st* expected;
  std::map<void*, std::size_t> out;
  std::size_t lent = 0;
  std::mutex lock;

  Allocator allocator() {
    return {[](void* self, Device device, std::size_t bytes, CUstream_st* stream) -> void* {
              auto& lender = *static_cast<Lender*>(self);
              EXPECT_EQ(device, gpu);
              EXPECT_EQ(stream, lender.expected);
              void* memory = nullptr;
              if (cudaMallocAsync(&memory, bytes, stream) != cudaSuccess) return nullptr;
              const std::lock_guard guard(lender.lock);
              lender.out.emplace(memory, bytes);
              ++lender.lent;
              return memory;
            },
            [](void* self, Device, void* memory, std::size_t bytes, CUstream_st* stream) {
              auto& lender = *static_cast<Lender*>(self);
              const std::lock_guard guard(lender.lock);
              EXPECT_EQ(lender.out.at(memory), bytes);
              lender.out.erase(memory);
              EXPECT_EQ(cudaFreeAsync(memory, stream), cudaSuccess);
            },
            this};
  }
};

struct cuda_embedding : GpuTest {
  void TearDown() override { set_allocator(DeviceKind::cuda); }
};

TEST_F(cuda_embedding, graphs_plans_and_results_take_memory_from_the_allocator_that_is_set) {
  const Stream stream;
  Lender lender{stream, {}, 0, {}};
  const Graph graph = battery::power_law_graph();
  const Tensor x = random_tensor(Shape(graph.num_cols(), 64), Dtype::f32, 1);
  const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 2);
  Tensor usual, lent;
  const auto sum = [&] {
    Context context = Context::cuda(0, stream);
    const Graph there = graph.to(gpu, stream);
    const Tensor y = spmm(context, there.transpose(), x.to(gpu, stream), edge.to(gpu, stream), {});
    return y.to(Device{}, stream);
  };
  usual = sum();
  set_allocator(DeviceKind::cuda, lender.allocator());
  lent = sum();
  EXPECT_TRUE(bitwise_equal(usual, lent));
  EXPECT_GE(lender.lent, 6u) << "a graph, its transpose, operands and a result";
  EXPECT_TRUE(lender.out.empty()) << lender.out.size() << " blocks are still out";
  set_allocator(DeviceKind::cuda);
  const std::size_t before = lender.lent;
  sum();
  EXPECT_EQ(lender.lent, before);
}

TEST_F(cuda_embedding, runs_carve_from_borrowed_memory_and_take_none_besides) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu, stream);
  const Tensor x = random_tensor(Shape(graph.num_cols(), 64), Dtype::f32, 3).to(gpu, stream);
  const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 4).to(gpu, stream);
  const Plan plan =
      make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum, true}, parse_policy("edges=8"));
  ASSERT_GT(plan.workspace_bytes, 0u);
  std::vector<Tensor> results;
  const auto floats = static_cast<std::int64_t>((plan.workspace_bytes + 3) / 4);
  const Tensor memory = Tensor::empty(Shape(floats), Dtype::f32, "lent", gpu, stream);
  auto* const bytes = static_cast<std::byte*>(const_cast<void*>(memory.view().data));
  for (const bool borrows : {false, true}) {
    if (borrows)
      context.borrow_workspace({bytes, plan.workspace_bytes});
    else
      context.reserve(plan.workspace_bytes);
    Tensor y = Tensor::zeros(Shape(graph.num_rows(), 64), Dtype::f32, "y", gpu, stream);
    const MemoryStats before = memory_stats(gpu);
    spmm(context, plan, there, x, edge, y, {});
    EXPECT_EQ(memory_stats(gpu).allocations, before.allocations);
    results.push_back(y.to(Device{}, stream));
  }
  EXPECT_TRUE(bitwise_equal(results[0], results[1]));
}

}  // namespace
}  // namespace weft::test
