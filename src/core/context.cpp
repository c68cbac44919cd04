#include "weft/context.hpp"

#include <cstdint>
#include <limits>
#include <optional>

#include "core/check.hpp"
#include "core/device.hpp"
#include "core/operator_timer.hpp"
#include "core/parallel.hpp"

namespace weft {

void* Arena::take_bytes(std::size_t count, std::size_t element, std::string_view what) {
  constexpr std::size_t limit = std::numeric_limits<std::ptrdiff_t>::max();
  const std::size_t begin = (used_ + alignment - 1) & ~(alignment - 1);
  WEFT_CHECK(count <= (limit - begin) / element, invalid_argument,
             "a workspace cannot hold {} elements of {} bytes for {}: more than the address space holds", count,
             element, what);
  const std::size_t end = begin + count * element;
  WEFT_CHECK(counting() || end <= capacity_, invalid_argument,
             "the context's workspace holds {} bytes, but {} ends at byte {}: call Context::reserve with the plan's "
             "workspace_bytes first, or borrow as much",
             capacity_, what, end);
  used_ = end;
  if (counting()) return nullptr;
  return base_ + begin;
}

namespace {

/// Memory to carve from, which begins at a multiple of Arena::alignment.
struct Workspace {
  std::byte* base = nullptr;
  std::size_t capacity = 0;

  static Workspace in(std::span<std::byte> memory) {
    const std::size_t past = reinterpret_cast<std::uintptr_t>(memory.data()) % Arena::alignment;
    const std::size_t left_out = past == 0 ? 0 : Arena::alignment - past;
    if (memory.size() <= left_out) return {};
    return {memory.data() + left_out, memory.size() - left_out};
  }
};

}  // namespace

struct Context::State {
  Device device;
  int threads = 1;
  CUstream_st* stream = nullptr;
  DeviceBuffer reserved_memory;
  Workspace reserved;
  std::optional<Workspace> borrowed;
  std::unique_ptr<OperatorTimer> timer;
  std::int64_t expected_runs = 1;
};

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Context Context::cpu(int threads) {
  WEFT_CHECK(threads >= 0 && threads <= 4096, invalid_argument,
             "threads is {}: expected 0 (every core) or a count up to 4096", threads);
  auto state = std::make_unique<State>();
  state->threads = threads > 0 ? threads : default_threads();
  return Context(std::move(state));
}

Context Context::cuda(int index, CUstream_st* stream) {
  require_cuda(index, "a context");
  auto state = std::make_unique<State>();
  state->device = {DeviceKind::cuda, index};
  state->stream = stream;
  return Context(std::move(state));
}

Context Context::best() {
  const std::vector<CudaDevice> gpus = cuda_devices();
  return gpus.empty() ? cpu() : cuda(gpus.front().index);
}

Context Context::on(Device device) { return device.kind == DeviceKind::cpu ? cpu() : cuda(device.index); }

Device Context::device() const { return state_->device; }
int Context::threads() const { return state_->threads; }
CUstream_st* Context::stream() const { return state_->stream; }
void Context::synchronise() const { weft::synchronise(state_->device, state_->stream); }

void Context::reserve(std::size_t bytes) {
  if (bytes <= state_->reserved.capacity) return;
  WEFT_CHECK(bytes <= std::numeric_limits<std::ptrdiff_t>::max(), out_of_memory,
             "cannot reserve a workspace of {} bytes: more than the address space holds", bytes);
  state_->reserved = {};
  state_->reserved_memory = {};  // give the old block back before asking for the larger one
  const std::size_t room = bytes + Arena::alignment;
  state_->reserved_memory = DeviceBuffer(state_->device, state_->stream, room, "the workspace of a context");
  state_->reserved = {Workspace::in({state_->reserved_memory.data(), room}).base, bytes};
}

void Context::borrow_workspace(std::span<std::byte> memory) {
  state_->borrowed = memory.data() != nullptr ? std::optional(Workspace::in(memory)) : std::nullopt;
}

void Context::time_operators(bool on) {
  state_->timer = on ? std::make_unique<OperatorTimer>(state_->device, state_->stream) : nullptr;
}
std::vector<OperatorTime> Context::operator_times() const {
  return state_->timer != nullptr ? state_->timer->times() : std::vector<OperatorTime>{};
}
OperatorTimer* Context::timer() const { return state_->timer.get(); }
std::unique_ptr<OperatorTimer>& TimedOperator::timer_of(Context& context) { return context.state_->timer; }

TimedScope::TimedScope(Context& context, bool on) : context_(context), on_(on) {
  if (!on_) return;
  before_ = std::move(TimedOperator::timer_of(context_));
  context_.time_operators(true);
}
TimedScope::~TimedScope() {
  if (on_) TimedOperator::timer_of(context_) = std::move(before_);
}

std::size_t Context::workspace_bytes() const { return state_->borrowed.value_or(state_->reserved).capacity; }

void Context::expect_runs(std::int64_t runs) {
  WEFT_CHECK(runs >= 1, invalid_argument, "runs is {}: expected at least 1", runs);
  state_->expected_runs = runs;
}
std::int64_t Context::expected_runs() const { return state_->expected_runs; }

Arena Context::arena() const {
  static std::byte nothing;  // a real address, so that an empty workspace does not look like counting
  const Workspace& from = state_->borrowed ? *state_->borrowed : state_->reserved;
  return {from.base != nullptr ? from.base : &nothing, from.capacity};
}

}  // namespace weft
