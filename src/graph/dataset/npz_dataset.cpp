// Datasets in one .npz: gnn-benchmark's arrays (adj_*, attr_* or attr_matrix, labels or labels_*) or PyG's (edge_index,
// x, y), with splits as lists of nodes or as masks. adj is scipy's: row = source, column = target, as the datasets' own
// loaders take it.
#include <algorithm>

#include "core/check.hpp"
#include "graph/dataset/label_table.hpp"
#include "graph/dataset/npz_edges.hpp"
#include "graph/dataset/npz_keys.hpp"
#include "graph/dataset/npz_rows.hpp"
#include "graph/dataset/npz_splits.hpp"
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

bool has_adj(const NpzArrays& arrays) { return arrays.has("adj_indptr") && arrays.has("adj_indices"); }

void read_graph_of(const NpzArrays& arrays, std::size_t file_bytes, Dataset& data) {
  WEFT_CHECK(!has_adj(arrays) || !arrays.has("edge_index"), invalid_file,
             "it has its edges twice, as adj_indices and as edge_index: expected one of them");
  if (arrays.has("edge_index")) return read_edge_index(arrays, file_bytes, data);
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
  if (const std::string key = labels_key(arrays); !key.empty()) {
    if (arrays.shape(key).size() == 1 && arrays.is_integer(key)) {
      data.labels = tensor_of(arrays.node_ids(key), "labels");
      data.classes = classes_in(data.labels);
      return;
    }
    Tensor table = arrays.matrix(key);
    naming_array(key, [&] { take_labels(std::move(table), data); });
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
    const NpzArrays arrays(source, {});
    return has_adj(arrays) || arrays.has("edge_index");
  } catch (const Error&) {
    return false;  // its reader says what is wrong
  }
}

Dataset read_npz_dataset(const Source& source, const ReadOptions& options) {
  const NpzArrays arrays(source, options.progress);
  Dataset data;
  read_graph_of(arrays, source.size(), data);
  if (options.graph_only) return data;
  if (const std::string key = features_key(arrays); !key.empty())
    data.features = arrays.matrix(key);
  else if (arrays.has("attr_indptr"))
    data.sparse_features = read_sparse_rows(arrays, "attr_");
  read_labels(arrays, data);
  read_splits(arrays, data);
  return data;
}

}  // namespace

const Format& npz_dataset_format() {
  static const Format format{.name = "npz dataset",
                             .description = "gnn-benchmark .npz, or PyG's arrays: edge_index, x, y, masks",
                             .sniff = &sniff_npz_dataset,
                             .read = &read_npz_dataset};
  return format;
}

}  // namespace weft::io
