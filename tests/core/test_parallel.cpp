#include "core/parallel.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <vector>

#include "support/hand_outs.hpp"
#include "weft/context.hpp"

namespace weft {
namespace {

TEST(parallel_tasks, runs_every_task_once_on_threads_it_may_use) {
  for (const TaskOrder order : {TaskOrder::next_free, TaskOrder::round_robin})
    for (const int threads : {1, 2, 3, 7})
      for (const std::int64_t tasks : {0, 1, 2, 5, 1000}) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(tasks));
        std::atomic<bool> stray{false};
        parallel_tasks(
            threads, tasks,
            [&](std::int64_t task, int thread) {
              if (thread < 0 || thread >= threads) stray = true;
              ++runs[static_cast<std::size_t>(task)];
            },
            order);
        for (const auto& count : runs) ASSERT_EQ(count, 1);
        EXPECT_FALSE(stray);
      }
}

TEST(parallel_tasks, takes_zero_or_negative_threads_for_one) {
  for (const int threads : {0, -4}) {
    std::vector<std::int64_t> seen;
    parallel_tasks(threads, 3, [&](std::int64_t task, int) { seen.push_back(task); });
    EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2}));
  }
}

TEST(parallel_tasks, goes_in_order_on_one_thread) {
  for (const TaskOrder order : {TaskOrder::next_free, TaskOrder::round_robin}) {
    std::vector<std::int64_t> seen;
    parallel_tasks(
        1, 5, [&](std::int64_t task, int) { seen.push_back(task); }, order);
    EXPECT_EQ(seen, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  }
}

TEST(parallel_tasks, round_robin_gives_a_thread_every_nth_task) {
  std::mutex lock;
  std::vector<std::vector<std::int64_t>> tasks_of(3);
  parallel_tasks(
      3, 30,
      [&](std::int64_t task, int thread) {
        const std::lock_guard guard(lock);
        tasks_of[static_cast<std::size_t>(thread)].push_back(task);
      },
      TaskOrder::round_robin);
  std::size_t used = 0;
  for (const auto& tasks : tasks_of) used += tasks.empty() ? 0 : 1;
  for (std::size_t thread = 0; thread < used; ++thread)
    for (std::size_t i = 0; i < tasks_of[thread].size(); ++i)
      EXPECT_EQ(tasks_of[thread][i], static_cast<std::int64_t>(thread + i * used));
}

TEST(parallel_tasks, throws_what_a_task_threw_after_all_threads_stopped) {
  for (const TaskOrder order : {TaskOrder::next_free, TaskOrder::round_robin})
    for (const int threads : {1, 2, 5}) {
      std::atomic<int> inside{0};
      try {
        parallel_tasks(
            threads, 100,
            [&](std::int64_t task, int) {
              ++inside;
              if (task == 17) {
                --inside;
                throw std::runtime_error("task 17");
              }
              --inside;
            },
            order);
        FAIL() << "nothing was thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "task 17");
      }
      EXPECT_EQ(inside, 0);
    }
}

TEST(parallel_tasks, throws_one_exception_where_every_task_throws) {
  EXPECT_THROW(parallel_tasks(4, 50, [](std::int64_t, int) { throw std::logic_error("each"); }), std::logic_error);
}

TEST(parallel_tasks, may_be_nested) {
  std::atomic<int> count{0};
  parallel_tasks(2, 4, [&](std::int64_t, int) { parallel_tasks(2, 4, [&](std::int64_t, int) { ++count; }); });
  EXPECT_EQ(count, 16);
}

TEST(parallel_tasks, tells_an_observer_what_it_hands_out_while_there_is_one) {
  const auto nothing = [](std::int64_t, int) {};
  parallel_tasks(2, 7, nothing);
  {
    test::HandOuts seen;
    parallel_tasks(3, 5, [&](std::int64_t, int) { parallel_tasks(1, 2, nothing); });
    parallel_tasks(3, 0, nothing);
    EXPECT_EQ(seen.of(3, 5), 1);
    EXPECT_EQ(seen.of(1, 2), 5);
    EXPECT_EQ(seen.of(2, 7), 0);
    EXPECT_EQ(seen.of(3, 0), 0);
  }
  parallel_tasks(2, 7, nothing);  // nobody looks any more
}

TEST(parallel_ranges, cover_everything_once_in_pieces_of_the_grain) {
  for (const int threads : {1, 2, 5})
    for (const std::int64_t count : {0, 1, 9, 100, 12'345})
      for (const std::int64_t grain : {0, 1, 10, 100'000}) {
        std::mutex lock;
        std::set<std::pair<std::int64_t, std::int64_t>> ranges;
        parallel_ranges(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
          const std::lock_guard guard(lock);
          ranges.emplace(begin, end);
        });
        std::int64_t next = 0;
        for (const auto& [begin, end] : ranges) {
          EXPECT_EQ(begin, next);
          EXPECT_TRUE(ranges.size() == 1 || end - begin >= grain) << end - begin;
          next = end;
        }
        EXPECT_EQ(next, count);
      }
}

TEST(default_threads, can_be_set_and_go_back) {
  set_default_threads(3);
  EXPECT_EQ(default_threads(), 3);
  set_default_threads(0);
  EXPECT_EQ(default_threads(), available_threads());
  EXPECT_GE(available_threads(), 1);
}

}  // namespace
}  // namespace weft
