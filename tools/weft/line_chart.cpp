#include "line_chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "text.hpp"

namespace weft::tool {
namespace {

constexpr double width = 640, height = 320, left = 58, right = 26, top = 50, bottom = 44;
constexpr std::size_t most_points = 600;  // a line: about one a pixel

/// 1, 2 or 5 times a power of ten, at least `size`.
double nice_step(double size) {
  const double power = std::pow(10.0, std::floor(std::log10(size)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= size * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

struct Axis {
  double low = 0, high = 1;
  std::vector<double> ticks;
  double step = 1;

  double share(double value) const { return (value - low) / (high - low); }
};

/// As many decimals as the step has.
std::string tick_text(double value, double step) {
  if (std::fabs(value) >= 1e6 || step < 1e-6) return fmt::format("{:.3g}", value);
  const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return fmt::format("{:.{}f}", std::fabs(value) < step / 2 ? 0.0 : value, decimals);
}

/// Multiples of the step from one to the other.
std::vector<double> multiples(double low, double high, double step) {
  std::vector<double> ticks;
  for (double at = std::ceil(low / step - 1e-9); at * step <= high + 1e-9 * step && ticks.size() < 20; ++at)
    ticks.push_back(at * step);
  return ticks;
}

Axis y_axis(double low, double high, const LineChart& chart) {
  const double least = 1e-9 * std::max(std::fabs(low), std::fabs(high));
  if (high - low <= least) {  // level: room on both sides
    const double room = low == 0 ? 1 : std::fabs(low) / 10;
    low -= room;
    high += room;
  }
  Axis axis;
  axis.step = nice_step((high - low) / 5);
  axis.low = std::max(std::floor(low / axis.step + 1e-9) * axis.step, chart.lowest);
  axis.high = std::min(std::ceil(high / axis.step - 1e-9) * axis.step, chart.highest);
  if (axis.low >= axis.high) axis.high = axis.low + axis.step;
  axis.ticks = multiples(axis.low, axis.high, axis.step);
  return axis;
}

/// The first number has a tick too where there is room.
Axis x_axis(double first, double last, bool whole) {
  Axis axis{first, last, {}, 1};
  if (first == last) {
    axis.ticks = {first};
    axis.low -= 1;
    axis.high += 1;
    return axis;
  }
  axis.step = nice_step((last - first) / 8);
  if (whole) axis.step = std::max(1.0, axis.step);
  axis.ticks = multiples(first, last, axis.step);
  if (axis.ticks.empty() || axis.ticks.front() - first > axis.step / 2) axis.ticks.insert(axis.ticks.begin(), first);
  return axis;
}

/// Places in the picture, in its units.
struct Area {
  Axis x, y;
  double across(double value) const { return left + x.share(value) * (width - left - right); }
  double down(double value) const { return height - bottom - y.share(value) * (height - top - bottom); }
};

std::string axes_svg(const Area& area, const std::string& x_title) {
  std::string svg;
  for (const double tick : area.y.ticks) {
    const double y = area.down(tick);
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{}\" y1=\"{:.1f}\" x2=\"{}\" y2=\"{:.1f}\"/>"
        "<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
        left, y, width - right, y, left - 8, y + 4, tick_text(tick, area.y.step));
  }
  const double base = height - bottom;
  for (const double tick : area.x.ticks) {
    const double x = area.across(tick);
    svg += fmt::format(
        "<line class=\"axis\" x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\"/>"
        "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
        x, base, x, base + 5, x, base + 18,
        area.x.step < 1 ? tick_text(tick, area.x.step) : grouped(std::llround(tick)));
  }
  return svg + fmt::format(
                   "<line class=\"axis\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>"
                   "<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                   left, base, width - right, base, (left + width - right) / 2, height - 8, escaped(x_title));
}

std::string line_svg(const ChartSeries& series, const Area& area) {
  std::string svg, points;
  std::size_t stretch = 0;
  const auto finish = [&] {
    if (stretch == 0) return;
    points.pop_back();
    // A single point is a line to itself, which a round cap makes a dot of.
    if (stretch == 1) points += " " + points;
    svg += fmt::format("<polyline class=\"line{} s{}\" points=\"{}\"/>\n", stretch == 1 ? " dot" : "", series.colour,
                       points);
    points.clear();
    stretch = 0;
  };
  for (const ChartPoint& point : series.points) {
    if (!std::isfinite(point.y)) {
      finish();
      continue;
    }
    points += fmt::format("{:.1f},{:.1f} ", area.across(point.x), area.down(point.y));
    ++stretch;
  }
  finish();
  return svg;
}

struct Box {
  double left, top, right, bottom;
  bool meets(const Box& o) const { return left < o.right && o.left < right && top < o.bottom && o.top < bottom; }
};

/// A point's label: above it, or else below, right, left or further above, whichever first covers no point and no
/// label before.
class Labels {
 public:
  Labels(const std::vector<ChartSeries>& lines, const Area& area) : area_(area) {
    for (const ChartSeries& line : lines)
      for (const ChartPoint& point : line.points)
        if (shown(point)) taken_.push_back(around(area.across(point.x), area.down(point.y)));
  }

  std::string svg(const ChartSeries& line) {
    std::string svg;
    for (const ChartPoint& point : line.points) {
      if (!shown(point)) continue;
      const double x = area_.across(point.x), y = area_.down(point.y);
      const Place place = place_of(point.label, x, y);
      svg += fmt::format(
          "<circle class=\"ring s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"/>"
          "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
          line.colour, x, y, ring, place.x, place.y, place.anchor, escaped(point.label));
    }
    return svg;
  }

 private:
  static constexpr double ring = 3.5, letter = 7.5, line_height = 12, legend = 22;
  struct Place {
    double x, y;  // of the text's base line, where it is anchored
    const char* anchor;
  };

  static bool shown(const ChartPoint& point) { return !point.label.empty() && std::isfinite(point.y); }
  static Box around(double x, double y) { return {x - ring, y - ring, x + ring, y + ring}; }

  Place place_of(const std::string& label, double x, double y) {
    const double wide = letter * static_cast<double>(label.size()), beside = ring + 5;
    const auto above = [&](int lines) -> std::pair<Place, double> {
      return {{x, y - beside - lines * line_height, "middle"}, x - wide / 2};
    };
    const std::pair<Place, double> places[] = {above(0),  // and where the text begins
                                               {{x, y + beside + line_height - 3, "middle"}, x - wide / 2},
                                               {{x + beside, y + 4, "start"}, x + beside},
                                               {{x - beside, y + 4, "end"}, x - beside - wide},
                                               above(1),
                                               above(2),
                                               above(3)};
    for (const auto& [place, from] : places) {
      const Box box{from, place.y - line_height + 2, from + wide, place.y + 2};
      if (box.left < left || box.right > width || box.top < legend || box.bottom > height - bottom) continue;
      if (std::ranges::any_of(taken_, [&](const Box& other) { return other.meets(box); })) continue;
      taken_.push_back(box);
      return place;
    }
    return places[0].first;
  }

  const Area& area_;
  std::vector<Box> taken_;
};

std::string mark_svg(const LineChart& chart, const Area& area) {
  if (!std::isfinite(chart.mark) || chart.mark < area.x.low || chart.mark > area.x.high) return "";
  const double x = area.across(chart.mark);
  const char* const anchor = x < 0.15 * width ? "start" : x > 0.85 * width ? "end" : "middle";
  return fmt::format(
      "<line class=\"mark\" x1=\"{:.1f}\" y1=\"{}\" x2=\"{:.1f}\" y2=\"{}\"/>"
      "<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{}</text>\n",
      x, top - 4, x, height - bottom, x, top - 9, anchor, escaped(chart.mark_text));
}

bool measured(const ChartSeries& series) {
  return std::ranges::any_of(series.points, [](const ChartPoint& point) { return std::isfinite(point.y); });
}

std::string legend_svg(const LineChart& chart) {
  std::string svg;
  double x = left;
  for (const ChartSeries& series : chart.series) {
    if (!measured(series)) continue;
    svg += fmt::format(
        "<line class=\"line s{}\" x1=\"{}\" y1=\"14\" x2=\"{}\" y2=\"14\"/><text x=\"{}\" y=\"18\">{}</text>\n",
        series.colour, x, x + 18, x + 24, escaped(series.name));
    x += 24 + 7.5 * static_cast<double>(series.name.size()) + 20;
  }
  return svg;
}

}  // namespace

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most) {
  if (points.size() <= most || most == 0) return points;
  const std::size_t together = (points.size() + most - 1) / most;
  std::vector<ChartPoint> result;
  for (std::size_t begin = 0; begin < points.size(); begin += together) {
    const std::size_t end = std::min(begin + together, points.size());
    double x = 0, y = 0, count = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (!std::isfinite(points[i].y)) continue;
      ++count;
      x += (points[i].x - x) / count;
      y += (points[i].y - y) / count;
    }
    result.push_back(count > 0 ? ChartPoint{x, y} : points[begin]);
  }
  return result;
}

std::string to_svg(const LineChart& chart) {
  std::string svg =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\">\n<title>{}</title>\n", width, height, escaped(chart.title));
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::vector<ChartSeries> lines;
  for (const ChartSeries& series : chart.series) {
    lines.push_back({series.name, series.colour, thinned(series.points, most_points)});
    for (const ChartPoint& point : lines.back().points) {
      if (!std::isfinite(point.y)) continue;
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  if (low > high)
    return svg + fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">nothing was measured</text>\n</svg>\n",
                             width / 2, height / 2);
  const Area area{x_axis(chart.first, chart.last, chart.whole), y_axis(low, high, chart)};
  svg += axes_svg(area, chart.x_title) + legend_svg(chart);
  for (const ChartSeries& line : lines) svg += line_svg(line, area);
  Labels labels(lines, area);
  for (const ChartSeries& line : lines) svg += labels.svg(line);
  return svg + mark_svg(chart, area) + "</svg>\n";
}

}  // namespace weft::tool
