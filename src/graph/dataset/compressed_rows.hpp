// Sparse matrices as scipy holds them, on their way to the features or labels of a dataset.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "core/memory.hpp"
#include "weft/dataset.hpp"

namespace weft::io {

/// Columns of a row are in any order.
struct CompressedRows {
  std::int64_t rows = 0, cols = 0;
  Buffer<std::int64_t> offsets;
  Buffer<std::int32_t> columns;
  Buffer<float> values;  // empty: every entry is 1

  float value(std::size_t k) const { return values.empty() ? 1.0f : values[k]; }
};

/// An Error unless offsets and columns hold together; arrays are called PREFIXindptr and PREFIXindices.
void check(const CompressedRows& matrix, std::string_view prefix);

struct RowPlace {
  const CompressedRows* matrix = nullptr;  // null: an empty row
  std::int64_t row = 0;
};
/// Rows put together from checked matrices of `cols` columns, each sorted, without its zeros. `of` must be all the
/// matrices that place(row) names; each of their rows is named at most once.
SparseRows sparse_rows(std::int64_t rows, std::int64_t cols, std::span<const CompressedRows* const> of,
                       const std::function<RowPlace(std::int64_t row)>& place);

}  // namespace weft::io
