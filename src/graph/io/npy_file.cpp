#include "graph/io/npy_file.hpp"

#include "core/check.hpp"
#include "graph/io/npy_items.hpp"

namespace weft::io {
Tensor read_npy_matrix(const Source& source, const Progress& progress) {
  const std::string_view text = source.text();
  const std::size_t header_bytes = npy_header_bytes(text.substr(0, npy_prefix_bytes));
  WEFT_CHECK(header_bytes <= text.size(), invalid_file, "it ends after {} bytes: expected a .npy header of {}",
             text.size(), header_bytes);
  const NpyHeader header = parse_npy_header(text.substr(0, header_bytes));
  const auto found = static_cast<std::int64_t>(text.size() - header_bytes);
  WEFT_CHECK(found == header.data_bytes, invalid_file,
             "its header declares {} elements of {} bytes, but {} bytes follow it instead of {}", header.count,
             header.item_bytes, found, header.data_bytes);
  WEFT_CHECK(header.is_number(), invalid_file, "the array's type is '{}': expected numbers", header.descr);
  WEFT_CHECK(header.shape.size() == 2, invalid_file, "the array has {} dimensions: expected 2", header.shape.size());
  Tensor matrix = Tensor::empty(Shape(header.shape[0], header.shape[1]), Dtype::f32, "a matrix of a .npy file");
  MemoryItems items{source.bytes.subspan(header_bytes)};
  read_npy_items(header, items, matrix.span<float>().data(), progress);
  return matrix;
}

}  // namespace weft::io
