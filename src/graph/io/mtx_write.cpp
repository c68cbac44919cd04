// Writing Matrix Market. Blocks of lines are made, and packed for .gz, on all cores at once, then
// written in order.
#include <algorithm>
#include <charconv>

#include "core/check.hpp"
#include "core/dispatch.hpp"
#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "graph/io/gzip.hpp"
#include "graph/io/mtx_format.hpp"
#include "graph/io/values.hpp"

namespace weft::io {
namespace {

constexpr EdgeId block_edges = 1 << 16;
constexpr std::size_t longest_line = 64;  // two node ids of 10 digits and a number of at most 24

// Both ends of every edge, by id.
struct Ends {
  Buffer<NodeId> destinations, sources;
};

Ends ends_by_id(const GraphView& graph) {
  const auto count = static_cast<std::size_t>(graph.num_edges);
  Ends ends{Buffer<NodeId>(count, "destinations by edge id"), Buffer<NodeId>(count, "sources by edge id")};
  parallel_ranges(default_threads(), graph.num_rows, 1 << 10, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row)
      for (EdgeId k = graph.offsets[row]; k < graph.offsets[row + 1]; ++k) {
        const auto id = static_cast<std::size_t>(graph.edge_id(k));
        ends.destinations[id] = static_cast<NodeId>(row);
        ends.sources[id] = graph.cols[k];
      }
  });
  return ends;
}

// The shortest digits that give the same double again. A float's own shortest digits would not do: read
// as a double, as every reader does, 0.1 is not the float 0.1.
template <class T>
auto printable(T value) {
  if constexpr (std::is_integral_v<T>)
    return value;
  else
    return convert<double>(value);
}

template <class PutValue>
std::string lines(const Ends& ends, EdgeId begin, EdgeId end, PutValue&& put_value) {
  std::string text(static_cast<std::size_t>(end - begin) * longest_line, '\0');
  char* at = text.data();
  char* const limit = text.data() + text.size();
  for (EdgeId id = begin; id < end; ++id) {
    const auto edge = static_cast<std::size_t>(id);
    at = std::to_chars(at, limit, std::int64_t{ends.destinations[edge]} + 1).ptr;
    *at++ = ' ';
    at = std::to_chars(at, limit, std::int64_t{ends.sources[edge]} + 1).ptr;
    at = put_value(at, limit, id);
    *at++ = '\n';
  }
  text.resize(static_cast<std::size_t>(at - text.data()));
  return text;
}

}  // namespace

void write_mtx(AtomicWriter& out, const Contents& contents, const Progress& progress) {
  const Graph& graph = contents.graph;
  const ConstTensorView& values = contents.values;
  const std::string_view note = contents.note;
  check_scalar_values(values, ".mtx");
  const bool packed = out.path().ends_with(".gz") || out.path().ends_with(".GZ");
  const std::string_view field = !values ? "pattern" : is_floating(values.dtype) ? "real" : "integer";
  const EdgeId edges = graph.num_edges();
  const std::string head = fmt::format(
      "{} matrix coordinate {} general\n% row = destination, column = source; written by weft\n{}{} {} {}\n",
      mtx_banner, field, note.empty() ? "" : fmt::format("{}{}\n", mtx_note, note), graph.num_rows(), graph.num_cols(),
      edges);
  out.write(packed ? gzip_member(head) : head);
  const Ends ends = ends_by_id(graph.view());

  const auto block_text = [&](EdgeId begin, EdgeId end) {
    if (!values) return lines(ends, begin, end, [](char* at, char*, EdgeId) { return at; });
    return with_any_dtype(values.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      return lines(ends, begin, end, [&](char* at, char* limit, EdgeId id) {
        *at++ = ' ';
        return std::to_chars(at, limit, printable(value_at<T>(values, id))).ptr;
      });
    });
  };
  const int threads = default_threads();
  std::vector<std::string> blocks(static_cast<std::size_t>(threads) * 4);
  for (EdgeId done = 0; done < edges;) {
    const EdgeId left = (edges - done + block_edges - 1) / block_edges;
    const EdgeId now = std::min<EdgeId>(left, static_cast<EdgeId>(blocks.size()));
    parallel_tasks(threads, now, [&](std::int64_t i, int) {
      const EdgeId begin = done + i * block_edges;
      std::string text = block_text(begin, std::min(begin + block_edges, edges));
      blocks[static_cast<std::size_t>(i)] = packed ? gzip_member(text) : std::move(text);
    });
    for (EdgeId i = 0; i < now; ++i) out.write(blocks[static_cast<std::size_t>(i)]);
    done = std::min(done + now * block_edges, edges);
    if (progress) progress("writing", done, edges);
  }
}

}  // namespace weft::io
