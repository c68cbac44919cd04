// The one place host memory for tensors, graphs and workspaces comes from. It counts, says what an
// allocation was for when it fails, and can be told to fail for tests.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <string_view>

namespace weft {

/// `count` elements of `element` bytes, 64-byte aligned, not initialised. Large blocks ask for huge
/// pages: random gathers over a table of several hundred MB otherwise spend their time on TLB misses.
void* allocate(std::size_t count, std::size_t element, std::string_view what);
void deallocate(void* memory) noexcept;

[[noreturn]] void fail_out_of_memory(std::string_view what);

/// f(); where a container of the standard library finds no memory, the caller sees an Error as from allocate.
template <class F>
auto or_out_of_memory(std::string_view what, F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_out_of_memory(what);
  }
}

/// Test hook: the n-th allocation from now fails (1 = the next); 0 switches it off.
void fail_allocation(std::size_t nth);

struct Deallocate {
  void operator()(void* memory) const noexcept { deallocate(memory); }
};

/// An owned array of plain values.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::size_t count, std::string_view what)
      : data_(static_cast<T*>(allocate(count, sizeof(T), what))), size_(count) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  std::unique_ptr<T[], Deallocate> data_;
  std::size_t size_ = 0;
};

}  // namespace weft
