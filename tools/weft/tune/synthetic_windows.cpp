#include "tune/synthetic_windows.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "graph/generate/random.hpp"

namespace weft::tool {
namespace {

using generator::Random;
using generator::Stream;

constexpr std::int64_t patterns = 8;

/// Non-zeros of a window by row, columns ascending.
struct Pattern {
  std::vector<std::int64_t> offsets;  // [rows + 1]
  std::vector<std::int32_t> columns;  // [non-zeros] 0 to columns - 1

  Pattern(const SyntheticWindow& window, std::int64_t index) {
    const std::int64_t cells = window.rows * window.columns;
    std::vector<char> taken(static_cast<std::size_t>(cells), 0);  // [rows, columns]
    Random random(window.seed, Stream::window, static_cast<std::uint64_t>(index));
    const auto below = [&](std::int64_t limit) {
      return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(limit)));
    };
    for (std::int64_t c = 0; c < window.columns; ++c)
      taken[static_cast<std::size_t>(below(window.rows) * window.columns + c)] = 1;
    for (std::int64_t left = window.nonzeros - window.columns; left > 0;) {
      char& cell = taken[static_cast<std::size_t>(below(cells))];
      left -= cell == 0;
      cell = 1;
    }
    offsets.push_back(0);
    for (std::int64_t r = 0; r < window.rows; ++r) {
      for (std::int64_t c = 0; c < window.columns; ++c)
        if (taken[static_cast<std::size_t>(r * window.columns + c)] != 0)
          columns.push_back(static_cast<std::int32_t>(c));
      offsets.push_back(std::ssize(columns));
    }
  }
};

/// Element i of a sequence that covers the unit square evenly, whatever its length: multiples of the powers of 1 / p
/// with p^3 = p + 1, shifted by the seed. A few windows then tell as much as many that are drawn by chance.
struct Point {
  double x, y;
};
Point point_of(std::uint64_t seed, int i) {
  const auto shifted = [&](double step, std::uint64_t axis) {
    const double shift = static_cast<double>(generator::element(seed, axis) >> 11) * 0x1p-53;
    const double at = shift + step * i;
    return at - std::floor(at);
  };
  return {shifted(0.7548776662466927, 0), shifted(0.5698402909980532, 1)};
}

struct Arrays {
  std::vector<EdgeId> offsets;
  std::vector<NodeId> cols;
};

}  // namespace

std::vector<SyntheticWindow> synthetic_windows(int rows, int count, std::uint64_t seed) {
  const std::uint64_t key = generator::sequence_key(seed, Stream::window, static_cast<std::uint64_t>(rows));
  std::vector<SyntheticWindow> windows;
  for (int i = 0; i < count; ++i) {
    const Point at = point_of(key, i);
    SyntheticWindow window{rows, 1, 1, generator::element(key, static_cast<std::uint64_t>(i) + 2)};
    if (rows == 16) {
      window.columns = 1 + static_cast<std::int64_t>(130 * at.x);
      window.nonzeros = window.columns + static_cast<std::int64_t>(static_cast<double>(14 * window.columns + 1) * at.y);
    } else {
      window.columns = std::llround(std::pow(512, at.x));
      window.nonzeros = std::llround(static_cast<double>(window.columns) * std::pow(32, at.y));
    }
    windows.push_back(window);
  }
  return windows;
}

std::int64_t windows_of_a_graph(int rows) { return rows == 16 ? 8192 : rows == 64 ? 4096 : 2048; }

Graph graph_of_windows(const SyntheticWindow& window, std::int64_t windows) {
  const std::int64_t nodes = windows * window.rows;
  WEFT_CHECK(window.columns >= 1 && window.columns <= nodes && window.nonzeros >= window.columns &&
                 window.nonzeros <= window.columns * window.rows,
             invalid_argument, "a window of {} rows, {} columns and {} non-zeros in a graph of {} nodes cannot be",
             window.rows, window.columns, window.nonzeros, nodes);
  std::vector<Pattern> made;
  for (std::int64_t i = 0; i < std::min(patterns, windows); ++i) made.emplace_back(window, i);
  auto arrays = std::make_shared<Arrays>();
  arrays->offsets.resize(static_cast<std::size_t>(nodes) + 1);
  arrays->cols.resize(static_cast<std::size_t>(windows * window.nonzeros));
  const std::uint64_t key = generator::sequence_key(window.seed, Stream::window, patterns);
  parallel_ranges(default_threads(), windows, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<NodeId> nodes_of(static_cast<std::size_t>(window.columns));
    for (std::int64_t w = begin; w < end; ++w) {
      const Pattern& pattern = made[static_cast<std::size_t>(w % patterns)];
      // One of every stretch of nodes: different ones, in order.
      for (std::int64_t c = 0; c < window.columns; ++c) {
        const std::int64_t low = c * nodes / window.columns, high = (c + 1) * nodes / window.columns;
        const auto word = generator::element(key, static_cast<std::uint64_t>(w * window.columns + c));
        nodes_of[static_cast<std::size_t>(c)] = static_cast<NodeId>(
            low + static_cast<std::int64_t>(generator::scale_below(word, static_cast<std::uint64_t>(high - low))));
      }
      for (std::int64_t r = 0; r < window.rows; ++r)
        arrays->offsets[static_cast<std::size_t>(w * window.rows + r)] =
            w * window.nonzeros + pattern.offsets[static_cast<std::size_t>(r)];
      std::ranges::transform(pattern.columns, arrays->cols.begin() + w * window.nonzeros,
                             [&](std::int32_t c) { return nodes_of[static_cast<std::size_t>(c)]; });
    }
  });
  arrays->offsets.back() = windows * window.nonzeros;
  return Graph::adopt(nodes, nodes, arrays->offsets, arrays->cols, {}, arrays, Validate::trusted);
}

}  // namespace weft::tool
