#include "core/thread_pool.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <thread>

#include "weft/context.hpp"

namespace weft {
namespace {

// Waking a thread takes some 50 us; between two passes of a training step lie few.
constexpr std::chrono::microseconds patience{100};

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Signals are for threads of the program, not for these, except for those that a thread's own fault raises: a blocked
/// one of them ends the process without its handler.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t most;
    sigfillset(&most);
    for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&most, fault);
    pthread_sigmask(SIG_SETMASK, &most, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// Never destroyed: its threads wait there until the process ends.
std::atomic<ThreadPool*> the_pool{nullptr};

}  // namespace

ThreadPool& ThreadPool::instance() {
  static const bool made = [] {
    the_pool.store(new ThreadPool);
    // Threads do not survive a fork, and a lock might be held by one of them.
    pthread_atfork(nullptr, nullptr, [] { the_pool.store(new ThreadPool); });
    return true;
  }();
  static_cast<void>(made);
  return *the_pool.load(std::memory_order_acquire);
}

int ThreadPool::size() {
  const std::lock_guard guard(lock_);
  return size_;
}

// With the lock held. What the system refuses once is not asked for again.
void ThreadPool::start(int wanted) {
  if (size_ >= std::min(wanted, most_)) return;
  const SignalsBlocked blocked;
  try {
    for (; size_ < wanted; ++size_) std::thread([this] { serve(); }).detach();
  } catch (const std::exception&) {
    most_ = size_;
  }
  spins_ = size_ < available_threads();
}

void ThreadPool::run(SharedJob& job) {
  int helpers = 0;
  {
    const std::lock_guard guard(lock_);
    start(job.seats() - 1);
    helpers = std::min(job.seats() - 1, size_);
    if (helpers > 0) {
      jobs_.push_back(&job);
      open_.fetch_add(1, std::memory_order_release);
    }
  }
  for (int i = 0; i < helpers; ++i) came_.notify_one();
  job.work(0);
  leave(job);
}

/// Nobody joins the job any more; whoever did is waited for.
void ThreadPool::leave(SharedJob& job) {
  std::unique_lock guard(lock_);
  if (std::erase(jobs_, &job) > 0) open_.fetch_sub(1, std::memory_order_relaxed);
  left_.wait(guard, [&] { return job.working_ == 0; });
}

bool ThreadPool::spin_for_work() const {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (std::chrono::steady_clock::now() < until)
    for (int i = 0; i < 16; ++i) {
      if (open_.load(std::memory_order_relaxed) > 0) return true;
      pause();
    }
  return false;
}

void ThreadPool::serve() {
  std::unique_lock guard(lock_);
  for (;;) {
    if (jobs_.empty() && spins_) {
      guard.unlock();
      spin_for_work();
      guard.lock();
    }
    came_.wait(guard, [&] { return !jobs_.empty(); });
    SharedJob& job = *jobs_.front();
    const int seat = job.taken_++;
    if (job.taken_ == job.seats()) {
      jobs_.erase(jobs_.begin());
      open_.fetch_sub(1, std::memory_order_relaxed);
    }
    ++job.working_;
    guard.unlock();
    job.work(seat);
    guard.lock();
    if (--job.working_ == 0) left_.notify_all();
  }
}

}  // namespace weft
