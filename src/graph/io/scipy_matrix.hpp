// A sparse matrix as scipy.sparse.save_npz writes it, as a graph: csr, csc or coo; without `format` it is csr.
#pragma once

#include "graph/io/npz_arrays.hpp"
#include "graph/io/source.hpp"
#include "weft/graph.hpp"

namespace weft::io {

/// Matrix row = destination, column = source. Edge ids are the file's order; `data` is not looked at. Names of arrays
/// may have a prefix.
Graph read_scipy_matrix(const NpzArrays& arrays, std::size_t file_bytes, const std::string& prefix = "");

/// The other way round, row = source and column = target, of a file that holds the square matrix of a dataset.
Graph read_adjacency(const Source& source, const Progress& progress);

}  // namespace weft::io
