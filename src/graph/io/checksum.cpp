#include "graph/io/checksum.hpp"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "core/parallel.hpp"

namespace weft::io {

std::uint32_t checksum(std::span<const std::byte> bytes, const std::function<void(std::int64_t)>& tick) {
  constexpr std::size_t chunk = std::size_t{4} << 20;
  const std::size_t chunks = (bytes.size() + chunk - 1) / chunk;
  std::vector<uLong> sums(chunks);
  std::atomic<std::int64_t> done{0};
  const auto piece = [&](std::int64_t i) {
    return bytes.subspan(static_cast<std::size_t>(i) * chunk,
                         std::min(chunk, bytes.size() - static_cast<std::size_t>(i) * chunk));
  };
  parallel_tasks(default_threads(), static_cast<std::int64_t>(chunks), [&](std::int64_t i, int thread) {
    const auto part = piece(i);
    sums[static_cast<std::size_t>(i)] =
        ::crc32(::crc32(0, nullptr, 0), reinterpret_cast<const Bytef*>(part.data()), static_cast<uInt>(part.size()));
    const auto size = static_cast<std::int64_t>(part.size());
    const std::int64_t sum = done.fetch_add(size) + size;
    if (thread == 0 && sum < static_cast<std::int64_t>(bytes.size()) && tick) tick(sum);
  });
  if (tick) tick(static_cast<std::int64_t>(bytes.size()));
  uLong all = ::crc32(0, nullptr, 0);
  for (std::size_t i = 0; i < chunks; ++i)
    all = ::crc32_combine(all, sums[i], static_cast<z_off_t>(piece(static_cast<std::int64_t>(i)).size()));
  return static_cast<std::uint32_t>(all);
}

}  // namespace weft::io
