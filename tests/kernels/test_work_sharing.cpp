// Who does how much in a run, by thread. Tasks go through parallel_tasks in the plan's own partition and order, as
// in every kernel; only the clock is replaced. A thread's time is the number of edges it has done, and it takes its
// next task when no other thread is behind it. So each edge costs the same whatever else the machine is doing, and
// what is counted is what the partition and the hand-out of tasks amount to.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>

#include "core/parallel.hpp"
#include "plan/partition.hpp"
#include "support/hand_outs.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

/// Edges done by each thread, as the clock they go by.
class EdgeClock {
 public:
  EdgeClock(int threads, std::int64_t tasks) : edges_(static_cast<std::size_t>(threads), 0), unclaimed_(tasks) {}

  /// Thread did a task of so many edges: waits until it is the next to take one, or none is left to take.
  void did(int thread, std::int64_t edges) {
    std::unique_lock lock(mutex_);
    --unclaimed_;
    std::int64_t& own = edges_[static_cast<std::size_t>(thread)];
    own += edges;
    turn_.notify_all();
    const auto its_turn = [&] {
      return unclaimed_ == 0 || stalled_ || own == *std::min_element(edges_.begin(), edges_.end());
    };
    if (turn_.wait_for(lock, std::chrono::seconds(60), its_turn)) return;
    stalled_ = true;  // a thread that was asked for never came
    turn_.notify_all();
  }
  const std::vector<std::int64_t>& edges() const { return edges_; }
  bool stalled() const { return stalled_; }

 private:
  std::mutex mutex_;
  std::condition_variable turn_;
  std::vector<std::int64_t> edges_;
  std::int64_t unclaimed_;
  bool stalled_ = false;
};

/// Edges by thread after a run of the plan by that clock; empty where the system did not give the threads.
std::vector<std::int64_t> edges_by_thread(const Plan& plan, const GraphView& view) {
  EdgeClock clock(plan.cpu().threads, plan.tasks);
  parallel_tasks(
      plan.cpu().threads, plan.tasks,
      [&](std::int64_t task, int thread) { clock.did(thread, edges_of(plan, view, task)); }, task_order(plan));
  return clock.stalled() ? std::vector<std::int64_t>() : clock.edges();
}

TEST(work_sharing, no_thread_does_twice_its_share_of_a_hub) {
  // Large enough for scalar operators too: fewer than some ten thousand elements are not worth a task of their own.
  const std::pair<const char*, Graph> graphs[] = {{"star", hub_graph(1'000'000)},
                                                  {"skewed", skewed_graph(2000, 1'000'000, 321)}};
  for (const auto& [text, graph] : graphs)
    for (const OpKind kind : {OpKind::spmm, OpKind::sddmm, OpKind::spmv, OpKind::softmax, OpKind::attention})
      for (const int threads : {2, 4, 8}) {
        SCOPED_TRACE(fmt::format("{} {} with {} threads", text, name(kind), threads));
        const std::int64_t width = kind == OpKind::spmv || kind == OpKind::softmax ? 1 : 64;
        const Plan plan = make_plan(Context::cpu(threads), graph, {kind, Dtype::f32, 1, width, Reduce::sum, true});
        const std::vector<std::int64_t> work = edges_by_thread(plan, graph.view());
        if (work.empty()) GTEST_SKIP() << "the system gave fewer than " << threads << " threads";
        EXPECT_EQ(std::accumulate(work.begin(), work.end(), std::int64_t{0}), graph.num_edges());
        const std::int64_t share = graph.num_edges() / threads;
        std::int64_t heaviest = 0;
        for (std::int64_t task = 0; task < plan.tasks; ++task)
          heaviest = std::max(heaviest, edges_of(plan, graph.view(), task));
        for (const std::int64_t edges : work) {
          EXPECT_LE(edges, 2 * share);
          EXPECT_LE(edges, share + heaviest);
        }
      }
}

TEST(work_sharing, a_hub_that_one_thread_does_alone_is_seen) {
  const Graph star = hub_graph(100'000);
  const Plan plan = make_plan(Context::cpu(2), star, {OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum, true},
                              parse_policy("schedule=rows,tasks=3"));
  const std::vector<std::int64_t> work = edges_by_thread(plan, star.view());
  if (work.empty()) GTEST_SKIP() << "the system gave fewer than 2 threads";
  EXPECT_EQ(*std::max_element(work.begin(), work.end()), 100'000);
}

}  // namespace
}  // namespace weft::test
