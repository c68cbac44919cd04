// Train, validation and test nodes out of an .npz: lists of nodes (train_idx, ...) or marks (train_mask, ...).
#pragma once

#include "graph/io/npz_arrays.hpp"
#include "weft/dataset.hpp"

namespace weft::io {

/// Where both are there they must say the same. Of masks for several splits [nodes, splits] the first is read, which
/// the note says.
void read_splits(const NpzArrays& arrays, Dataset& data);

}  // namespace weft::io
