// Which format a file is in, and the public functions over all of them.
#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "core/check.hpp"
#include "core/names.hpp"
#include "graph/dataset/builtin.hpp"
#include "graph/dataset/lookup.hpp"
#include "graph/io/foreign.hpp"
#include "graph/io/format.hpp"
#include "graph/io/mapped_file.hpp"
#include "graph/io/note.hpp"
#include "graph/io/packing.hpp"
#include "graph/io/text_blocks.hpp"
#include "weft/generate.hpp"

namespace weft {
namespace io {
namespace {

bool ends_with_ignoring_case(std::string_view text, std::string_view ending) {
  return text.size() > ending.size() && lower_case(text).ends_with(lower_case(ending));
}

std::string_view file_name(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

const Format* format_of_name(std::string_view path, std::string_view* ending = nullptr) {
  for (const Format* format : formats())
    for (const std::string_view candidate : format->endings)
      if (ends_with_ignoring_case(file_name(path), candidate)) {
        if (ending != nullptr) *ending = candidate;
        return format;
      }
  return nullptr;
}

const Format* format_of_content(const Source& source) {
  for (const Format* format : formats())
    if (format->sniff != nullptr && format->sniff(source)) return format;
  return nullptr;
}

std::string known_formats(bool only_writable) {
  std::string known;
  for (const Format* format : formats()) {
    if ((only_writable ? format->write == nullptr : format->read == nullptr) || format->endings.empty()) continue;
    for (const std::string_view ending : format->endings) {
      if (!known.empty()) known += ", ";
      known += ending;
    }
    known += fmt::format(" ({})", format->description);
  }
  return known;
}

std::string name_without_endings(std::string_view path) {
  std::string_view name = without_packing(file_name(path)), ending;
  if (format_of_name(name, &ending) != nullptr) return std::string(name.substr(0, name.size() - ending.size()));
  const std::size_t dot = name.find_last_of('.');
  return std::string(dot == std::string_view::npos || dot == 0 ? name : name.substr(0, dot));
}

// The one place where a file's name is put in front of what is wrong with it. A graph or argument
// that is refused while reading is the file's fault, not the caller's.
template <class F>
auto naming_file(const std::string& path, bool reading, F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    const bool of_content = error.code() == ErrorCode::invalid_graph || error.code() == ErrorCode::invalid_argument;
    fail(reading && of_content ? ErrorCode::invalid_file : error.code(), "{}: {}", path, error.what());
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::out_of_memory, "{}: out of memory while {} it", path, reading ? "reading" : "writing");
  }
}

Dataset read_folder(const std::string& path, const ReadOptions& options) {
  const Folder folder(path);
  const Format* format = format_of_folder(folder);
  if (format == nullptr) {
    std::string known;
    for (const Format* each : formats())
      if (each->read_folder != nullptr) known += (known.empty() ? "" : ", ") + std::string(each->description);
    fail(ErrorCode::io, "it is a folder in no layout weft knows: expected the path of a file, or a folder of {}",
         known);
  }
  Dataset result = format->read_folder(folder, options);
  result.format = format->name;
  if (result.name.empty()) result.name = folder.name();
  return result;
}

Dataset read(const std::string& path, const ReadOptions& options) {
  if (Folder::is_one(path)) return read_folder(path, options);
  Source source = open_file(path);
  WEFT_CHECK(source.size() > 0, invalid_file, "the file is empty: expected a graph in one of the formats {}",
             known_formats(false));
  const Packing packing = packing_of(source.bytes);
  const bool packed = packing != Packing::none;
  const Format* format = nullptr;
  // The reader of what the name says knows best what is missing; two numbers per line are no mark of a format.
  const auto recognise = [&](const Source& content) {
    refuse_foreign(content.text());
    format = format_of_content(content);
    if (format == nullptr || format == &edge_list_format())
      if (const Format* named = format_of_name(without_packing(path)); named != nullptr) format = named;
  };
  if (packed) {
    const std::string head = text_head(source, std::size_t{1} << 16);
    WEFT_CHECK(!head.empty(), invalid_file, "the {} file unpacks to nothing: expected a graph", name(packing));
    recognise({path, std::as_bytes(std::span(head)), nullptr});
  }
  if (!packed || format == nullptr || !format->unpacks) {
    if (packed) load(source, options.progress);
    recognise(source);
  }
  if (format == nullptr) refuse_pickle(source.text());
  WEFT_CHECK(format != nullptr, invalid_file, "not a graph file weft knows: it starts with {}; known formats: {}",
             in_quotes(source.text().substr(0, 16)), known_formats(false));
  if (source.file && format == &weft_format()) source = map_file(path);
  if (source.file && format->unpacks) source.bytes = {};  // such readers go through TextBlocks
  Dataset result = format->read(source, options);
  result.format = format->name;
  if (result.name.empty()) result.name = name_without_endings(path);
  return result;
}

void check_values(const Graph& graph, const ConstTensorView& values) {
  if (!values) return;
  WEFT_CHECK(values.device.kind == DeviceKind::cpu, unsupported,
             "values are on {}: copy them to the cpu before writing them", to_string(values.device));
  WEFT_CHECK(values.shape.rows == graph.num_edges(), invalid_argument,
             "values have shape {}: expected one row for each of the graph's {} edges", to_string(values.shape),
             graph.num_edges());
  WEFT_CHECK(values.ld >= values.shape.row_size(), invalid_argument,
             "values have a leading dimension of {}: expected at least {}", values.ld, values.shape.row_size());
}

}  // namespace

std::span<const Format* const> formats() {
  static const std::array all = {&weft_format(),     &planetoid_format(), &npz_dataset_format(), &npz_format(),
                                 &npy_format(),      &mtx_format(),       &ogb_format(),         &graphsaint_format(),
                                 &reddit_format(),   &tu_format(),        &csr_format(),         &metis_format(),
                                 &edge_list_format()};
  return all;
}

const Format* format_of_folder(const Folder& folder) {
  for (const Format* format : formats())
    if (format->sniff_folder != nullptr && format->sniff_folder(folder)) return format;
  return nullptr;
}

void check_counts(std::int64_t rows, std::int64_t cols, std::int64_t edges) {
  constexpr std::int64_t most = std::numeric_limits<NodeId>::max();
  WEFT_CHECK(rows >= 0 && rows <= most, invalid_file, "it declares {} rows: expected 0 to {}", rows, most);
  WEFT_CHECK(cols >= 0 && cols <= most, invalid_file, "it declares {} columns: expected 0 to {}", cols, most);
  WEFT_CHECK(edges >= 0, invalid_file, "it declares {} edges: expected 0 or more", edges);
}

void check_nodes_against_size(std::int64_t rows, std::int64_t cols, std::size_t file_bytes) {
  constexpr std::int64_t always = std::int64_t{1} << 22, nodes_a_byte = 64;
  const std::int64_t most = std::max(always, static_cast<std::int64_t>(file_bytes) * nodes_a_byte);
  WEFT_CHECK(std::max(rows, cols) <= most, invalid_file,
             "it declares {} x {} nodes, but holds only {} bytes: expected at most {} nodes for that size", rows, cols,
             file_bytes, most);
}

}  // namespace io

Dataset read_dataset(const std::string& path, const ReadOptions& options) {
  WEFT_CHECK(!path.empty(), invalid_argument, "the graph's path is empty: expected the name of a graph file");
  return io::naming_file(path, true, [&] {
    Dataset result = io::read(path, options);
    if (result.has_more_than_graph()) validate(result);
    result.source = path;
    return result;
  });
}

GraphFile read_graph(const std::string& path, const ReadOptions& options) {
  ReadOptions only = options;
  only.graph_only = true;
  return read_dataset(path, only);
}

Dataset open_dataset(const std::string& source, const ReadOptions& options) {
  if (is_generator_spec(source)) {
    Generated generated = generate(std::string_view(source), options.progress);
    Dataset result;
    result.graph = std::move(generated.graph);
    result.name = result.source = source;
    result.format = "generated";
    result.note = std::move(generated.description);
    return result;
  }
  if (is_builtin_dataset(source)) return builtin::make(source, options);
  WEFT_CHECK(!source.empty(), invalid_argument,
             "the graph's path is empty: expected a graph file or something like rmat:scale=16,edge_factor=16");
  if (io::path_exists(source)) return read_dataset(source, options);
  WEFT_CHECK(io::may_be_name(source), io,
             "{}: no such file, and not a generator's SPEC: expected a graph file or something like "
             "rmat:scale=16,edge_factor=16",
             source);
  return read_dataset(io::find_by_name(source), options);
}

GraphFile open_graph(const std::string& source, const ReadOptions& options) {
  ReadOptions only = options;
  only.graph_only = true;
  return open_dataset(source, only);
}

namespace {

void write(const std::string& path, const Graph& graph, ConstTensorView values, std::string_view note,
           const Dataset* dataset, const Progress& progress) {
  io::naming_file(path, false, [&] {
    const io::Format* format = io::format_of_name(path);
    WEFT_CHECK(format != nullptr, invalid_argument, "the name does not say which format to write: expected one of {}",
               io::known_formats(true));
    WEFT_CHECK(format->write != nullptr, unsupported, "weft reads the format '{}' but does not write it: use one of {}",
               format->name, io::known_formats(true));
    io::check_values(graph, values);
    const std::string clean = io::clean_note(note);
    io::AtomicWriter out(path);
    format->write(out, {graph, values, clean, dataset}, progress);
    out.commit();
  });
}

}  // namespace

void write_graph(const std::string& path, const Graph& graph, ConstTensorView values, const Progress& progress,
                 std::string_view note) {
  write(path, graph, values, note, nullptr, progress);
}

void write_dataset(const std::string& path, const Dataset& dataset, const Progress& progress) {
  try {
    validate(dataset);
  } catch (const Error& error) {  // the caller's, not a file's
    fail(ErrorCode::invalid_argument, "{}: {}", path, error.what());
  }
  write(path, dataset.graph, dataset.values ? ConstTensorView(dataset.values) : ConstTensorView{}, dataset.note,
        &dataset, progress);
}

std::vector<GraphFormat> graph_formats() {
  std::vector<GraphFormat> list;
  for (const io::Format* format : io::formats())
    list.push_back({format->name, format->endings, format->read != nullptr || format->read_folder != nullptr,
                    format->write != nullptr, format->description});
  return list;
}

}  // namespace weft
