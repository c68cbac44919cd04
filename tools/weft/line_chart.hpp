// Lines over a number as one inline SVG: axes, ticks, a legend. Colours are the page's, by class: s0, s1, s2.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace weft::tool {

struct ChartPoint {
  double x = 0, y = 0;  // a y that is not finite is a gap
  std::string label{};  // written beside the point, which gets a ring; empty: neither
};

struct ChartSeries {
  std::string name;
  int colour = 0;
  std::vector<ChartPoint> points;  // joined in this order; x ascending where there are more than 600
};

struct LineChart {
  std::string title, x_title;
  double first = 0, last = 0;  // ends of the axis of x
  bool whole = true;           // x are whole numbers, and so are their ticks
  std::vector<ChartSeries> series;
  /// The axis of y ends at these, whatever the ticks would have it end at.
  double lowest = -std::numeric_limits<double>::infinity(), highest = std::numeric_limits<double>::infinity();
  double mark = std::numeric_limits<double>::quiet_NaN();  // x of a line from top to bottom, or none
  std::string mark_text;
};

/// Neighbours averaged until at most `most` are left.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most);
/// A polyline for every stretch of a series without gaps, and none for a series that is one gap.
std::string to_svg(const LineChart& chart);

}  // namespace weft::tool
