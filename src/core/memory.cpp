#include "core/memory.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <limits>
#include <new>

#include "core/check.hpp"
#include "core/embedding.hpp"
#include "weft/context.hpp"

namespace weft {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;

std::atomic<std::size_t> live{0}, peak{0}, allocations{0}, fail_in{0};

void count(std::size_t bytes) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  const std::size_t now = live.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  std::size_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
  }
}

bool told_to_fail() {
  std::size_t left = fail_in.load(std::memory_order_relaxed);
  while (left > 0 && !fail_in.compare_exchange_weak(left, left - 1, std::memory_order_relaxed)) {
  }
  return left == 1;
}

// It stands in front of the block, so that freeing can be counted, and goes to where the block came from.
struct Header {
  std::size_t bytes, whole;
  void* block;
  const Allocator* from;  // null: weft's own
};
static_assert(sizeof(Header) <= alignment);

void* take(const Allocator* from, std::size_t aligned_to, std::size_t whole) {
  if (from != nullptr) return from->allocate(from->self, Device{}, whole, nullptr);
  void* const block = std::aligned_alloc(aligned_to, whole);
  if (block != nullptr && aligned_to == huge_page) madvise(block, whole, MADV_HUGEPAGE);
  return block;
}

}  // namespace

void* allocate(std::size_t count_wanted, std::size_t element, std::string_view what) {
  constexpr std::size_t limit = std::numeric_limits<std::ptrdiff_t>::max();
  WEFT_CHECK(count_wanted <= (limit - 2 * huge_page) / element, out_of_memory,
             "cannot allocate {} elements of {} bytes for {}: more than the address space holds", count_wanted, element,
             what);
  const std::size_t bytes = count_wanted * element;
  const std::size_t aligned_to = bytes >= huge_page ? huge_page : alignment;
  const std::size_t whole = (bytes + alignment + aligned_to - 1) / aligned_to * aligned_to;
  const Allocator* const from = allocator_of(DeviceKind::cpu);
  void* block = told_to_fail() ? nullptr : take(from, aligned_to, whole);
  WEFT_CHECK(block != nullptr, out_of_memory, "out of memory: {} bytes asked for {}", bytes, what);
  auto* data = static_cast<std::byte*>(block) + alignment;
  new (data - sizeof(Header)) Header{bytes, whole, block, from};
  count(bytes);
  return data;
}

void fail_out_of_memory(std::string_view what) { fail(ErrorCode::out_of_memory, "out of memory for {}", what); }

void deallocate(void* memory) noexcept {
  if (memory == nullptr) return;
  const Header header = *reinterpret_cast<Header*>(static_cast<std::byte*>(memory) - sizeof(Header));
  live.fetch_sub(header.bytes, std::memory_order_relaxed);
  if (header.from != nullptr)
    header.from->deallocate(header.from->self, Device{}, header.block, header.whole, nullptr);
  else
    std::free(header.block);
}

void fail_allocation(std::size_t nth) { fail_in.store(nth, std::memory_order_relaxed); }

MemoryStats memory_stats() { return {live.load(), peak.load(), allocations.load()}; }
void reset_memory_peak() { peak.store(live.load()); }

}  // namespace weft
