// Bodies of passes on a CPU: threads take ranges of what there is to do, and a team is one.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/parallel.hpp"

namespace weft::nn {

/// A team of one.
struct Solo {
  static constexpr int held = 0;
  static constexpr std::int64_t lane() { return 0; }
  static constexpr std::int64_t lanes() { return 1; }
  template <class V>
  V sum(V value) const {
    return value;
  }
  template <class V>
  V max(V value) const {
    return value;
  }
  template <class V>
  V min(V value) const {
    return value;
  }
  /// How many lanes before this one are `in`, and in all.
  static int rank(bool) { return 0; }
  static int count(bool in) { return in ? 1 : 0; }
};

struct CpuLoops {
  static constexpr std::int64_t grain = 1 << 13;  // elements a task at least
  int threads;

  template <class Body>
  void each(std::int64_t count, const char*, const Body& body) const {
    parallel_ranges(threads, count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(i);
    });
  }
  template <class Body>
  void teams(std::int64_t count, std::int64_t width, const char*, const Body& body) const {
    parallel_ranges(threads, count, grain / std::max<std::int64_t>(width, 1) + 1,
                    [&](std::int64_t begin, std::int64_t end) {
                      for (std::int64_t i = begin; i < end; ++i) body(Solo{}, i);
                    });
  }
};

}  // namespace weft::nn
