// A series as a curve of plain characters, for any terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weft::tool {

struct CurveSize {
  int columns = 60, rows = 10;  // of the curve itself
  int line = 0;                 // characters a line may have, with the numbers beside the curve; 0: any
};

/// Rows of text, each with its end: the values over `first`, `first` + 1, ..., the highest and the lowest written
/// beside. More values than columns are averaged; what is not finite leaves a gap. Empty where nothing is finite.
std::string curve_text(const std::vector<double>& values, std::int64_t first = 1, CurveSize size = {});

}  // namespace weft::tool
