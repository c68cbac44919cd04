// Arrays out of a .npy file.
#pragma once

#include "core/memory.hpp"
#include "graph/io/npy.hpp"
#include "graph/io/source.hpp"
#include "graph/io/unpacker.hpp"
#include "weft/tensor.hpp"

namespace weft::io {

/// Whether a file starts as .npy files do.
bool is_npy(std::string_view text);

/// An array of numbers of any type and byte order, read once, from the file or from memory.
class NpyFile {
 public:
  /// What the header declares is compared with the file's size before memory is asked for.
  explicit NpyFile(const Source& source);

  const NpyHeader& header() const { return header_; }
  /// The next bytes of the array.
  void read(std::span<std::byte> out) { stream_.read(out); }
  /// All elements, row by row. Integers that do not fit are an Error; reals are rounded to the nearest that does.
  template <class T>
  Buffer<T> elements(const Progress& progress);
  /// f32 [rows, columns]; an Error unless the array has two dimensions.
  Tensor matrix(const Progress& progress);

 private:
  NpyHeader header_;
  Unpacker stream_;
};

/// Numbers of any type and byte order as f32 [rows, columns].
Tensor read_npy_matrix(const Source& source, const Progress& progress);

}  // namespace weft::io
