// Sparse matrices as scipy.sparse.save_npz writes them: csr, csc and coo are read, csr is written.
// Matrix row = destination, column = source.
#include <cstring>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/parallel.hpp"
#include "graph/io/format.hpp"
#include "graph/io/note.hpp"
#include "graph/io/npz_arrays.hpp"
#include "graph/io/scipy_matrix.hpp"
#include "graph/io/values.hpp"

namespace weft::io {
namespace {

constexpr const char* note_key = "weft_note";  // scipy reads only the arrays it knows

Dataset read_npz(const Source& source, const ReadOptions& options) {
  const NpzArrays arrays(source, options.progress);
  Dataset file;
  file.graph = read_scipy_matrix(arrays, source.size());
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
