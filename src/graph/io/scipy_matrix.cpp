#include "graph/io/scipy_matrix.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "core/parallel.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

struct Compressed {
  Buffer<EdgeId> offsets;
  Buffer<NodeId> ids;
};

// `count` rows, or columns for csc.
Compressed read_compressed(const NpzArrays& arrays, const std::string& prefix, std::int64_t count,
                           std::string_view lines) {
  Compressed result{arrays.integers(prefix + "indptr"), {}};
  WEFT_CHECK(static_cast<std::int64_t>(result.offsets.size()) == count + 1, invalid_file,
             "array '{}indptr' has {} elements: expected {}, one more than the matrix has {}", prefix,
             result.offsets.size(), count + 1, lines);
  result.ids = arrays.node_ids(prefix + "indices");
  WEFT_CHECK(result.offsets[static_cast<std::size_t>(count)] == static_cast<std::int64_t>(result.ids.size()),
             invalid_file, "array '{}indptr' ends with {}: expected {}, the length of '{}indices'", prefix,
             result.offsets[static_cast<std::size_t>(count)], result.ids.size(), prefix);
  return result;
}

Graph from_csr(const NpzArrays& arrays, const std::string& prefix, std::int64_t rows, std::int64_t cols) {
  auto kept = std::make_shared<Compressed>(read_compressed(arrays, prefix, rows, "rows"));
  return Graph::adopt(rows, cols, {kept->offsets.data(), kept->offsets.size()}, {kept->ids.data(), kept->ids.size()},
                      {}, kept, Validate::full);
}

// Compressed columns are the rows of the transpose: checked as such, then sorted by destination. Edge
// ids keep the file's order.
Graph from_csc(const NpzArrays& arrays, const std::string& prefix, std::int64_t rows, std::int64_t cols,
               std::size_t file_bytes) {
  if (rows > cols) check_nodes_against_size(rows, cols, file_bytes);  // the file has offsets of columns only
  const Compressed columns = read_compressed(arrays, prefix, cols, "columns");
  const std::span<const EdgeId> offsets(columns.offsets.data(), columns.offsets.size());
  const std::span<const NodeId> destinations(columns.ids.data(), columns.ids.size());
  validate(GraphView{cols, rows, static_cast<std::int64_t>(destinations.size()), offsets.data(), nullptr,
                     destinations.data(), nullptr});
  Buffer<NodeId> sources(destinations.size(), "source of every edge");
  parallel_ranges(default_threads(), cols, 1 << 12, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      std::fill(sources.data() + offsets[static_cast<std::size_t>(i)],
                sources.data() + offsets[static_cast<std::size_t>(i) + 1], static_cast<NodeId>(i));
  });
  return Graph::from_edges({.num_sources = cols, .num_destinations = rows},
                           {.sources = {sources.data(), sources.size()}, .destinations = destinations});
}

Graph from_coo(const NpzArrays& arrays, const std::string& prefix, std::int64_t rows, std::int64_t cols,
               std::size_t file_bytes) {
  check_nodes_against_size(rows, cols, file_bytes);
  const Buffer<NodeId> destinations = arrays.node_ids(prefix + "row"), sources = arrays.node_ids(prefix + "col");
  WEFT_CHECK(destinations.size() == sources.size(), invalid_file,
             "array '{}row' has {} elements and '{}col' {}: expected as many", prefix, destinations.size(), prefix,
             sources.size());
  return Graph::from_edges(
      {.num_sources = cols, .num_destinations = rows},
      {.sources = {sources.data(), sources.size()}, .destinations = {destinations.data(), destinations.size()}});
}

// What a matrix cannot be without; other files that numpy wrote are refused here.
void check_arrays(const NpzArrays& arrays, const std::string& prefix, const std::string& format) {
  const bool coo = format == "coo";
  for (const std::string key : {"shape", coo ? "row" : "indptr", coo ? "col" : "indices"})
    WEFT_CHECK(arrays.has(prefix + key), invalid_file,
               "it lacks the array '{}': found {}; expected a scipy {} matrix with {}, as scipy.sparse.save_npz writes "
               "it",
               prefix + key, arrays.keys(),
               coo               ? "COO"
               : format == "csc" ? "CSC"
                                 : "CSR",
               coo ? "data, row, col and shape" : "data, indices, indptr and shape");
}

}  // namespace

Graph read_scipy_matrix(const NpzArrays& arrays, std::size_t file_bytes, const std::string& prefix) {
  // Without a format they are rows: so do GraphSAINT's files.
  const std::string format = arrays.has(prefix + "format") ? arrays.string(prefix + "format") : "csr";
  WEFT_CHECK(format == "csr" || format == "csc" || format == "coo", unsupported,
             "the matrix is in the format {}: weft reads csr, csc and coo", in_quotes(format));
  check_arrays(arrays, prefix, format);
  const Buffer<std::int64_t> shape = arrays.integers(prefix + "shape");
  WEFT_CHECK(shape.size() == 2, invalid_file, "array '{}shape' has {} elements: expected 2, rows and columns", prefix,
             shape.size());
  check_counts(shape[0], shape[1], 0);
  if (format == "csr") return from_csr(arrays, prefix, shape[0], shape[1]);
  if (format == "csc") return from_csc(arrays, prefix, shape[0], shape[1], file_bytes);
  return from_coo(arrays, prefix, shape[0], shape[1], file_bytes);
}

Graph read_adjacency(const Source& source, const Progress& progress) {
  const NpzArrays arrays(source, progress);
  const Graph by_source = read_scipy_matrix(arrays, source.size());
  WEFT_CHECK(by_source.is_square(), invalid_file, "its matrix is {} x {}: expected as many rows as columns",
             by_source.num_rows(), by_source.num_cols());
  return by_source.transpose();
}

}  // namespace weft::io
