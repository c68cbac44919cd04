#include "graph/dataset/compressed_rows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/check.hpp"

namespace weft::io {

void check(const CompressedRows& m, std::string_view prefix) {
  const auto entries = static_cast<std::int64_t>(m.columns.size());
  const auto rows = static_cast<std::size_t>(m.rows);
  WEFT_CHECK(m.offsets[0] == 0 && m.offsets[rows] == entries, invalid_file,
             "array '{}indptr' runs from {} to {}: expected 0 to {}, the length of '{}indices'", prefix, m.offsets[0],
             m.offsets[rows], entries, prefix);
  for (std::size_t r = 0; r < rows; ++r)
    WEFT_CHECK(m.offsets[r] <= m.offsets[r + 1], invalid_file,
               "array '{}indptr' goes from {} to {} at row {}: expected none to fall", prefix, m.offsets[r],
               m.offsets[r + 1], r);
  for (std::size_t k = 0; k < m.columns.size(); ++k)
    WEFT_CHECK(m.columns[k] >= 0 && m.columns[k] < m.cols, invalid_file,
               "element {} of array '{}indices' is {}: expected 0 to {}", k, prefix, m.columns[k], m.cols - 1);
}

SparseRows sparse_rows(std::int64_t rows, std::int64_t cols, std::span<const CompressedRows* const> of,
                       const std::function<RowPlace(std::int64_t row)>& place) {
  std::int64_t entries = 0;
  bool all_ones = true;
  for (const CompressedRows* m : of)
    for (std::size_t k = 0; k < m->columns.size(); ++k) {
      entries += m->value(k) != 0;
      all_ones = all_ones && (m->value(k) == 0 || m->value(k) == 1);
    }
  SparseRows result;
  result.cols = cols;
  result.offsets = Tensor::zeros(Shape(rows + 1), Dtype::i64, "offsets of features");
  result.columns = Tensor::empty(Shape(entries), Dtype::i32, "columns of features");
  if (!all_ones) result.values = Tensor::empty(Shape(entries), Dtype::f32, "values of features");
  const auto offsets = result.offsets.span<std::int64_t>();
  std::int32_t* const columns = result.columns.span<std::int32_t>().data();
  float* const values = all_ones ? nullptr : result.values.span<float>().data();
  std::vector<std::pair<std::int32_t, float>> sorted;
  std::int64_t at = 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    sorted.clear();
    if (const RowPlace from = place(r); from.matrix != nullptr) {
      const CompressedRows& m = *from.matrix;
      const auto end = static_cast<std::size_t>(m.offsets[static_cast<std::size_t>(from.row) + 1]);
      for (auto k = static_cast<std::size_t>(m.offsets[static_cast<std::size_t>(from.row)]); k < end; ++k)
        if (m.value(k) != 0) sorted.emplace_back(m.columns[k], m.value(k));
      std::ranges::sort(sorted, {}, &std::pair<std::int32_t, float>::first);
    }
    for (const auto& [column, value] : sorted) {
      columns[at] = column;
      if (values != nullptr) values[at] = value;
      ++at;
    }
    offsets[static_cast<std::size_t>(r) + 1] = at;
  }
  return result;
}

}  // namespace weft::io
