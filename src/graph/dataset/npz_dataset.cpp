// Datasets in one .npz: gnn-benchmark's arrays (adj_*, attr_* or attr_matrix, labels or labels_*), and the lists of
// nodes train_idx, val_idx and test_idx that some add to them. adj is scipy's: row = source, column = target, as the
// datasets' own loaders take it.
#include <algorithm>
#include <cstring>

#include "core/check.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/format.hpp"
#include "graph/io/npz_arrays.hpp"

namespace weft::io {
namespace {

/// PREFIX_indptr, PREFIX_indices, PREFIX_shape and perhaps PREFIX_data.
struct Compressed {
  std::int64_t rows = 0, cols = 0;
  Buffer<std::int64_t> offsets;
  Buffer<std::int32_t> columns;
};

Compressed read_compressed(const NpzArrays& arrays, const std::string& prefix) {
  Compressed m;
  const Buffer<std::int64_t> shape = arrays.integers(prefix + "_shape");
  WEFT_CHECK(shape.size() == 2, invalid_file, "array '{}_shape' has {} elements: expected 2, rows and columns", prefix,
             shape.size());
  m.rows = shape[0];
  m.cols = shape[1];
  check_counts(m.rows, m.cols, 0);
  m.offsets = arrays.integers(prefix + "_indptr");
  WEFT_CHECK(static_cast<std::int64_t>(m.offsets.size()) == m.rows + 1, invalid_file,
             "array '{}_indptr' has {} elements: expected {}, one more than there are rows", prefix, m.offsets.size(),
             m.rows + 1);
  m.columns = arrays.node_ids(prefix + "_indices");
  return m;
}

void read_graph_of(const NpzArrays& arrays, Dataset& data) {
  const auto kept = std::make_shared<const Compressed>(read_compressed(arrays, "adj"));
  const Compressed& m = *kept;
  const Graph by_source = Graph::adopt(m.rows, m.cols, {m.offsets.data(), m.offsets.size()},
                                       {m.columns.data(), m.columns.size()}, {}, kept, Validate::full);
  // Rows of the graph are targets: what the file calls rows are its columns.
  data.graph = by_source.transpose();
  if (!arrays.has("adj_data")) return;
  data.values = arrays.values("adj_data");
  WEFT_CHECK(data.values.shape().rows == data.graph.num_edges(), invalid_file,
             "array 'adj_data' has {} elements: expected one for each of the {} entries", data.values.shape().rows,
             data.graph.num_edges());
  const auto is_one = [](const Tensor& values) {
    return values.dtype() == Dtype::f32 && std::ranges::all_of(values.span<float>(), [](float v) { return v == 1; });
  };
  if (is_one(data.values)) data.values = {};  // what scipy must write where there are none
}

/// Sorted within rows, entries of 0 left out, values left out where all are 1.
SparseRows sparse_rows(const NpzArrays& arrays, const std::string& prefix) {
  Compressed m = read_compressed(arrays, prefix);
  const auto entries = static_cast<std::int64_t>(m.columns.size());
  Tensor values = arrays.has(prefix + "_data") ? arrays.values(prefix + "_data").to(Dtype::f32) : Tensor();
  WEFT_CHECK(!values || values.shape().rows == entries, invalid_file, "array '{}_data' has {} elements: expected {}",
             prefix, values.shape().rows, entries);
  WEFT_CHECK(m.offsets[0] == 0 && m.offsets[static_cast<std::size_t>(m.rows)] == entries, invalid_file,
             "array '{}_indptr' runs from {} to {}: expected 0 to {}, the length of '{}_indices'", prefix, m.offsets[0],
             m.offsets[static_cast<std::size_t>(m.rows)], entries, prefix);
  SparseRows rows;
  rows.cols = m.cols;
  std::vector<std::pair<std::int32_t, float>> row;
  std::size_t kept = 0;
  bool all_ones = true;
  float* const value = values ? values.span<float>().data() : nullptr;
  for (std::size_t r = 0, at = 0; r < static_cast<std::size_t>(m.rows); ++r) {
    const std::int64_t end = m.offsets[r + 1];
    WEFT_CHECK(end >= static_cast<std::int64_t>(at) && end <= entries, invalid_file,
               "array '{}_indptr' goes from {} to {} at row {}: expected none to fall, and at most {}", prefix, at, end,
               r, entries);
    row.clear();
    for (; at < static_cast<std::size_t>(end); ++at) {
      WEFT_CHECK(m.columns[at] >= 0 && m.columns[at] < m.cols, invalid_file,
                 "array '{}_indices': element {} is {}: expected 0 to {}", prefix, at, m.columns[at], m.cols - 1);
      row.emplace_back(m.columns[at], value != nullptr ? value[at] : 1.0f);
    }
    std::ranges::sort(row, {}, &std::pair<std::int32_t, float>::first);
    for (const auto& [column, v] : row) {
      if (v == 0) continue;
      m.columns[kept] = column;  // never past what was read
      if (value != nullptr) value[kept] = v;
      all_ones = all_ones && v == 1;
      ++kept;
    }
    m.offsets[r + 1] = static_cast<std::int64_t>(kept);
  }
  rows.offsets = tensor_of(m.offsets, "offsets of features");
  rows.columns = Tensor::empty(Shape(static_cast<std::int64_t>(kept)), Dtype::i32, "columns of features");
  std::copy_n(m.columns.data(), kept, rows.columns.span<std::int32_t>().data());
  if (all_ones) return rows;
  rows.values = Tensor::empty(Shape(static_cast<std::int64_t>(kept)), Dtype::f32, "values of features");
  std::copy_n(value, kept, rows.values.span<float>().data());
  return rows;
}

void read_labels(const NpzArrays& arrays, Dataset& data) {
  if (arrays.has("labels")) {
    data.labels = tensor_of(arrays.node_ids("labels"), "labels");
    for (const std::int32_t label : data.labels.span<std::int32_t>())
      data.classes = std::max<std::int64_t>(data.classes, std::int64_t{label} + 1);
  } else if (arrays.has("labels_indptr")) {
    const SparseRows rows = sparse_rows(arrays, "labels");
    WEFT_CHECK(rows.rows() == data.num_nodes(), invalid_file, "array 'labels_shape' has {} rows for {} nodes",
               rows.rows(), data.num_nodes());
    // A class that nobody has costs the file nothing, and a float a node here.
    constexpr std::int64_t always = std::int64_t{1} << 22, cells_an_entry = 1024;
    std::int64_t cells = 0;
    WEFT_CHECK(!__builtin_mul_overflow(rows.rows(), rows.cols, &cells) &&
                   cells <= std::max(always, cells_an_entry * rows.entries()),
               invalid_file, "array 'labels_shape' declares {} classes for {} nodes, but only {} labels are there",
               rows.cols, rows.rows(), rows.entries());
    WEFT_CHECK(!rows.values, invalid_file, "array 'labels_data' has values other than 0 and 1");
    data.classes = rows.cols;
    data.labels = rows.dense();
  }
}

bool sniff_npz_dataset(const Source& source) {
  if (!source.text().starts_with("PK\x03\x04")) return false;
  try {
    const NpzArrays arrays(source.bytes, {});
    return arrays.has("adj_indptr") && arrays.has("adj_indices");
  } catch (const Error&) {
    return false;  // its reader says what is wrong
  }
}

Dataset read_npz_dataset(const Source& source, const ReadOptions& options) {
  const NpzArrays arrays(source.bytes, options.progress);
  Dataset data;
  read_graph_of(arrays, data);
  if (options.graph_only) return data;
  if (arrays.has("attr_matrix"))
    data.features = arrays.matrix("attr_matrix");
  else if (arrays.has("attr_indptr"))
    data.sparse_features = sparse_rows(arrays, "attr");
  read_labels(arrays, data);
  const auto split = [&](const char* key) { return arrays.has(key) ? tensor_of(arrays.node_ids(key), key) : Tensor(); };
  data.train = split("train_idx");
  data.val = split("val_idx");
  data.test = split("test_idx");
  return data;
}

}  // namespace

const Format& npz_dataset_format() {
  static const Format format{"npz dataset", {}, "gnn-benchmark .npz", &sniff_npz_dataset, &read_npz_dataset};
  return format;
}

}  // namespace weft::io
