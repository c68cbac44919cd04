// numpy's arrays and scipy's matrices inside a pickle.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/memory.hpp"
#include "graph/dataset/compressed_rows.hpp"
#include "graph/dataset/pickle.hpp"
#include "graph/io/npy.hpp"
#include "weft/progress.hpp"

namespace weft::io {

/// Numbers of any type in either byte order.
struct PickledArray {
  NpyHeader header;
  std::string_view data;  // as many bytes as the header says

  /// All elements, row by row. An integer that does not fit is an Error.
  template <class To>
  Buffer<To> read(std::string_view what, const Progress& progress) const;
};

PickledArray pickled_array(const Pickle& pickle, PickleValue value);
/// A csr_matrix whose offsets and columns were checked.
CompressedRows pickled_matrix(const Pickle& pickle, PickleValue value, const Progress& progress);

}  // namespace weft::io
