#include "graph/io/npy_file.hpp"

#include "core/check.hpp"
#include "graph/io/edge_ends.hpp"
#include "graph/io/format.hpp"
#include "graph/io/npy_items.hpp"

namespace weft::io {

bool is_npy(std::string_view text) { return text.starts_with("\x93NUMPY"); }

NpyFile::NpyFile(const Source& source) : stream_(source) {
  std::string bytes(npy_prefix_bytes, '\0');
  bytes.resize(stream_.read(std::as_writable_bytes(std::span(bytes))));
  bytes.resize(npy_header_bytes(bytes));
  const std::size_t rest = bytes.size() - npy_prefix_bytes;
  WEFT_CHECK(stream_.read(std::as_writable_bytes(std::span(bytes)).last(rest)) == rest, invalid_file,
             "it ends after {} bytes: expected a .npy header of {}", source.size(), bytes.size());
  header_ = parse_npy_header(bytes);
  const auto found = static_cast<std::int64_t>(source.size() - bytes.size());
  WEFT_CHECK(found == header_.data_bytes, invalid_file,
             "its header declares {} elements of {} bytes, but {} bytes follow it instead of {}", header_.count,
             header_.item_bytes, found, header_.data_bytes);
  WEFT_CHECK(header_.is_number(), invalid_file, "the array's type is '{}': expected numbers", header_.descr);
}

template <class T>
Buffer<T> NpyFile::elements(const Progress& progress) {
  Buffer<T> values(static_cast<std::size_t>(header_.count), "an array of a .npy file");
  read_npy_items(header_, *this, values.data(), progress);
  return values;
}
template Buffer<std::int64_t> NpyFile::elements(const Progress& progress);
template Buffer<double> NpyFile::elements(const Progress& progress);

Tensor NpyFile::matrix(const Progress& progress) {
  WEFT_CHECK(header_.shape.size() == 2, invalid_file, "the array has {} dimensions: expected 2", header_.shape.size());
  Tensor matrix = Tensor::empty(Shape(header_.shape[0], header_.shape[1]), Dtype::f32, "a matrix of a .npy file");
  read_npy_items(header_, *this, matrix.span<float>().data(), progress);
  return matrix;
}

namespace {

bool sniff_npy(const Source& source) { return is_npy(source.text()); }

/// A graph alone: its edges as an integer array.
Dataset read_npy(const Source& source, const ReadOptions& options) {
  NpyFile file(source);
  check_edge_ends(file.header(), "edges", EndsLayout::rows_or_columns);
  EdgeEnds ends = read_edge_ends(file.header(), "edges", file, options.progress);
  const std::int64_t nodes = naming_array("edges", [&] { return nodes_of(ends); });
  check_nodes_against_size(nodes, nodes, source.size());
  Dataset data;
  data.graph = Graph::from_edges(
      nodes, {.sources = {ends.sources.data(), ends.size()}, .destinations = {ends.targets.data(), ends.size()}});
  data.note = std::move(ends.note);
  return data;
}

}  // namespace

Tensor read_npy_matrix(const Source& source, const Progress& progress) { return NpyFile(source).matrix(progress); }

const Format& npy_format() {
  static const Format format{"npy",      {".npy"},  "numpy array of edges, [2, edges] or [edges, 2]",
                             &sniff_npy, &read_npy, nullptr};
  return format;
}

}  // namespace weft::io
