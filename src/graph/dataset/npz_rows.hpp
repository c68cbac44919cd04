// A sparse matrix of an .npz file as features or labels.
#pragma once

#include <string>

#include "graph/io/npz_arrays.hpp"
#include "weft/dataset.hpp"

namespace weft::io {

/// PREFIXindptr, PREFIXindices, PREFIXshape and perhaps PREFIXdata: scipy's csr.
SparseRows read_sparse_rows(const NpzArrays& arrays, const std::string& prefix);

}  // namespace weft::io
