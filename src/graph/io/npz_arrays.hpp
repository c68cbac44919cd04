// Arrays out of an .npz archive, converted block by block while they are read.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "core/memory.hpp"
#include "graph/io/npy.hpp"
#include "graph/io/zip_archive.hpp"
#include "weft/tensor.hpp"

namespace weft::io {

class NpzArrays {
 public:
  NpzArrays(std::span<const std::byte> bytes, const Progress& progress);

  bool has(const std::string& key) const { return zip_.has(key + ".npy"); }
  std::vector<std::string> names() const;
  /// "data, indices, indptr, shape": what a message says is there.
  std::string keys() const;

  /// One-dimensional integer arrays; an Error names the first element that does not fit.
  Buffer<std::int32_t> node_ids(const std::string& key) const;
  /// The two rows of an integer array [2, n], each in memory of its own.
  std::array<Buffer<std::int32_t>, 2> node_id_rows(const std::string& key) const;
  Buffer<std::int64_t> integers(const std::string& key) const;
  /// A one-dimensional array of numbers in the smallest type that is exact: f32, f64, i64.
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

  ZipReader zip_;
  const Progress progress_;
};

}  // namespace weft::io
