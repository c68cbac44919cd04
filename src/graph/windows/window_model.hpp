// Which windows of rows go to tensor cores, by a rule over the dense columns of each. HC-SpMM's selector is one: a
// logistic model, whose coefficients the planner looks up; all windows and none are others.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/anywhere.hpp"

namespace weft {

inline constexpr int window_step = 64;  // dense columns of a tile

/// Of one window: its dense columns, and the edges in them (parallel ones counted once).
struct WindowCounts {
  std::int32_t columns = 0, edges = 0;
  friend bool operator==(const WindowCounts&, const WindowCounts&) = default;
};

/// What the rule looks at. Logarithms, as times of both kinds of core are products of these.
struct WindowFeatures {
  double columns = 0;  // log2 of the dense columns
  double density = 0;  // log2 of the share of (row, dense column) pairs that are edges
  double fill = 0;     // log2 of the share of the tiles' columns that are dense columns: the others are padding

  /// Of a window with at least one dense column.
  WEFT_ANYWHERE static WindowFeatures of(WindowCounts counts, int rows) {
    const double columns = counts.columns, tiles = (counts.columns + window_step - 1) / window_step;
    return {std::log2(columns), std::log2(counts.edges / (rows * columns)), std::log2(columns / (tiles * window_step))};
  }
};

/// A window runs on tensor cores where the log odds are positive.
struct WindowModel {
  double bias = 1, columns = 0, density = 0, fill = 0;

  static constexpr WindowModel all() { return {1}; }
  static constexpr WindowModel none() { return {-1}; }

  WEFT_ANYWHERE double log_odds(WindowFeatures f) const {
    return bias + columns * f.columns + density * f.density + fill * f.fill;
  }
  WEFT_ANYWHERE bool keeps(WindowCounts counts, int rows) const {
    return counts.columns > 0 && log_odds(WindowFeatures::of(counts, rows)) > 0;
  }
  friend bool operator==(const WindowModel&, const WindowModel&) = default;
};

}  // namespace weft
