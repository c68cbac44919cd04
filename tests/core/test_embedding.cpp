// Memory and threads of the program that weft runs inside of.
#include "weft/embedding.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "support/errors.hpp"
#include "weft/context.hpp"
#include "weft/tensor.hpp"

namespace weft {
namespace {

using test::expect_refused;

/// Keeps account of what is out.
struct Lender {
  std::map<void*, std::size_t> out;
  std::size_t lent = 0;
  bool empty = false;

  Allocator allocator() {
    return {[](void* self, Device device, std::size_t bytes, CUstream_st* stream) -> void* {
              auto& lender = *static_cast<Lender*>(self);
              EXPECT_EQ(device, Device{});
              EXPECT_EQ(stream, nullptr);
              if (lender.empty) return nullptr;
              void* const memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
              lender.out.emplace(memory, bytes);
              ++lender.lent;
              return memory;
            },
            [](void* self, Device device, void* memory, std::size_t bytes, CUstream_st* stream) {
              auto& lender = *static_cast<Lender*>(self);
              EXPECT_EQ(device, Device{});
              EXPECT_EQ(stream, nullptr);
              EXPECT_EQ(lender.out.at(memory), bytes);
              lender.out.erase(memory);
              std::free(memory);
            },
            this};
  }
};

struct embedding : ::testing::Test {
  void TearDown() override {
    set_allocator(DeviceKind::cpu);
    set_executor();
  }
};

TEST_F(embedding, memory_comes_from_the_allocator_that_is_set_and_goes_back_to_it) {
  Lender first, second;
  const MemoryStats before = memory_stats();
  Tensor own = Tensor::zeros(Shape(10), Dtype::f32);
  set_allocator(DeviceKind::cpu, first.allocator());
  Tensor lent = Tensor::zeros(Shape(1000, 64), Dtype::f32);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lent.view().data) % 64, 0u);
  Context context = Context::cpu(1);
  context.reserve(100);
  EXPECT_EQ(first.out.size(), 2u);
  set_allocator(DeviceKind::cpu, second.allocator());
  const Tensor other = Tensor::zeros(Shape(10), Dtype::f32);
  EXPECT_EQ(second.out.size(), 1u);
  own = Tensor();
  lent = Tensor();
  EXPECT_EQ(first.out.size(), 1u) << "the workspace";
  set_allocator(DeviceKind::cpu);
  const Tensor again = Tensor::zeros(Shape(10), Dtype::f32);
  context = Context::cpu(1);
  EXPECT_EQ(first.out.size(), 0u);
  EXPECT_EQ(first.lent, 2u);
  EXPECT_EQ(second.lent, 1u);
  EXPECT_EQ(memory_stats().allocations - before.allocations, 5u) << "all are counted";
  EXPECT_EQ(memory_stats().live_bytes - before.live_bytes, 80u);
}

TEST_F(embedding, an_allocator_without_memory_is_an_error_that_says_for_what) {
  Lender lender;
  lender.empty = true;
  set_allocator(DeviceKind::cpu, lender.allocator());
  expect_refused([] { Buffer<char>(10, "ten_bytes"); }, "ten_bytes", ErrorCode::out_of_memory);
}

TEST_F(embedding, half_an_allocator_is_refused) {
  Lender lender;
  Allocator half = lender.allocator();
  half.deallocate = nullptr;
  expect_refused([&] { set_allocator(DeviceKind::cpu, half); }, "allocator has allocate but no deallocate");
}

/// Seats one after the other, the last first, in a thread of its own each.
void run_backwards(void* self, int seats, void (*work)(void*, int), void* job) {
  ++*static_cast<int*>(self);
  for (int seat = seats - 1; seat >= 0; --seat) std::thread([&] { work(job, seat); }).join();
}

TEST_F(embedding, tasks_run_by_the_executor_that_is_set) {
  int jobs = 0;
  set_executor({run_backwards, &jobs});
  for (const TaskOrder order : {TaskOrder::next_free, TaskOrder::round_robin}) {
    std::vector<int> runs(1000);
    std::array<bool, 4> seats{};
    parallel_tasks(
        4, 1000,
        [&](std::int64_t task, int thread) {
          ++runs[static_cast<std::size_t>(task)];
          seats.at(static_cast<std::size_t>(thread)) = true;
        },
        order);
    EXPECT_EQ(runs, std::vector<int>(1000, 1));
  }
  EXPECT_EQ(jobs, 2);
  parallel_tasks(1, 10, [](std::int64_t, int) {});
  EXPECT_EQ(jobs, 2) << "one thread is the caller's own";
  set_executor();
  parallel_tasks(4, 10, [](std::int64_t, int) {});
  EXPECT_EQ(jobs, 2);
}

TEST_F(embedding, tasks_inside_of_tasks_and_what_they_throw_are_as_ever) {
  int jobs = 0;
  set_executor({run_backwards, &jobs});
  std::vector<int> runs(100);
  parallel_tasks(4, 10, [&](std::int64_t outer, int) {
    parallel_tasks(4, 10, [&](std::int64_t inner, int) { ++runs[static_cast<std::size_t>(outer * 10 + inner)]; });
  });
  EXPECT_EQ(runs, std::vector<int>(100, 1));
  EXPECT_EQ(jobs, 1) << "a task runs those it hands out by itself";
  EXPECT_THROW(parallel_tasks(4, 10,
                              [](std::int64_t task, int) {
                                if (task == 5) throw std::runtime_error("the fifth");
                              }),
               std::runtime_error);
}

}  // namespace
}  // namespace weft
