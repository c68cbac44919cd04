// How wide the place is that text is shown in, and bars that fit into it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace weft::tool {

/// Characters in a line: of the terminal that the file is, or else what the environment's COLUMNS says; 80 where
/// neither is known. At least 20.
int columns_of(std::FILE* file);

struct HistogramRow {
  std::string label;
  std::int64_t count = 0;
};
/// A line for every row: label, count, and a bar that is as long as the largest count's where they are equal. Any
/// count above 0 has at least one mark. No line is longer than `columns`.
std::vector<std::string> histogram_lines(const std::vector<HistogramRow>& rows, int columns);

}  // namespace weft::tool
