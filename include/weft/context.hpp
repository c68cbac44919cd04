// What an operator runs with: device, stream or threads, and a workspace that is reserved beforehand, so that a run
// allocates nothing.
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

/// Bump allocation from one block. Without a block an arena only counts bytes, so the same code sizes a workspace and
/// allocates from it.
class Arena {
 public:
  static constexpr std::size_t alignment = 256;

  Arena() = default;  // counting
  Arena(std::byte* base, std::size_t capacity) : base_(base), capacity_(capacity) {}

  /// `count` elements, 256-byte aligned; empty while counting. An Error that names `what` if the block is too small.
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

/// Calls and device time of one kind of operator, or of the dense products or passes between operators.
struct OperatorTime {
  std::string name;
  std::int64_t calls = 0;
  double seconds = 0;
};

class Context {
 public:
  /// `threads` = 0 uses every core available to this process.
  static Context cpu(int threads = 0);
  /// An Error with code `unsupported` if this build or machine has no CUDA.
  static Context cuda(int index = 0, CUstream_st* stream = nullptr);
  /// The first GPU that this build can use, else the CPU.
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
  /// Waits for all work of the context. An Error if any of it failed on the device.
  void synchronise() const;

  /// Makes the workspace at least this large. Call it once for the largest plan; runs only use it, and report an Error
  /// if it is too small.
  void reserve(std::size_t bytes);
  /// Makes runs use the caller's memory as workspace, which must live until their work is done; without memory, the
  /// reserved workspace is used again. Bytes before the first multiple of 256 are not used.
  void borrow_workspace(std::span<std::byte> memory);
  /// The size of the workspace that runs use.
  std::size_t workspace_bytes() const;
  /// A fresh arena over the workspace; it overwrites what earlier arenas allocated.
  Arena arena() const;

  /// How often plans made from now on will run, by default 1. The planner considers what is slow to prepare, such as
  /// row windows for tensor cores, only if that many runs pay for it.
  void expect_runs(std::int64_t runs);
  std::int64_t expected_runs() const;

  /// Starts timing operators and dense work, from zero, or stops it. On a GPU the times come from events in the stream,
  /// at little cost; replays of a CUDA graph are not timed.
  void time_operators(bool on);
  /// Times by name, in the order of the first runs; waits for the device. Empty while nothing is timed.
  std::vector<OperatorTime> operator_times() const;

 private:
  friend class TimedOperator;    // src/core
  OperatorTimer* timer() const;  // null: nothing is timed
  struct State;
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Memory that weft has allocated since the program started.
struct MemoryStats {
  std::size_t live_bytes = 0;
  std::size_t peak_bytes = 0;
  std::size_t allocations = 0;
};
MemoryStats memory_stats();  // on the host
MemoryStats memory_stats(Device device);
/// Resets the peak to the bytes that are live now.
void reset_memory_peak();
void reset_memory_peak(Device device);

/// A GPU that this build can use.
struct CudaDevice {
  int index = 0;
  std::string name;
  int compute_capability = 0;  // 90 for sm_90
  std::size_t memory_bytes = 0;
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  double memory_gb_s = 0;  // from clock and width of the bus; 0: unknown to the driver
};
/// Whether this build has CUDA code.
bool built_with_cuda();
/// Empty if there is no GPU or no driver; `why`, if given, receives the reason.
std::vector<CudaDevice> cuda_devices(std::string* why = nullptr);
/// The number of threads available to this process, by its affinity and control groups.
int available_threads();

}  // namespace weft
