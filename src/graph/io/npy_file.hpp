// Arrays out of a .npy file.
#pragma once

#include "graph/io/source.hpp"
#include "weft/tensor.hpp"

namespace weft::io {

/// Numbers of any type and byte order as f32 [rows, columns]. What the header declares is compared with the file's size
/// before memory is asked for.
Tensor read_npy_matrix(const Source& source, const Progress& progress);

}  // namespace weft::io
