#include "core/parallel.hpp"

#include <sched.h>

#include <atomic>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "core/embedding.hpp"
#include "core/task_observer.hpp"
#include "core/thread_pool.hpp"
#include "weft/context.hpp"

namespace weft {
namespace {

thread_local bool inside_task = false;

class Job : public SharedJob {
 public:
  Job(int threads, std::int64_t tasks, TaskBody body, TaskOrder order)
      : SharedJob(threads), tasks_(tasks), body_(body), order_(order) {}

  void work(int seat) override {
    inside_task = true;
    try {
      if (order_ == TaskOrder::next_free)
        for (std::int64_t task; going() && (task = next()) < tasks_;) body_(task, seat);
      else  // the stripe of each seat is a task, as nobody might take the seat
        for (std::int64_t stripe; going() && (stripe = next()) < seats();)
          for (std::int64_t task = stripe; task < tasks_ && going(); task += seats())
            body_(task, static_cast<int>(stripe));
    } catch (...) {
      const std::lock_guard guard(lock_);
      if (!error_) error_ = std::current_exception();
      stop_.store(true, std::memory_order_relaxed);
    }
    inside_task = false;
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  bool going() const { return !stop_.load(std::memory_order_relaxed); }
  std::int64_t next() { return next_.fetch_add(1, std::memory_order_relaxed); }

  const std::int64_t tasks_;
  const TaskBody body_;
  const TaskOrder order_;
  std::atomic<std::int64_t> next_{0};
  std::atomic<bool> stop_{false};
  std::mutex lock_;
  std::exception_ptr error_;
};

std::atomic<int> chosen_threads{0};
std::atomic<TaskObserver*> task_observer{nullptr};

// Processors a control group grants, rounded up; 0 where there is no limit. Version 2, then 1.
int quota_threads() {
  std::ifstream v2("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (v2 >> quota >> period && quota != "max" && period > 0) return static_cast<int>(std::stod(quota) / period + 0.999);
  std::ifstream v1_quota("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"), v1_period("/sys/fs/cgroup/cpu/cpu.cfs_period_us");
  double granted = -1;
  if (v1_quota >> granted && v1_period >> period && granted > 0 && period > 0)
    return static_cast<int>(granted / period + 0.999);
  return 0;
}

}  // namespace

void parallel_tasks(int threads, std::int64_t tasks, TaskBody body, TaskOrder order) {
  if (tasks <= 0) return;
  if (TaskObserver* observer = task_observer.load(std::memory_order_acquire)) observer->handed_out(threads, tasks);
  // A task that hands out tasks runs them itself: the threads are busy.
  const bool alone = inside_task;
  Job job(alone ? 1 : static_cast<int>(std::clamp<std::int64_t>(tasks, 1, std::max(threads, 1))), tasks, body, order);
  if (job.seats() == 1)
    job.work(0);
  else if (const Executor* const by = executor())
    by->run(
        by->self, job.seats(), [](void* of, int seat) { static_cast<Job*>(of)->work(seat); }, &job);
  else
    ThreadPool::instance().run(job);
  inside_task = alone;
  job.rethrow();
}

void observe_tasks(TaskObserver* observer) { task_observer.store(observer, std::memory_order_release); }

int available_threads() {
  static const int threads = [] {
    cpu_set_t set;
    int allowed = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 0;
    if (allowed <= 0) allowed = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const int quota = quota_threads();
    return quota > 0 ? std::min(quota, allowed) : allowed;
  }();
  return threads;
}

int default_threads() {
  const int chosen = chosen_threads.load(std::memory_order_relaxed);
  return chosen > 0 ? chosen : available_threads();
}

void set_default_threads(int threads) { chosen_threads.store(threads, std::memory_order_relaxed); }

}  // namespace weft
