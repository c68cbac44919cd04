#include "graph/dataset/npz_edges.hpp"

#include "core/check.hpp"
#include "graph/dataset/notes.hpp"
#include "graph/dataset/npz_keys.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

std::int64_t count_nodes(const NpzArrays& arrays, const EdgeEnds& ends) {
  if (const std::string key = first_key(arrays, {"num_nodes", "num_nodes_list"}); !key.empty())
    return arrays.integer(key);
  for (const std::string& key : {features_key(arrays), labels_key(arrays), first_key(arrays, {"train_mask"})}) {
    if (key.empty()) continue;
    const std::vector<std::int64_t> shape = arrays.shape(key);
    if (!shape.empty()) return shape[0];
  }
  return naming_array("edge_index", [&] { return nodes_of(ends); });
}

void read_values(const NpzArrays& arrays, Dataset& data) {
  const std::string key = first_key(arrays, {"edge_weight", "edge_weights", "edge_attr"});
  if (key.empty()) return;
  const std::vector<std::int64_t> shape = arrays.shape(key);
  if (shape.size() == 2 && shape[1] != 1) {
    add_note(data.note, fmt::format("{} left out: it has {} columns, and an edge has one value", key, shape[1]));
    return;
  }
  data.values = arrays.values(key);
  WEFT_CHECK(data.values.shape().rows == data.graph.num_edges(), invalid_file,
             "array '{}' has {} elements: expected one for each of the {} edges", key, data.values.shape().rows,
             data.graph.num_edges());
  if (key != "edge_attr" && arrays.has("edge_attr"))
    add_note(data.note, fmt::format("edge_attr left out: {} are the values", key));
}

}  // namespace

void read_edge_index(const NpzArrays& arrays, std::size_t file_bytes, Dataset& data) {
  const EdgeEnds ends = arrays.edge_ends("edge_index", EndsLayout::rows_or_columns);
  const std::int64_t nodes = count_nodes(arrays, ends);
  check_counts(nodes, nodes, static_cast<std::int64_t>(ends.size()));
  check_nodes_against_size(nodes, nodes, file_bytes);
  naming_array("edge_index", [&] { check_ends_below(ends, nodes); });
  data.graph = Graph::from_edges(
      nodes, {.sources = {ends.sources.data(), ends.size()}, .destinations = {ends.targets.data(), ends.size()}});
  add_note(data.note, ends.note);
  read_values(arrays, data);
}

}  // namespace weft::io
