#include "graph/io/npy_file.hpp"

#include "core/check.hpp"
#include "graph/io/npy_items.hpp"

namespace weft::io {

bool is_npy(std::string_view text) { return text.starts_with("\x93NUMPY"); }

NpyFile::NpyFile(const Source& source) : keeper_(source.keeper) {
  const std::string_view text = source.text();
  const std::size_t header_bytes = npy_header_bytes(text.substr(0, npy_prefix_bytes));
  WEFT_CHECK(header_bytes <= text.size(), invalid_file, "it ends after {} bytes: expected a .npy header of {}",
             text.size(), header_bytes);
  header_ = parse_npy_header(text.substr(0, header_bytes));
  data_ = source.bytes.subspan(header_bytes);
  const auto found = static_cast<std::int64_t>(data_.size());
  WEFT_CHECK(found == header_.data_bytes, invalid_file,
             "its header declares {} elements of {} bytes, but {} bytes follow it instead of {}", header_.count,
             header_.item_bytes, found, header_.data_bytes);
  WEFT_CHECK(header_.is_number(), invalid_file, "the array's type is '{}': expected numbers", header_.descr);
}

template <class T>
Buffer<T> NpyFile::elements(const Progress& progress) const {
  Buffer<T> values(static_cast<std::size_t>(header_.count), "an array of a .npy file");
  MemoryItems items{data_};
  read_npy_items(header_, items, values.data(), progress);
  return values;
}
template Buffer<std::int64_t> NpyFile::elements(const Progress& progress) const;
template Buffer<double> NpyFile::elements(const Progress& progress) const;

Tensor NpyFile::matrix(const Progress& progress) const {
  WEFT_CHECK(header_.shape.size() == 2, invalid_file, "the array has {} dimensions: expected 2", header_.shape.size());
  Tensor matrix = Tensor::empty(Shape(header_.shape[0], header_.shape[1]), Dtype::f32, "a matrix of a .npy file");
  MemoryItems items{data_};
  read_npy_items(header_, items, matrix.span<float>().data(), progress);
  return matrix;
}

Tensor read_npy_matrix(const Source& source, const Progress& progress) { return NpyFile(source).matrix(progress); }

}  // namespace weft::io
