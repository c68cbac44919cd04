#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "core/check.hpp"
#include "core/device.hpp"
#include "core/dispatch.hpp"
#include "core/memory.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/graph_internals.hpp"
#include "graph/scan.hpp"
#include "weft/graph.hpp"

namespace weft {
namespace {

/// The largest count a type can say without turning it into infinity or wrapping.
std::int64_t largest_count(Dtype dtype) {
  switch (dtype) {
    case Dtype::f16: return 65504;
    case Dtype::i32: return std::numeric_limits<std::int32_t>::max();
    default: return std::numeric_limits<std::int64_t>::max();
  }
}

[[noreturn]] void fail_limit(Dtype dtype, std::int64_t limit, std::int64_t row, std::int64_t degree) {
  fail(ErrorCode::invalid_argument, "dtype {} holds counts up to {}, but row {} has degree {}: ask for f32 or i64",
       name(dtype), limit, row, degree);
}

Tensor degrees_on_device(const GraphView& view, Device device, Dtype dtype, CUstream_st* stream) {
  const std::int64_t limit = largest_count(dtype);
  if (limit < view.num_edges) {
    const std::int64_t row = cuda::first_degree_over(device, stream, view.offsets, view.num_rows, limit);
    if (row < view.num_rows) {
      EdgeId ends[2];
      copy_bytes(Device{}, ends, device, view.offsets + row, sizeof(ends), stream);
      fail_limit(dtype, limit, row, ends[1] - ends[0]);
    }
  }
  Tensor result = Tensor::empty(Shape(view.num_rows), dtype, "degrees of a graph", device, stream);
  cuda::write_degrees(device, stream, view.offsets, view.num_rows, dtype, result.view().mutable_data());
  return result;
}

// Integers only, so that the order in which threads add theirs does not show.
struct Totals {
  std::int64_t min = std::numeric_limits<std::int64_t>::max(), max = 0;
  unsigned __int128 squares = 0;
  std::vector<std::int64_t> histogram = std::vector<std::int64_t>(65, 0);

  void add(std::int64_t degree) {
    min = std::min(min, degree);
    max = std::max(max, degree);
    squares += static_cast<unsigned __int128>(degree) * static_cast<unsigned __int128>(degree);
    ++histogram[static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(degree)))];
  }
  void add(const Totals& other) {
    min = std::min(min, other.min);
    max = std::max(max, other.max);
    squares += other.squares;
    for (std::size_t i = 0; i < histogram.size(); ++i) histogram[i] += other.histogram[i];
  }
};

}  // namespace

Tensor Graph::degrees(Dtype dtype, CUstream_st* stream) const {
  if (device().kind != DeviceKind::cpu)
    return degrees_on_device(GraphInternals::view_without_ids(*this), device(), dtype, stream);
  const std::int64_t rows = num_rows();
  const EdgeId* offset = offsets().data();
  const std::int64_t limit = largest_count(dtype);
  const std::int64_t row = find_first(rows, [=](std::int64_t v) { return offset[v + 1] - offset[v] > limit; });
  if (row < rows) fail_limit(dtype, limit, row, offset[row + 1] - offset[row]);
  Tensor result = Tensor::empty(Shape(rows), dtype, "degrees of a graph");
  with_any_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    parallel_ranges(default_threads(), rows, scan_grain,
                    [=, out = result.span<T>().data()](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t v = begin; v < end; ++v) out[v] = convert<T>(offset[v + 1] - offset[v]);
                    });
  });
  return result;
}

DegreeStats Graph::degree_stats() const {
  const std::int64_t rows = num_rows();
  if (rows == 0) return {};
  const EdgeId* offset = offsets().data();
  Buffer<std::int64_t> degree(static_cast<std::size_t>(rows), "degrees of a graph");
  Totals totals;
  std::mutex lock;
  parallel_ranges(default_threads(), rows, scan_grain, [&](std::int64_t begin, std::int64_t end) {
    Totals mine;
    for (std::int64_t v = begin; v < end; ++v) {
      degree[static_cast<std::size_t>(v)] = offset[v + 1] - offset[v];
      mine.add(offset[v + 1] - offset[v]);
    }
    const std::lock_guard guard(lock);
    totals.add(mine);
  });

  DegreeStats stats;
  stats.min = totals.min;
  stats.max = totals.max;
  stats.empty = totals.histogram[0];
  stats.histogram.assign(totals.histogram.begin(),
                         totals.histogram.begin() + std::bit_width(static_cast<std::uint64_t>(totals.max)) + 1);
  const auto n = static_cast<unsigned __int128>(rows);
  const auto edges = static_cast<unsigned __int128>(num_edges());
  stats.mean = static_cast<double>(num_edges()) / static_cast<double>(rows);
  stats.stddev = std::sqrt(static_cast<double>(n * totals.squares - edges * edges)) / static_cast<double>(rows);

  // Nearest rank: the smallest degree that at least this share of the rows does not pass.
  std::int64_t* first = degree.begin();
  const auto at_share = [&](std::int64_t percent) {
    std::int64_t* place = degree.begin() + (rows * percent + 99) / 100 - 1;
    if (place >= first) std::nth_element(first, place, degree.end());
    first = place + 1;
    return *place;
  };
  stats.median = at_share(50);
  stats.p90 = at_share(90);
  stats.p99 = at_share(99);
  return stats;
}

}  // namespace weft
