// Reddit as DGL publishes it: reddit_data.npz (feature, label, node_types) beside reddit_graph.npz, a scipy matrix with
// row = source and column = target whose values are not read. The variant with self-loops names the latter otherwise.
#include <algorithm>
#include <array>

#include "core/check.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/format.hpp"
#include "graph/io/npz_arrays.hpp"
#include "graph/io/scipy_matrix.hpp"

namespace weft::io {
namespace {

constexpr const char* data_file = "reddit_data.npz";
constexpr const char* graph_file = "reddit_graph.npz";
constexpr const char* graph_file_with_loops = "reddit_self_loop_graph.npz";

bool has_parts(const Folder& folder, const std::string& below) {
  return std::ranges::any_of(std::array{data_file, graph_file, graph_file_with_loops},
                             [&](const char* file) { return folder.has(below + file); });
}

bool sniff_reddit(const Folder& folder) { return has_parts(folder, "") || has_parts(folder, "raw/"); }

Buffer<std::int32_t> one_a_node(const NpzArrays& arrays, const char* key, std::int64_t nodes) {
  Buffer<std::int32_t> values = arrays.node_ids(key);
  WEFT_CHECK(static_cast<std::int64_t>(values.size()) == nodes, invalid_file,
             "array '{}' has {} elements: expected one for each of {} nodes", key, values.size(), nodes);
  return values;
}

void read_reddit_labels(const NpzArrays& arrays, Dataset& data) {
  data.labels = tensor_of(one_a_node(arrays, "label", data.num_nodes()), "labels");
  data.classes = classes_in(data.labels);
}

void read_reddit_splits(const NpzArrays& arrays, Dataset& data) {
  const Buffer<std::int32_t> types = one_a_node(arrays, "node_types", data.num_nodes());
  std::array<std::int64_t, 3> counts = {};
  for (std::size_t node = 0; node < types.size(); ++node) {
    WEFT_CHECK(types[node] >= 1 && types[node] <= 3, invalid_file,
               "array 'node_types' has {} at {}: expected 1, 2 or 3, for train, val and test", types[node], node);
    ++counts[static_cast<std::size_t>(types[node]) - 1];
  }
  const std::array splits = {&data.train, &data.val, &data.test};
  std::array<std::int32_t*, 3> next = {};
  for (std::size_t i = 0; i < splits.size(); ++i) {
    *splits[i] = Tensor::empty(Shape(counts[i]), Dtype::i32, "nodes of a split");
    next[i] = splits[i]->span<std::int32_t>().data();
  }
  for (std::size_t node = 0; node < types.size(); ++node)
    *next[static_cast<std::size_t>(types[node]) - 1]++ = static_cast<std::int32_t>(node);
}

Dataset read_reddit(const Folder& given, const ReadOptions& options) {
  const Folder folder = has_parts(given, "") ? given : given.below("raw");
  const char* const graph =
      !folder.has(graph_file) && folder.has(graph_file_with_loops) ? graph_file_with_loops : graph_file;
  Dataset data;
  data.name = given.name();
  data.graph = folder.with_file(graph, options.progress,
                                [&](const Source& source) { return read_adjacency(source, options.progress); });
  if (options.graph_only) return data;
  folder.with_file(data_file, options.progress, [&](const Source& source) {
    const NpzArrays arrays(source, options.progress);
    data.features = arrays.matrix("feature");
    WEFT_CHECK(data.features.shape().rows == data.num_nodes(), invalid_file,
               "array 'feature' has {} rows: expected one for each of {} nodes", data.features.shape().rows,
               data.num_nodes());
    read_reddit_labels(arrays, data);
    read_reddit_splits(arrays, data);
  });
  return data;
}

}  // namespace

const Format& reddit_format() {
  static const Format format{.name = "reddit",
                             .description = "DGL's Reddit files (reddit_data.npz, reddit_graph.npz)",
                             .sniff_folder = &sniff_reddit,
                             .read_folder = &read_reddit};
  return format;
}

}  // namespace weft::io
