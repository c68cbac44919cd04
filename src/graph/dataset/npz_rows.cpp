#include "graph/dataset/npz_rows.hpp"

#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "graph/dataset/compressed_rows.hpp"
#include "graph/io/format.hpp"

namespace weft::io {

SparseRows read_sparse_rows(const NpzArrays& arrays, const std::string& prefix) {
  CompressedRows m;
  const Buffer<std::int64_t> shape = arrays.integers(prefix + "shape");
  WEFT_CHECK(shape.size() == 2, invalid_file, "array '{}shape' has {} elements: expected 2, rows and columns", prefix,
             shape.size());
  m.rows = shape[0];
  m.cols = shape[1];
  check_counts(m.rows, m.cols, 0);
  m.offsets = arrays.integers(prefix + "indptr");
  WEFT_CHECK(static_cast<std::int64_t>(m.offsets.size()) == m.rows + 1, invalid_file,
             "array '{}indptr' has {} elements: expected {}, one more than there are rows", prefix, m.offsets.size(),
             m.rows + 1);
  m.columns = arrays.node_ids(prefix + "indices");
  check(m, prefix);
  if (arrays.has(prefix + "data")) {
    const Tensor values = arrays.matrix(prefix + "data");
    WEFT_CHECK(values.shape().size() == static_cast<std::int64_t>(m.columns.size()), invalid_file,
               "array '{}data' has {} elements: expected {}", prefix, values.shape().size(), m.columns.size());
    m.values = Buffer<float>(m.columns.size(), "values of features");
    std::ranges::copy(values.span<float>(), m.values.begin());
  }
  return sparse_rows(m.rows, m.cols, std::array<const CompressedRows*, 1>{&m}, [&](std::int64_t row) {
    return RowPlace{&m, row};
  });
}

}  // namespace weft::io
