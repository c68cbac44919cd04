// Sparse matrices as scipy.sparse.save_npz writes them: csr, csc and coo are read, csr is written.
// Matrix row = destination, column = source.
#include <algorithm>
#include <cstring>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/parallel.hpp"
#include "graph/io/format.hpp"
#include "graph/io/note.hpp"
#include "graph/io/npz_arrays.hpp"
#include "graph/io/values.hpp"

namespace weft::io {
namespace {

constexpr const char* note_key = "weft_note";  // scipy reads only the arrays it knows

struct Compressed {
  Buffer<EdgeId> offsets;
  Buffer<NodeId> ids;
};

// `count` rows, or columns for csc.
Compressed read_compressed(const NpzArrays& arrays, std::int64_t count, std::string_view lines) {
  Compressed result{arrays.integers("indptr"), {}};
  WEFT_CHECK(static_cast<std::int64_t>(result.offsets.size()) == count + 1, invalid_file,
             "array 'indptr' has {} elements: expected {}, one more than the matrix has {}", result.offsets.size(),
             count + 1, lines);
  result.ids = arrays.node_ids("indices");
  WEFT_CHECK(result.offsets[static_cast<std::size_t>(count)] == static_cast<std::int64_t>(result.ids.size()),
             invalid_file, "array 'indptr' ends with {}: expected {}, the length of 'indices'",
             result.offsets[static_cast<std::size_t>(count)], result.ids.size());
  return result;
}

Graph from_csr(const NpzArrays& arrays, std::int64_t rows, std::int64_t cols) {
  auto kept = std::make_shared<Compressed>(read_compressed(arrays, rows, "rows"));
  return Graph::adopt(rows, cols, {kept->offsets.data(), kept->offsets.size()}, {kept->ids.data(), kept->ids.size()},
                      {}, kept, Validate::full);
}

// Compressed columns are the rows of the transpose: checked as such, then sorted by destination. Edge
// ids keep the file's order.
Graph from_csc(const NpzArrays& arrays, std::int64_t rows, std::int64_t cols) {
  const Compressed columns = read_compressed(arrays, cols, "columns");
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
  return Graph::from_coo(rows, cols, destinations, {sources.data(), sources.size()});
}

Graph from_coo(const NpzArrays& arrays, std::int64_t rows, std::int64_t cols, std::size_t file_bytes) {
  check_nodes_against_size(rows, cols, file_bytes);
  const Buffer<NodeId> destinations = arrays.node_ids("row"), sources = arrays.node_ids("col");
  WEFT_CHECK(destinations.size() == sources.size(), invalid_file,
             "array 'row' has {} elements and 'col' {}: expected as many", destinations.size(), sources.size());
  return Graph::from_coo(rows, cols, {destinations.data(), destinations.size()}, {sources.data(), sources.size()});
}

// What a matrix cannot be without; other files that numpy wrote are refused here.
void check_arrays(const NpzArrays& arrays, const std::string& format) {
  const bool coo = format == "coo";
  for (const std::string key : {"shape", coo ? "row" : "indptr", coo ? "col" : "indices"})
    WEFT_CHECK(arrays.has(key), invalid_file,
               "it lacks the array '{}': found {}; expected a scipy {} matrix with {}, as scipy.sparse.save_npz writes "
               "it",
               key, arrays.keys(),
               coo               ? "COO"
               : format == "csc" ? "CSC"
                                 : "CSR",
               coo ? "data, row, col and shape" : "data, indices, indptr and shape");
}

Dataset read_npz(const Source& source, const ReadOptions& options) {
  const NpzArrays arrays(source.bytes, options.progress);
  // Without a format they are rows: so do GraphSAINT's files.
  const std::string format = arrays.has("format") ? arrays.string("format") : "csr";
  WEFT_CHECK(format == "csr" || format == "csc" || format == "coo", unsupported,
             "the matrix is in the format {}: weft reads csr, csc and coo", quoted(format));
  check_arrays(arrays, format);
  const Buffer<std::int64_t> shape = arrays.integers("shape");
  WEFT_CHECK(shape.size() == 2, invalid_file, "array 'shape' has {} elements: expected 2, rows and columns",
             shape.size());
  check_counts(shape[0], shape[1], 0);
  Dataset file;
  if (format == "csr")
    file.graph = from_csr(arrays, shape[0], shape[1]);
  else if (format == "csc")
    file.graph = from_csc(arrays, shape[0], shape[1]);
  else
    file.graph = from_coo(arrays, shape[0], shape[1], source.bytes.size());
  if (arrays.has(note_key)) file.note = clean_note(arrays.string(note_key));
  if (!arrays.has("data")) return file;
  file.values = arrays.values("data");
  WEFT_CHECK(file.values.shape().rows == file.graph.num_edges(), invalid_file,
             "array 'data' has {} elements: expected one for each of the {} entries", file.values.shape().rows,
             file.graph.num_edges());
  return file;
}

// The values in stored order, in a type scipy can calculate with.
Tensor stored_values(const Graph& graph, const ConstTensorView& values) {
  const GraphView view = graph.view();
  const auto fill = [&](Dtype dtype, auto&& value) {
    Tensor result = Tensor::empty(Shape(view.num_edges), dtype, "values in stored order");
    with_any_dtype(dtype, [&](auto tag) {
      using To = typename decltype(tag)::type;
      To* out = result.span<To>().data();
      parallel_ranges(default_threads(), view.num_edges, 1 << 16, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) out[k] = convert<To>(value(view.edge_id(k)));
      });
    });
    return result;
  };
  if (!values) return fill(Dtype::f32, [](EdgeId) { return 1.0f; });
  const bool half = values.dtype == Dtype::f16 || values.dtype == Dtype::bf16;  // scipy has no sparse halves
  return with_any_dtype(values.dtype, [&](auto tag) {
    using From = typename decltype(tag)::type;
    return fill(half ? Dtype::f32 : values.dtype, [&](EdgeId id) { return value_at<From>(values, id); });
  });
}

std::string_view numpy_name(Dtype dtype) {
  switch (dtype) {
    case Dtype::f32: return "<f4";
    case Dtype::f64: return "<f8";
    case Dtype::i32: return "<i4";
    case Dtype::i64: return "<i8";
    default: fail(ErrorCode::internal, "numpy has no name for {}", name(dtype));
  }
}

void write_npz(AtomicWriter& out, const Contents& contents, const Progress& progress) {
  const Graph& graph = contents.graph;
  const ConstTensorView& values = contents.values;
  const std::string_view note = contents.note;
  check_scalar_values(values, ".npz");
  const Tensor data = stored_values(graph, values);
  const std::int64_t shape[2] = {graph.num_rows(), graph.num_cols()};
  static constexpr std::string_view format = "csr";
  ZipWriter zip(out);
  zip.add("indices.npy", make_npy_header("<i4", {graph.num_edges()}), std::as_bytes(graph.cols()));
  zip.add("indptr.npy", make_npy_header("<i8", {graph.num_rows() + 1}), std::as_bytes(graph.offsets()));
  zip.add("format.npy", make_npy_header("|S3", {}), std::as_bytes(std::span(format)));
  zip.add("shape.npy", make_npy_header("<i8", {2}), std::as_bytes(std::span(shape)));
  zip.add("data.npy", make_npy_header(numpy_name(data.dtype()), {graph.num_edges()}),
          {static_cast<const std::byte*>(data.view().data), data.bytes()});
  if (!note.empty())
    zip.add(fmt::format("{}.npy", note_key), make_npy_header(fmt::format("|S{}", note.size()), {}),
            std::as_bytes(std::span(note)));
  zip.finish(progress);
}

bool sniff_npz(const Source& source) {
  const std::string_view text = source.text();
  return text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06");  // a member, or the end of an empty archive
}

}  // namespace

const Format& npz_format() {
  static const Format format{"npz", {".npz"}, "scipy sparse matrix", &sniff_npz, &read_npz, &write_npz};
  return format;
}

}  // namespace weft::io
