// Threads that wait for work. They are started when a job first asks for them and kept; where the system grants fewer,
// for want of memory or by a limit, there are fewer, and the caller of a job works in any case.
#pragma once

#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <vector>

namespace weft {

/// Work that several threads do together, each from its own seat.
class SharedJob {
 public:
  /// For at most `seats` threads, the caller's included.
  explicit SharedJob(int seats) : seats_(seats) {}
  virtual ~SharedJob() = default;
  SharedJob(const SharedJob&) = delete;
  SharedJob& operator=(const SharedJob&) = delete;

  /// Works until nothing is left to begin. No two threads have the same seat in [0, seats); the caller's is 0. Which
  /// others are taken is known only as threads arrive. Throws nothing.
  virtual void work(int seat) = 0;
  int seats() const { return seats_; }

 private:
  friend class ThreadPool;
  const int seats_;
  int taken_ = 1;    // seats, the caller's included
  int working_ = 0;  // threads of the pool inside of work
};

class ThreadPool {
 public:
  /// The pool of this process; a child after fork() has a new one.
  static ThreadPool& instance();

  /// Returns when the job's work is done and nobody is inside of it.
  void run(SharedJob& job);

  /// Threads that wait or work here.
  int size();

 private:
  void start(int wanted);
  void serve();
  bool spin_for_work() const;
  void leave(SharedJob& job);

  std::mutex lock_;
  std::condition_variable came_, left_;
  std::vector<SharedJob*> jobs_;  // that have seats left
  std::atomic<int> open_{0};      // as many: looked at without the lock
  int size_ = 0;
  int most_ = std::numeric_limits<int>::max();  // threads that can be had
  bool spins_ = true;
};

}  // namespace weft
