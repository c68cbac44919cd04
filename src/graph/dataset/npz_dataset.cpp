// Datasets in one .npz: gnn-benchmark's arrays (adj_*, attr_* or attr_matrix, labels or labels_*), and the lists of
// nodes train_idx, val_idx and test_idx that some add to them. adj is scipy's: row = source, column = target, as the
// datasets' own loaders take it.
#include <algorithm>

#include "core/check.hpp"
#include "graph/dataset/npz_rows.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/format.hpp"
#include "graph/io/npz_arrays.hpp"
#include "graph/io/scipy_matrix.hpp"

namespace weft::io {
namespace {

/// Rows of the graph are targets: what the file calls columns, of which it need not hold as many as it declares.
Graph read_adj(const NpzArrays& arrays, std::size_t file_bytes) {
  const Graph by_source = read_scipy_matrix(arrays, file_bytes, "adj_");
  if (!by_source.is_square()) check_nodes_against_size(by_source.num_rows(), by_source.num_cols(), file_bytes);
  return by_source.transpose();
}

void read_graph_of(const NpzArrays& arrays, std::size_t file_bytes, Dataset& data) {
  data.graph = read_adj(arrays, file_bytes);
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

void read_labels(const NpzArrays& arrays, Dataset& data) {
  if (arrays.has("labels")) {
    data.labels = tensor_of(arrays.node_ids("labels"), "labels");
    data.classes = classes_in(data.labels);
  } else if (arrays.has("labels_indptr")) {
    const SparseRows rows = read_sparse_rows(arrays, "labels_");
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
  read_graph_of(arrays, source.bytes.size(), data);
  if (options.graph_only) return data;
  if (arrays.has("attr_matrix"))
    data.features = arrays.matrix("attr_matrix");
  else if (arrays.has("attr_indptr"))
    data.sparse_features = read_sparse_rows(arrays, "attr_");
  read_labels(arrays, data);
  const auto split = [&](const char* key) { return arrays.has(key) ? tensor_of(arrays.node_ids(key), key) : Tensor(); };
  data.train = split("train_idx");
  data.val = split("val_idx");
  data.test = split("test_idx");
  return data;
}

}  // namespace

const Format& npz_dataset_format() {
  static const Format format{.name = "npz dataset",
                             .description = "gnn-benchmark .npz",
                             .sniff = &sniff_npz_dataset,
                             .read = &read_npz_dataset};
  return format;
}

}  // namespace weft::io
