#include "core/thread_pool.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "core/parallel.hpp"

namespace weft {
namespace {

/// The exit status of `body` in a process of its own; -1 where a signal ended it.
template <class F>
int status_in_child(F&& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int count_tasks(int threads, int tasks) {
  std::atomic<int> count{0};
  parallel_tasks(threads, tasks, [&](std::int64_t, int) { ++count; });
  return count;
}

TEST(thread_pool, keeps_its_threads_for_the_next_job) {
  EXPECT_EQ(count_tasks(4, 100), 100);
  const int size = ThreadPool::instance().size();
  EXPECT_GE(size, 3);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(count_tasks(4, 100), 100);
  EXPECT_EQ(ThreadPool::instance().size(), size);
}

TEST(thread_pool, serves_callers_at_the_same_time) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i)
        if (count_tasks(3, 17) != 17) ++wrong;
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

TEST(thread_pool, gives_every_thread_of_a_job_a_seat_of_its_own) {
  for (const TaskOrder order : {TaskOrder::next_free, TaskOrder::round_robin}) {
    std::atomic<int> inside[5] = {}, wrong{0};
    parallel_tasks(
        5, 2000,
        [&](std::int64_t, int seat) {
          if (++inside[seat] != 1) ++wrong;
          --inside[seat];
        },
        order);
    EXPECT_EQ(wrong, 0);
  }
}

TEST(thread_pool, is_a_new_one_after_a_fork) {
  EXPECT_EQ(count_tasks(4, 10), 10);
  EXPECT_EQ(status_in_child([] { return count_tasks(4, 10) == 10 ? 0 : 1; }), 0);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need terabytes of addresses
TEST(thread_pool, makes_do_with_the_threads_that_memory_allows) {
  // 300 stacks of 8 MiB do not fit.
  EXPECT_EQ(status_in_child([] {
              const rlimit limit{std::size_t{512} << 20, std::size_t{512} << 20};
              if (::setrlimit(RLIMIT_AS, &limit) != 0) return 2;
              if (count_tasks(300, 1000) != 1000) return 3;
              return ThreadPool::instance().size() < 299 ? 0 : 4;
            }),
            0);
}
#endif

}  // namespace
}  // namespace weft
