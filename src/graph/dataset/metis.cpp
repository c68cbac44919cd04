// METIS graphs: a header "NODES EDGES [FMT [NCON]]", then a line per node with its neighbours, counted from 1. Edges
// have no direction: each stands at both of its ends and is counted once.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/check.hpp"
#include "core/memory.hpp"
#include "graph/dataset/notes.hpp"
#include "graph/io/f32_text.hpp"
#include "graph/io/format.hpp"
#include "graph/io/packing.hpp"
#include "graph/io/text_chunks.hpp"
#include "graph/io/text_scan.hpp"

namespace weft::io {
namespace {

struct Header {
  std::int64_t nodes = 0, edges = 0;
  std::int64_t before = 0;  // numbers before a node's neighbours: its size and its weights
  bool sizes = false, node_weights = false, edge_weights = false;
};

/// FMT: up to three digits of 0 and 1 for sizes and weights of nodes and weights of edges.
bool read_fmt(std::string_view digits, Header& header) {
  if (digits.empty() || digits.size() > 3 || digits.find_first_not_of("01") != digits.npos) return false;
  header.edge_weights = digits.back() == '1';
  header.node_weights = digits.size() > 1 && digits[digits.size() - 2] == '1';
  header.sizes = digits.size() > 2 && digits.front() == '1';
  return true;
}

/// Of a line; leaves the cursor at its end. NCON says how many weights a node has.
bool read_header(TextCursor& cursor, Header& header) {
  if (!cursor.read_integer(header.nodes) || !cursor.read_integer(header.edges)) return false;
  constexpr std::int64_t most_edges = INT64_MAX / 2;  // each is listed at both ends
  if (header.nodes < 0 || header.edges < 0 || header.edges > most_edges) return false;
  std::int64_t weights = 1;
  if (cursor.skip_blanks(), !cursor.at_line_end()) {
    if (!read_fmt(cursor.token(), header)) return false;
    if (cursor.skip_blanks(), !cursor.at_line_end()) {
      if (!cursor.read_integer(weights) || weights < 0 || weights > 1024) return false;
      if ((weights > 0) != header.node_weights) return false;
    }
  }
  header.before = (header.sizes ? 1 : 0) + (header.node_weights ? weights : 0);
  cursor.skip_blanks();
  return cursor.at_line_end();
}

/// Moves past lines that are comments. Blank lines stay: they are nodes without neighbours.
void skip_comments(TextCursor& cursor) {
  while (!cursor.done() && cursor.peek() == '%') cursor.next_line();
}

/// The first line that is neither blank nor a comment.
bool to_header(TextCursor& cursor) { return cursor.to_content("%"); }

class MetisReader {
 public:
  explicit MetisReader(std::string_view text) : text_(text) {}

  Dataset read() {
    TextCursor cursor(text_);
    if (!to_header(cursor)) fail_at(text_.data() + text_.size(), "the file ends before the line with nodes and edges");
    header_at_ = cursor.position();
    if (!read_header(cursor, header_))
      fail_at(header_at_, fmt::format("found {}: expected the header of a METIS file, 'NODES EDGES [FMT [NCON]]'",
                                      in_quotes(rest_of_line(text_, header_at_))));
    check_counts(header_.nodes, header_.nodes, header_.edges);
    cursor.next_line();
    const char* const body = cursor.position();
    check_lines(body);
    count_entries(body);
    read_lines(body);
    Dataset data;
    const auto entries = static_cast<std::size_t>(entries_);
    data.graph = Graph::from_edges(
        header_.nodes, {.sources = {neighbours_.data(), entries}, .destinations = {nodes_.data(), entries}});
    check_both_ends(data.graph);
    if (entries_ != 2 * header_.edges)
      fail_at(header_at_, fmt::format("it promises {} edges, each listed at both ends, but the lines below list {} "
                                      "neighbours: expected {}",
                                      header_.edges, entries_, 2 * header_.edges));
    if (header_.edge_weights) {
      data.values = Tensor::empty(Shape(entries_), Dtype::f32, "the edge values");
      std::copy_n(weights_.data(), entries, data.values.span<float>().data());
    }
    if (header_.before > 0)
      data.note = fmt::format("{} of nodes are not read", header_.sizes && header_.node_weights ? "sizes and weights"
                                                          : header_.sizes                       ? "sizes"
                                                                                                : "weights");
    add_note(data.note, rounded_note(rounded_ / 2));  // each stands at both ends
    return data;
  }

 private:
  [[noreturn]] void fail_at(const char* at, std::string_view message) const { fail_at_line(text_, at, message); }
  [[noreturn]] void fail_found(const char* at, std::string_view expected) const {
    fail_at(at, fmt::format("found {}: expected {}", in_quotes(rest_of_line(text_, at)), expected));
  }

  /// A line for every node, and nothing but blank ones behind them.
  void check_lines(const char* body) const {
    TextCursor cursor(text_.substr(static_cast<std::size_t>(body - text_.data())));
    std::int64_t lines = 0, used = 0;
    for (skip_comments(cursor); !cursor.done(); cursor.next_line(), skip_comments(cursor)) {
      ++lines;
      cursor.skip_blanks();
      if (!cursor.at_line_end()) used = lines;
    }
    if (lines < header_.nodes || used > header_.nodes)
      fail_at(header_at_, fmt::format("it promises {} nodes, but {} lines follow: expected a line for each; if this is "
                                      "a list of edges, call it .txt or .edges",
                                      header_.nodes, std::max(used, std::min(lines, header_.nodes))));
  }

  /// f(node, start of its line, cursor) for every node.
  template <class F>
  void each_line(const char* body, const F& f) const {
    TextCursor cursor(text_.substr(static_cast<std::size_t>(body - text_.data())));
    for (std::int64_t node = 0; node < header_.nodes; ++node, cursor.next_line()) {
      skip_comments(cursor);
      f(node, cursor.position(), cursor);
    }
  }

  void count_entries(const char* body) {
    const std::int64_t each = header_.edge_weights ? 2 : 1;
    each_line(body, [&](std::int64_t, const char* start, TextCursor& cursor) {
      std::int64_t numbers = 0;
      for (cursor.skip_blanks(); !cursor.at_line_end(); cursor.skip_blanks(), ++numbers) cursor.token();
      if (numbers < header_.before || (numbers - header_.before) % each != 0)
        fail_found(start,
                   fmt::format("{}neighbours{}",
                               header_.before > 0 ? fmt::format("{} numbers of the node and its ", header_.before) : "",
                               header_.edge_weights ? ", each with the weight of its edge" : ""));
      entries_ += (numbers - header_.before) / each;
    });
  }

  void read_lines(const char* body) {
    const auto entries = static_cast<std::size_t>(entries_);
    nodes_ = Buffer<NodeId>(entries, "node of every entry");
    neighbours_ = Buffer<NodeId>(entries, "neighbour of every entry");
    if (header_.edge_weights) weights_ = Buffer<float>(entries, "weight of every entry");
    std::size_t k = 0;
    each_line(body, [&](std::int64_t node, const char* start, TextCursor& cursor) {
      double number = 0;
      for (std::int64_t i = 0; i < header_.before; ++i)
        if (!cursor.read_real(number)) fail_found(start, "numbers of the node before its neighbours");
      for (cursor.skip_blanks(); !cursor.at_line_end(); cursor.skip_blanks(), ++k) {
        std::int64_t neighbour = 0;
        if (!cursor.read_integer(neighbour)) fail_found(start, "neighbours that are whole numbers");
        if (neighbour < 1 || neighbour > header_.nodes)
          fail_at(start, fmt::format("found the neighbour {}: expected 1 to {} (METIS counts from 1)", neighbour,
                                     header_.nodes));
        if (neighbour == node + 1)
          fail_at(start,
                  fmt::format("node {} is its own neighbour: expected none, METIS has no self-loops", neighbour));
        nodes_[k] = static_cast<NodeId>(node);
        neighbours_[k] = static_cast<NodeId>(neighbour - 1);
        if (!header_.edge_weights) continue;
        TextCursor field = cursor;
        if (!cursor.read_real(number) || !std::isfinite(number) || !fits_float(number))
          fail_found(start, expected_number(field.token(), "a weight", "a weight behind every neighbour"));
        weights_[k] = static_cast<float>(number);
        if (rounds_whole_number(field.token(), number)) ++rounded_;
      }
    });
  }

  /// Entries of a node stand in the file behind each other, and so do those of the nodes.
  void check_both_ends(const Graph& graph) const {
    const GraphView view = graph.view();
    const auto stored = [&](NodeId node, NodeId neighbour) {
      const NodeId* const end = view.cols + view.offsets[node + 1];
      const NodeId* const at = std::lower_bound(view.cols + view.offsets[node], end, neighbour);
      return at != end && *at == neighbour ? at - view.cols : EdgeId{-1};
    };
    for (std::int64_t k = 0; k < entries_; ++k) {
      const auto i = static_cast<std::size_t>(k);
      const NodeId node = nodes_[i], neighbour = neighbours_[i];
      const EdgeId own = stored(node, neighbour), other = stored(neighbour, node);
      if (own + 1 < view.offsets[node + 1] && view.cols[own + 1] == neighbour)
        fail_node(node, fmt::format("node {} lists the neighbour {} twice: expected once", node + 1, neighbour + 1));
      if (other < 0)
        fail_node(node, fmt::format("node {} lists the neighbour {}, whose line does not list node {}: expected every "
                                    "edge at both ends",
                                    node + 1, neighbour + 1, node + 1));
      if (header_.edge_weights) {
        const float weight = weights_[i], back = weights_[static_cast<std::size_t>(view.edge_id(other))];
        if (weight != back)
          fail_node(node, fmt::format("the edge between {} and {} has the weight {} here and {} at its other end: "
                                      "expected the same",
                                      node + 1, neighbour + 1, weight, back));
      }
    }
  }

  [[noreturn]] void fail_node(NodeId wanted, const std::string& message) const {
    TextCursor cursor(text_.substr(static_cast<std::size_t>(header_at_ - text_.data())));
    cursor.next_line();
    each_line(cursor.position(), [&](std::int64_t node, const char* start, TextCursor&) {
      if (node == wanted) fail_at(start, message);
    });
    fail(ErrorCode::internal, "{}", message);
  }

  std::string_view text_;
  const char* header_at_ = nullptr;
  Header header_;
  std::int64_t entries_ = 0, rounded_ = 0;  // rounded: weights that f32 does not have
  Buffer<NodeId> nodes_, neighbours_;
  Buffer<float> weights_;
};

bool has_ending(std::string_view name, std::span<const std::string_view> endings) {
  return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

/// A header whose counts the lines bear out, as far as `sniff` is shown them. Where every line has the same number of
/// columns the text may as well be a list of edges, and the name of one decides.
bool sniff_metis(const Source& source) {
  constexpr std::size_t most = std::size_t{1} << 16;
  const bool whole = source.bytes.size() < most;
  std::string_view text = source.text().substr(0, most);
  if (!whole) text = text.substr(0, text.find_last_of('\n') + 1);
  TextCursor cursor(text);
  Header header;
  if (!to_header(cursor)) return false;
  const char* const start = cursor.position();
  if (!read_header(cursor, header) || header.nodes < 1) return false;
  std::int64_t columns = 0;
  for (TextCursor first(rest_of_line(text, start)); first.skip_blanks(), !first.at_line_end(); ++columns) first.token();
  bool uniform = true;
  std::int64_t lines = 0, used = 0, entries = 0;
  const std::int64_t each = header.edge_weights ? 2 : 1;
  cursor.next_line();
  for (skip_comments(cursor); !cursor.done(); cursor.next_line(), skip_comments(cursor)) {
    ++lines;
    std::int64_t numbers = 0;
    for (cursor.skip_blanks(); !cursor.at_line_end(); cursor.skip_blanks(), ++numbers) {
      double number = 0;
      if (!cursor.read_real(number)) return false;
      const std::int64_t place = numbers - header.before;
      const bool id = place >= 0 && place % each == 0;
      if (id && !(number >= 1 && number <= static_cast<double>(header.nodes) && number == std::trunc(number)))
        return false;
    }
    if (numbers == 0) continue;
    used = lines;
    uniform &= numbers == columns;
    if (numbers < header.before || (numbers - header.before) % each != 0) return false;
    entries += (numbers - header.before) / each;
  }
  if (used > header.nodes || entries > 2 * header.edges) return false;
  if (whole && (lines < header.nodes || entries != 2 * header.edges)) return false;
  return !uniform ||
         (whole && entries > 0 && !has_ending(without_packing(source.file_name()), edge_list_format().endings));
}

Dataset read_metis(const Source& source, const ReadOptions& options) {
  Source content = source;
  load(content, options.progress);
  return MetisReader(content.text()).read();
}

}  // namespace

const Format& metis_format() {
  static const Format format{.name = "metis",
                             .endings = {".graph", ".metis"},
                             .description = "METIS adjacency lists",
                             .sniff = &sniff_metis,
                             .read = &read_metis};
  return format;
}

}  // namespace weft::io
