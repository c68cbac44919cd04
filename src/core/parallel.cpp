#include "core/parallel.hpp"

#ifdef _OPENMP
#include <omp.h>
#endif
#include <sched.h>

#include <atomic>
#include <exception>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/task_observer.hpp"
#include "weft/context.hpp"

namespace weft {
namespace {

struct Job {
  std::int64_t tasks;
  TaskBody body;
  TaskOrder order;
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex lock;
  std::exception_ptr error;

  void work(int thread, int threads) {
    try {
      if (order == TaskOrder::round_robin) {
        for (std::int64_t t = thread; t < tasks && !stop.load(std::memory_order_relaxed); t += threads) body(t, thread);
      } else {
        for (std::int64_t t;
             !stop.load(std::memory_order_relaxed) && (t = next.fetch_add(1, std::memory_order_relaxed)) < tasks;)
          body(t, thread);
      }
    } catch (...) {
      const std::lock_guard guard(lock);
      if (!error) error = std::current_exception();
      stop.store(true, std::memory_order_relaxed);
    }
  }
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
  const int used = static_cast<int>(std::clamp<std::int64_t>(tasks, 1, std::max(threads, 1)));
  Job job{tasks, body, order, {}, {}, {}, {}};
  if (used == 1) {
    job.work(0, 1);
  } else {
#if defined(__SANITIZE_THREAD__) || !defined(_OPENMP)
    // ThreadSanitizer does not see what libgomp's barriers order; it does see threads start and end. Fuzz targets are
    // built without OpenMP.
    std::vector<std::thread> team;
    for (int thread = 1; thread < used; ++thread) team.emplace_back([&job, thread, used] { job.work(thread, used); });
    job.work(0, used);
    for (std::thread& member : team) member.join();
#else
#pragma omp parallel num_threads(used)
    job.work(omp_get_thread_num(), omp_get_num_threads());  // the team may be smaller than asked for
#endif
  }
  if (job.error) std::rethrow_exception(job.error);
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
