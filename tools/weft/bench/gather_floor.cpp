#include "bench/gather_floor.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "bench/cuda/measure.hpp"
#include "core/memory.hpp"
#include "core/parallel.hpp"

namespace weft::tool {
namespace {

// As wide as the widest vectors around; compilers cut it into what the target has.
using Vec = std::uint32_t __attribute__((vector_size(64), aligned(1), may_alias));
using Quarter = std::uint32_t __attribute__((vector_size(16), aligned(1), may_alias));

struct Range {
  const NodeId* cols;
  std::int64_t begin, end, all;  // of edges; `all` bounds how far prefetching may look
  const std::byte* base;
  std::int64_t row_bytes;
  int ahead;
};

inline __attribute__((always_inline)) Quarter load_tail(const std::byte* at, std::int64_t bytes) {
  Quarter tail{};
  std::memcpy(&tail, at, static_cast<std::size_t>(bytes));
  return tail;
}

// Four accumulators hide the latency of the additions.
inline __attribute__((always_inline)) void add_row(const std::byte* row, std::int64_t bytes, Vec (&sum)[4],
                                                   Quarter& tail) {
  std::int64_t at = 0;
  for (; at + 256 <= bytes; at += 256)
    for (int i = 0; i < 4; ++i) sum[i] += *reinterpret_cast<const Vec*>(row + at + 64 * i);
  for (; at + 64 <= bytes; at += 64) sum[at / 64 % 4] += *reinterpret_cast<const Vec*>(row + at);
  for (; at + 16 <= bytes; at += 16) tail += *reinterpret_cast<const Quarter*>(row + at);
  if (at == bytes) return;
  // A last load that overlaps what was read; rows shorter than a vector are read as they are.
  tail += bytes >= 16 ? *reinterpret_cast<const Quarter*>(row + bytes - 16) : load_tail(row, bytes);
}

inline __attribute__((always_inline)) std::uint32_t folded(const Vec (&sum)[4], const Quarter& tail) {
  const Vec all = sum[0] + sum[1] + sum[2] + sum[3];
  std::uint32_t result = tail[0] + tail[1] + tail[2] + tail[3];
  for (int i = 0; i < 16; ++i) result += all[i];
  return result;
}

template <std::int64_t Bytes>  // 0: known only at run time
inline __attribute__((always_inline)) std::uint32_t gather_fixed(const Range& range) {
  const std::int64_t bytes = Bytes > 0 ? Bytes : range.row_bytes;
  Vec sum[4] = {};
  Quarter tail{};
  const std::int64_t sure =
      range.ahead > 0 ? std::max(range.begin, std::min(range.end, range.all - range.ahead)) : range.begin;
  for (std::int64_t k = range.begin; k < sure; ++k) {
    const std::byte* next = range.base + std::int64_t{range.cols[k + range.ahead]} * bytes;
    for (std::int64_t line = 0; line < bytes; line += 64) __builtin_prefetch(next + line);
    add_row(range.base + std::int64_t{range.cols[k]} * bytes, bytes, sum, tail);
  }
  for (std::int64_t k = sure; k < range.end; ++k)
    add_row(range.base + std::int64_t{range.cols[k]} * bytes, bytes, sum, tail);
  return folded(sum, tail);
}

inline __attribute__((always_inline)) std::uint32_t gather_any(const Range& range) {
  switch (range.row_bytes) {
    case 4: return gather_fixed<4>(range);
    case 8: return gather_fixed<8>(range);
    case 16: return gather_fixed<16>(range);
    case 32: return gather_fixed<32>(range);
    case 64: return gather_fixed<64>(range);
    case 128: return gather_fixed<128>(range);
    case 256: return gather_fixed<256>(range);
    case 512: return gather_fixed<512>(range);
    default: return gather_fixed<0>(range);
  }
}

inline __attribute__((always_inline)) std::uint32_t stream_any(const std::byte* data, std::int64_t bytes) {
  Vec sum[4] = {};
  Quarter tail{};
  add_row(data, bytes, sum, tail);
  return folded(sum, tail);
}

// The same code once a vector width: the floor must not be slow because the build is portable.
std::uint32_t gather_portable(const Range& range) { return gather_any(range); }
std::uint32_t stream_portable(const std::byte* data, std::int64_t bytes) { return stream_any(data, bytes); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) std::uint32_t gather_avx2(const Range& range) { return gather_any(range); }
__attribute__((target("avx512f,avx512bw"))) std::uint32_t gather_avx512(const Range& range) {
  return gather_any(range);
}
__attribute__((target("avx2"))) std::uint32_t stream_avx2(const std::byte* data, std::int64_t bytes) {
  return stream_any(data, bytes);
}
__attribute__((target("avx512f,avx512bw"))) std::uint32_t stream_avx512(const std::byte* data, std::int64_t bytes) {
  return stream_any(data, bytes);
}
#endif

std::uint32_t gather(const Range& range) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) return gather_avx512(range);
  if (__builtin_cpu_supports("avx2")) return gather_avx2(range);
#endif
  return gather_portable(range);
}

std::uint32_t stream(const std::byte* data, std::int64_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) return stream_avx512(data, bytes);
  if (__builtin_cpu_supports("avx2")) return stream_avx2(data, bytes);
#endif
  return stream_portable(data, bytes);
}

std::int64_t border(std::int64_t count, std::int64_t pieces, std::int64_t i) {
  return count / pieces * i + std::min(i, count % pieces);
}

class HostFloor final : public GatherFloor {
 public:
  HostFloor(FloorJob job, int threads);
  void run() override { pass(ahead_); }

 private:
  /// `ahead` edges are prefetched, 0 for none.
  void pass(int ahead);
  int best_ahead();

  FloorJob job_;
  int threads_, ahead_ = 0;
  Buffer<std::byte> out_;
  std::vector<std::uint32_t> sums_;  // one per task: keeps the loads alive
};

HostFloor::HostFloor(FloorJob job, int threads)
    : job_(std::move(job)), threads_(threads), out_(job_.written_bytes, "the gather floor's output") {
  const std::int64_t tasks = std::clamp<std::int64_t>(job_.graph.num_edges / 1024, 1, std::int64_t{threads} * 16);
  sums_.assign(static_cast<std::size_t>(tasks), 0);
  ahead_ = best_ahead();
}

void HostFloor::pass(int ahead) {
  const auto tasks = static_cast<std::int64_t>(sums_.size());
  parallel_tasks(threads_, tasks, [&](std::int64_t task, int) {
    std::uint32_t sum = 0;
    for (const FloorJob::Rows& rows : job_.gathered)
      sum += gather({job_.graph.cols, border(job_.graph.num_edges, tasks, task),
                     border(job_.graph.num_edges, tasks, task + 1), job_.graph.num_edges,
                     static_cast<const std::byte*>(rows.base), rows.row_bytes, ahead});
    for (const FloorJob::Rows& rows : job_.streamed) {
      const std::int64_t begin = border(rows.row_bytes, tasks, task), end = border(rows.row_bytes, tasks, task + 1);
      sum += stream(static_cast<const std::byte*>(rows.base) + begin, end - begin);
    }
    sums_[static_cast<std::size_t>(task)] = sum;
    const auto size = static_cast<std::int64_t>(out_.size());
    const std::int64_t begin = border(size, tasks, task), end = border(size, tasks, task + 1);
    if (end > begin)
      std::memset(out_.data() + begin, static_cast<int>(sum & 0xff), static_cast<std::size_t>(end - begin));
  });
}

int HostFloor::best_ahead() {
  if (job_.gathered.empty()) return 0;
  using Clock = std::chrono::steady_clock;
  int best = 0;
  double fastest = std::numeric_limits<double>::infinity();
  pass(0);
  for (const int ahead : {0, 4, 8, 16, 32, 64}) {
    for (int trial = 0; trial < 3; ++trial) {
      const auto begun = Clock::now();
      pass(ahead);
      const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
      if (seconds < fastest) {
        fastest = seconds;
        best = ahead;
      }
    }
  }
  return best;
}

}  // namespace

double FloorJob::gathered_bytes() const {
  double bytes = 0;
  for (const Rows& rows : gathered) bytes += static_cast<double>(rows.row_bytes);
  return bytes * static_cast<double>(graph.num_edges);
}

std::unique_ptr<GatherFloor> make_gather_floor(const Context& context, FloorJob job) {
  if (context.device().kind == DeviceKind::cuda) return make_cuda_floor(context, std::move(job));
  return std::make_unique<HostFloor>(std::move(job), context.threads());
}

}  // namespace weft::tool
