// Which format a file is in, and the public functions over all of them.
#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "core/check.hpp"
#include "graph/io/format.hpp"
#include "graph/io/gzip.hpp"
#include "graph/io/mapped_file.hpp"
#include "graph/io/note.hpp"
#include "graph/io/text_scan.hpp"
#include "weft/generate.hpp"

namespace weft {
namespace io {
namespace {

bool ends_with_ignoring_case(std::string_view text, std::string_view ending) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return text.size() > ending.size() && std::equal(ending.rbegin(), ending.rend(), text.rbegin(),
                                                   [&](char a, char b) { return lower(a) == lower(b); });
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
    if (format->sniff(source)) return format;
  return nullptr;
}

std::string known_formats(bool only_writable) {
  std::string known;
  for (const Format* format : formats()) {
    if (only_writable && format->write == nullptr) continue;
    for (const std::string_view ending : format->endings) {
      if (!known.empty()) known += ", ";
      known += ending;
    }
    known += fmt::format(" ({})", format->description);
  }
  return known;
}

std::string name_without_endings(std::string_view path) {
  std::string_view name = file_name(path), ending;
  if (format_of_name(path, &ending) != nullptr) return std::string(name.substr(0, name.size() - ending.size()));
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

// Whether the first line that is no comment holds two node ids, and perhaps a weight or a time: what SNAP and
// OGB offer for download.
bool looks_like_edge_list(std::string_view text) {
  std::string start(text.substr(0, 1 << 16));
  std::ranges::replace(start, ',', ' ');
  TextCursor cursor(start);
  while (cursor.to_content('#') && cursor.peek() == '%') cursor.next_line();
  std::int64_t id = 0;
  if (!cursor.read_integer(id) || !cursor.read_integer(id)) return false;
  double extra = 0;
  for (int i = 0; i < 2 && !cursor.at_line_end(); ++i)
    if (!cursor.read_real(extra)) break;
  cursor.skip_blanks();
  return cursor.at_line_end();
}

GraphFile read(const std::string& path, const ReadOptions& options) {
  auto file = MappedFile::open(path);
  WEFT_CHECK(!file->bytes().empty(), invalid_file, "the file is empty: expected a graph in one of the formats {}",
             known_formats(false));
  Source source{path, file->bytes(), file};
  const Format* format = format_of_content(source);
  if (format == nullptr && is_gzip(source.bytes)) {
    auto content = std::make_shared<Unpacked>(gunzip(source.bytes, options.progress));
    source.bytes = content->bytes();
    source.keeper = content;
    WEFT_CHECK(!source.bytes.empty(), invalid_file, "the gzip file unpacks to nothing: expected a graph");
    format = format_of_content(source);
  }
  if (format == nullptr) format = format_of_name(path);  // its reader knows best what is missing
  WEFT_CHECK(
      format != nullptr || !looks_like_edge_list(source.text()), invalid_file,
      "it is a plain list of edges, which says neither how many nodes there are nor where ids start: make it "
      "Matrix Market with the command in docs/formats.md (two lines in front, "
      "'%%MatrixMarket matrix coordinate pattern general' and 'NODES NODES EDGES', then 'TARGET SOURCE' from 1)");
  WEFT_CHECK(format != nullptr, invalid_file, "not a graph file weft knows: it starts with {}; known formats: {}",
             quoted(source.text().substr(0, 16)), known_formats(false));
  GraphFile result = format->read(source, options);
  result.format = format->name;
  result.name = name_without_endings(path);
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
  static const std::array<const Format*, 4> all = {&weft_format(), &npz_format(), &mtx_format(), &csr_format()};
  return all;
}

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string result = "'";
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f)
      result += c;
    else
      result += fmt::format("\\x{:02x}", byte);
  }
  result += text.size() > longest ? "...'" : "'";
  return result;
}

void check_counts(std::int64_t rows, std::int64_t cols, std::int64_t edges) {
  constexpr std::int64_t most = std::numeric_limits<NodeId>::max();
  WEFT_CHECK(rows >= 0 && rows <= most, invalid_file, "it declares {} rows: expected 0 to {}", rows, most);
  WEFT_CHECK(cols >= 0 && cols <= most, invalid_file, "it declares {} columns: expected 0 to {}", cols, most);
  WEFT_CHECK(edges >= 0, invalid_file, "it declares {} edges: expected 0 or more", edges);
}

void check_nodes_against_size(std::int64_t rows, std::int64_t cols, std::size_t file_bytes) {
  constexpr std::int64_t always = std::int64_t{1} << 26, nodes_a_byte = 64;
  const std::int64_t most = std::max(always, static_cast<std::int64_t>(file_bytes) * nodes_a_byte);
  WEFT_CHECK(std::max(rows, cols) <= most, invalid_file,
             "it declares {} x {} nodes, but holds only {} bytes: expected at most {} nodes for that size", rows, cols,
             file_bytes, most);
}

}  // namespace io

GraphFile read_graph(const std::string& path, const ReadOptions& options) {
  WEFT_CHECK(!path.empty(), invalid_argument, "the graph's path is empty: expected the name of a graph file");
  return io::naming_file(path, true, [&] { return io::read(path, options); });
}

GraphFile open_graph(const std::string& source, const ReadOptions& options) {
  if (is_generator_spec(source)) {
    Generated generated = generate(std::string_view(source), options.progress);
    return {std::move(generated.graph), {}, source, "generated", std::move(generated.description)};
  }
  WEFT_CHECK(!source.empty(), invalid_argument,
             "the graph's path is empty: expected a graph file or something like rmat:scale=16,edge_factor=16");
  WEFT_CHECK(io::path_exists(source), io,
             "{}: no such file, and not a generator's SPEC: expected a graph file or something like "
             "rmat:scale=16,edge_factor=16",
             source);
  return read_graph(source, options);
}

void write_graph(const std::string& path, const Graph& graph, ConstTensorView values, const Progress& progress,
                 std::string_view note) {
  io::naming_file(path, false, [&] {
    const io::Format* format = io::format_of_name(path);
    WEFT_CHECK(format != nullptr, invalid_argument, "the name does not say which format to write: expected one of {}",
               io::known_formats(true));
    WEFT_CHECK(format->write != nullptr, unsupported, "weft reads the format '{}' but does not write it: use one of {}",
               format->name, io::known_formats(true));
    io::check_values(graph, values);
    io::AtomicWriter out(path);
    format->write(out, graph, values, io::clean_note(note), progress);
    out.commit();
  });
}

std::vector<GraphFormat> graph_formats() {
  std::vector<GraphFormat> list;
  for (const io::Format* format : io::formats())
    list.push_back(
        {format->name, format->endings, format->read != nullptr, format->write != nullptr, format->description});
  return list;
}

}  // namespace weft
