// Arrays out of an .npz archive, converted block by block while they are read.
#pragma once

#include <string>
#include <vector>

#include "core/memory.hpp"
#include "graph/io/edge_ends.hpp"
#include "graph/io/npy.hpp"
#include "graph/io/zip_archive.hpp"
#include "weft/tensor.hpp"

namespace weft::io {

class NpzArrays {
 public:
  /// An Error for zip archives that hold no arrays.
  NpzArrays(const Source& source, const Progress& progress);

  bool has(const std::string& key) const { return zip_.has(key + ".npy"); }
  std::vector<std::string> names() const;
  /// "data, indices, indptr, shape": what a message says is there.
  std::string keys() const;
  /// The sizes an array declares; none for a single number.
  std::vector<std::int64_t> shape(const std::string& key) const { return open(key).header.shape; }
  bool is_integer(const std::string& key) const { return open(key).header.is_integer(); }

  /// One-dimensional integer arrays; an Error names the first element that does not fit.
  Buffer<std::int32_t> node_ids(const std::string& key) const;
  EdgeEnds edge_ends(const std::string& key, EndsLayout layout) const;
  /// The number of a scalar or of an array of one element.
  std::int64_t integer(const std::string& key) const;
  struct Mask {
    std::int64_t rows = 0, columns = 1;
    std::vector<std::int32_t> marked;  // rows whose first column is not 0, ascending
  };
  /// Booleans, or numbers of any type that are 0 or 1: one per row, or a row of them.
  Mask mask(const std::string& key) const;
  Buffer<std::int64_t> integers(const std::string& key) const;
  /// A one-dimensional array (or one with a single column) of numbers in the smallest type that is exact: f32, f64,
  /// i64.
  Tensor values(const std::string& key) const;
  /// A matrix of numbers as f32; of one dimension, its only column.
  Tensor matrix(const std::string& key) const;
  /// A single string of bytes or of text, as UTF-8; an Error for one of more than 4096 characters.
  std::string string(const std::string& key) const;

 private:
  struct Opened {
    ZipMember member;
    NpyHeader header;
  };
  Opened open(const std::string& key) const;
  template <class To>
  void read(Opened& opened, const std::string& key, To* out) const;
  Opened open_list(const std::string& key, bool integers) const;
  /// Before there is memory for `count` elements of `item_bytes` each, as weft keeps them.
  void claim(const std::string& key, std::int64_t count, std::size_t item_bytes) const;
  template <class To>
  Buffer<To> list(const std::string& key) const;

  ZipReader zip_;
  mutable std::size_t claimed_ = 0;  // bytes of memory for arrays that were asked for
  const Progress progress_;
};

}  // namespace weft::io
