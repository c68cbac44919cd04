// PyG's way of keeping edges in an .npz: edge_index [2, edges], perhaps edge_weight or edge_attr, and num_nodes.
#pragma once

#include "graph/io/npz_arrays.hpp"
#include "weft/dataset.hpp"

namespace weft::io {

/// The graph and its values. Nodes are as many as num_nodes, features, labels or masks say, else as many as the edges
/// name.
void read_edge_index(const NpzArrays& arrays, std::size_t file_bytes, Dataset& data);

}  // namespace weft::io
