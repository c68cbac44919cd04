#include "core/memory.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "core/parallel.hpp"
#include "support/errors.hpp"
#include "weft/context.hpp"

namespace weft {
namespace {

TEST(memory, counts_what_lives_and_what_was_the_most) {
  const MemoryStats before = memory_stats();
  reset_memory_peak();
  {
    const Buffer<std::int64_t> first(1000, "first");
    EXPECT_EQ(memory_stats().live_bytes - before.live_bytes, 8000u);
    { const Buffer<char> second(500, "second"); }
    EXPECT_EQ(memory_stats().live_bytes - before.live_bytes, 8000u);
  }
  const MemoryStats after = memory_stats();
  EXPECT_EQ(after.live_bytes, before.live_bytes);
  EXPECT_EQ(after.peak_bytes - before.live_bytes, 8500u);
  EXPECT_EQ(after.allocations - before.allocations, 2u);
  reset_memory_peak();
  EXPECT_EQ(memory_stats().peak_bytes, memory_stats().live_bytes);
}

TEST(memory, is_aligned_whatever_the_size) {
  for (const std::size_t bytes : {0u, 1u, 63u, 64u, 4096u, (2u << 20) - 1, 2u << 20, 5u << 20}) {
    const Buffer<std::byte> buffer(bytes, "bytes");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % 64, 0u) << bytes;
    if (bytes > 0) std::memset(static_cast<void*>(const_cast<std::byte*>(buffer.data())), 1, bytes);
  }
}

TEST(memory, counts_right_from_many_threads) {
  const MemoryStats before = memory_stats();
  parallel_tasks(4, 400, [](std::int64_t task, int) { Buffer<char>(static_cast<std::size_t>(task), "a task's"); });
  EXPECT_EQ(memory_stats().live_bytes, before.live_bytes);
  EXPECT_EQ(memory_stats().allocations - before.allocations, 400u);
}

TEST(memory, fails_on_the_allocation_a_test_names) {
  fail_allocation(2);
  EXPECT_NO_THROW(Buffer<char>(10, "the first"));
  test::expect_refused([] { Buffer<char>(10, "the_second"); }, "the_second", ErrorCode::out_of_memory);
  EXPECT_NO_THROW(Buffer<char>(10, "the third"));
  fail_allocation(0);
}

TEST(memory, refuses_more_than_the_address_space) {
  test::expect_refused([] { Buffer<std::int64_t>(SIZE_MAX / 8, "a_galaxy"); }, "a_galaxy", ErrorCode::out_of_memory);
  test::expect_refused([] { Buffer<char>(SIZE_MAX, "a_galaxy"); }, "a_galaxy", ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace weft
