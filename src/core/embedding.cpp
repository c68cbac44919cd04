#include "core/embedding.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "core/check.hpp"
#include "core/names.hpp"

namespace weft {
namespace {

/// A value that is set now and then, and read without a lock. Earlier ones are kept: whoever has read one may still use
/// it, and memory goes back to the allocator that it came from.
template <class T>
class Published {
 public:
  const T* get() const { return current_.load(std::memory_order_acquire); }
  void set(const T* value) {
    const std::lock_guard guard(lock_);
    if (value != nullptr) value = kept_.emplace_back(std::make_unique<const T>(*value)).get();
    current_.store(value, std::memory_order_release);
  }

 private:
  std::atomic<const T*> current_{nullptr};
  std::mutex lock_;
  std::vector<std::unique_ptr<const T>> kept_;
};

// Never destroyed: memory may go back while the process ends.
std::array<Published<Allocator>, 2>& allocators() {
  static auto& all = *new std::array<Published<Allocator>, 2>;
  return all;
}
Published<Executor>& executors() {
  static auto& all = *new Published<Executor>;
  return all;
}

}  // namespace

void set_allocator(DeviceKind kind, const Allocator& allocator) {
  check_enum(kind, DeviceKind::cuda, "kind");
  const bool given = allocator.allocate != nullptr;
  WEFT_CHECK(given == (allocator.deallocate != nullptr), invalid_argument,
             "allocator has {} but no {}: expected both, or none for weft's own memory",
             given ? "allocate" : "deallocate", given ? "deallocate" : "allocate");
  allocators()[static_cast<std::size_t>(kind)].set(given ? &allocator : nullptr);
}
const Allocator* allocator_of(DeviceKind kind) { return allocators()[static_cast<std::size_t>(kind)].get(); }

void set_executor(const Executor& given) { executors().set(given.run != nullptr ? &given : nullptr); }
const Executor* executor() { return executors().get(); }

}  // namespace weft
