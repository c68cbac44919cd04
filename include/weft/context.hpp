// Where an operator runs and with what: device, stream or threads, and a workspace reserved before
// the run so that nothing inside it allocates.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/types.hpp"

struct CUstream_st;  // a CUDA stream, without CUDA's headers

namespace weft {

class OperatorTimer;  // src/core

/// Bump allocation out of one block. Over no block it only counts, so the code that carves a
/// workspace is also the code that sizes it.
class Arena {
 public:
  static constexpr std::size_t alignment = 256;

  Arena() = default;  // counting
  Arena(std::byte* base, std::size_t capacity) : base_(base), capacity_(capacity) {}

  /// `count` elements for `what`, 256-byte aligned; empty while counting. An Error where the block
  /// is too small.
  template <class T>
  std::span<T> take(std::size_t count, std::string_view what) {
    void* memory = take_bytes(count, sizeof(T), what);
    return {static_cast<T*>(memory), memory != nullptr ? count : 0};
  }
  std::size_t used() const { return used_; }
  bool counting() const { return base_ == nullptr; }

 private:
  void* take_bytes(std::size_t count, std::size_t element, std::string_view what);

  std::byte* base_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
};

/// What one kind of operator, or the dense products or passes between them, has taken where it ran.
struct OperatorTime {
  std::string name;
  std::int64_t calls = 0;
  double seconds = 0;
};

class Context {
 public:
  /// `threads` = 0 takes every core this process may use.
  static Context cpu(int threads = 0);
  /// An Error with code `unsupported` where this build or machine has no CUDA.
  static Context cuda(int index = 0, CUstream_st* stream = nullptr);
  /// The first GPU, where this build can use one, else the CPU.
  static Context best();
  static Context on(Device device);

  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();

  Device device() const;
  int threads() const;
  CUstream_st* stream() const;
  /// Waits for everything the context was asked to run. An Error where something of it failed on the device.
  void synchronise() const;

  /// Makes the workspace at least this large. Call it once for the largest plan; run paths only
  /// carve from it and report an Error when it is too small.
  void reserve(std::size_t bytes);
  /// From now on runs carve from this memory of the caller's instead, which must live until their work is done; none:
  /// from what was reserved again. What lies in front of its first multiple of 256 bytes is left out.
  void borrow_workspace(std::span<std::byte> memory);
  /// What runs may carve from.
  std::size_t workspace_bytes() const;
  /// A fresh arena over the workspace; what an earlier one carved is overwritten.
  Arena arena() const;

  /// How often plans that are made from now on will run, 1 unless told. What takes a plan long to prepare, as windows
  /// of rows for tensor cores do, is only looked at where that many runs pay for it.
  void expect_runs(std::int64_t runs);
  std::int64_t expected_runs() const;

  /// Begins to time operators and dense work, from nothing, or ends it. On a GPU events in the stream do that, which
  /// costs little; work that is replayed from a CUDA graph is not seen.
  void time_operators(bool on);
  /// By name, in the order they were first run; waits for the device. Empty where nothing is timed.
  std::vector<OperatorTime> operator_times() const;

 private:
  friend class TimedOperator;    // src/core
  OperatorTimer* timer() const;  // null: nothing is timed
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// What weft itself has allocated since the program began.
struct MemoryStats {
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;
  std::size_t allocations = 0;
};
MemoryStats memory_stats();  // on the host
MemoryStats memory_stats(Device device);
/// Starts a new peak at what is live now.
void reset_memory_peak();
void reset_memory_peak(Device device);

/// Whether this build has CUDA code, and which GPUs it can see.
struct CudaDevice {
  int index = 0;
  std::string name;
  int compute_capability = 0;  // 90 for sm_90
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  double memory_gb_s = 0;  // by clock and width of the bus; 0: the driver does not say
};
bool built_with_cuda();
/// Empty where there is no GPU or no driver; `why`, if given, receives the reason.
std::vector<CudaDevice> cuda_devices(std::string* why = nullptr);
/// Threads this process may run on (affinity and control groups considered).
int available_threads();

}  // namespace weft
