#include <gtest/gtest.h>

#include <cstdint>

#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "support/errors.hpp"
#include "weft/context.hpp"

namespace weft {
namespace {

using test::expect_refused;

// What a plan would carve: the same code counts and takes.
void carve(Arena& arena, std::vector<const void*>* taken = nullptr) {
  const auto keep = [&](const void* memory) {
    if (taken != nullptr) taken->push_back(memory);
  };
  keep(arena.take<float>(3, "three floats").data());
  keep(arena.take<std::int64_t>(100, "offsets").data());
  keep(arena.take<char>(0, "nothing").data());
  keep(arena.take<char>(1, "a byte").data());
}

TEST(arena, counting_gives_the_bytes_that_carving_uses) {
  Arena counting;
  EXPECT_TRUE(counting.counting());
  EXPECT_TRUE(counting.take<float>(5, "floats").empty());
  counting = Arena();
  carve(counting);
  EXPECT_EQ(counting.used(), 256u + 1024u + 1u);

  Context context = Context::cpu(1);
  context.reserve(counting.used());
  Arena arena = context.arena();
  EXPECT_FALSE(arena.counting());
  std::vector<const void*> taken;
  carve(arena, &taken);
  EXPECT_EQ(arena.used(), counting.used());
  for (const void* memory : taken) EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % Arena::alignment, 0u);
}

TEST(arena, names_what_did_not_fit) {
  Context context = Context::cpu(1);
  context.reserve(256);
  Arena arena = context.arena();
  EXPECT_EQ(arena.take<float>(64, "fits exactly").size(), 64u);
  expect_refused([&] { arena.take<float>(1, "row_sums"); }, "row_sums");
}

TEST(arena, refuses_sizes_whose_bytes_wrap_around) {
  Context context = Context::cpu(1);
  context.reserve(1024);
  Arena carving = context.arena(), counting;
  for (Arena* arena : {&carving, &counting}) {
    expect_refused([&] { arena->take<double>(SIZE_MAX / 8 + 2, "offsets"); }, "offsets");
    expect_refused([&] { arena->take<char>(SIZE_MAX - 10, "offsets"); }, "offsets");
    EXPECT_EQ(arena->used(), 0u);
  }
}

TEST(arena, over_an_empty_workspace_carves_nothing_instead_of_counting) {
  const Context context = Context::cpu(1);
  Arena arena = context.arena();
  EXPECT_FALSE(arena.counting());
  expect_refused([&] { arena.take<char>(1, "a_byte"); }, "a_byte");
}

TEST(context, carves_from_what_it_has_borrowed_until_that_goes_back) {
  Context context = Context::cpu(1);
  context.reserve(512);
  const std::size_t allocations = memory_stats().allocations;
  alignas(Arena::alignment) std::byte memory[4 * Arena::alignment];
  context.borrow_workspace(memory);
  EXPECT_EQ(context.workspace_bytes(), sizeof memory);
  Arena arena = context.arena();
  EXPECT_EQ(static_cast<void*>(arena.take<char>(10, "ten bytes").data()), static_cast<void*>(memory));
  context.borrow_workspace(std::span(memory).subspan(1));
  EXPECT_EQ(context.workspace_bytes(), 3 * Arena::alignment) << "from the next multiple of 256 on";
  Arena behind = context.arena();
  EXPECT_EQ(static_cast<void*>(behind.take<char>(768, "the rest").data()), static_cast<void*>(memory + 256));
  expect_refused([&] { behind.take<char>(1, "a_byte"); }, "a_byte");
  context.borrow_workspace(std::span(memory).subspan(1, 200));
  EXPECT_EQ(context.workspace_bytes(), 0u) << "no multiple of 256 in it";
  Arena nothing = context.arena();
  EXPECT_FALSE(nothing.counting());
  expect_refused([&] { nothing.take<char>(1, "a_byte"); }, "a_byte");
  context.borrow_workspace({});
  EXPECT_EQ(context.workspace_bytes(), 512u);
  EXPECT_EQ(memory_stats().allocations, allocations);
}

TEST(context, keeps_the_largest_workspace_reserved) {
  Context context = Context::cpu(1);
  EXPECT_EQ(context.workspace_bytes(), 0u);
  context.reserve(1000);
  EXPECT_EQ(context.workspace_bytes(), 1000u);
  const std::size_t allocations = memory_stats().allocations;
  context.reserve(500);
  EXPECT_EQ(context.workspace_bytes(), 1000u);
  EXPECT_EQ(memory_stats().allocations, allocations);
  context.reserve(5000);
  EXPECT_EQ(context.workspace_bytes(), 5000u);
}

TEST(context, gives_its_workspace_back) {
  const std::size_t before = memory_stats().live_bytes;
  {
    Context context = Context::cpu(1);
    context.reserve(1 << 20);
    EXPECT_GE(memory_stats().live_bytes, before + (1 << 20));
    const Context moved = std::move(context);
    EXPECT_EQ(moved.workspace_bytes(), std::size_t{1} << 20);
  }
  EXPECT_EQ(memory_stats().live_bytes, before);
}

TEST(context, survives_a_workspace_that_could_not_be_had) {
  Context context = Context::cpu(1);
  context.reserve(100);
  fail_allocation(1);
  expect_refused([&] { context.reserve(10'000); }, "workspace", ErrorCode::out_of_memory);
  fail_allocation(0);
  EXPECT_EQ(context.workspace_bytes(), 0u);
  Arena arena = context.arena();
  expect_refused([&] { arena.take<char>(1, "a_byte"); }, "a_byte");
  context.reserve(10'000);
  EXPECT_EQ(context.arena().take<char>(10'000, "all").size(), 10'000u);
}

TEST(context, refuses_sizes_no_machine_has) {
  Context context = Context::cpu(1);
  expect_refused([&] { context.reserve(SIZE_MAX / 2); }, "workspace", ErrorCode::out_of_memory);
  expect_refused([&] { context.reserve(SIZE_MAX); }, "workspace", ErrorCode::out_of_memory);
}

TEST(context, takes_the_threads_asked_for_or_all) {
  EXPECT_EQ(Context::cpu(3).threads(), 3);
  EXPECT_EQ(Context::cpu().threads(), default_threads());
  EXPECT_EQ(Context::on(Device{}).device(), Device{});
  EXPECT_EQ(Context::cpu().stream(), nullptr);
  expect_refused([] { Context::cpu(-1); }, "threads");
  expect_refused([] { Context::cpu(100'000); }, "threads");
}

TEST(context, is_best_on_a_gpu_where_there_is_one) {
  EXPECT_EQ(Context::best().device().kind, cuda_devices().empty() ? DeviceKind::cpu : DeviceKind::cuda);
}

TEST(context, says_why_there_is_no_cuda) {
  std::string why;
  if (!cuda_devices(&why).empty()) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_FALSE(why.empty());
  expect_refused([] { Context::cuda(0); }, "cuda:0", ErrorCode::unsupported);
  expect_refused([] { Context::on({DeviceKind::cuda, 1}); }, "cuda:1", ErrorCode::unsupported);
}

}  // namespace
}  // namespace weft
