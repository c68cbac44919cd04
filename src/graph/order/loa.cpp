// HC-SpMM's layout for windows of rows: Algorithm 6 of the paper, with what it leaves open decided here. Ties go to the
// node with more edges, then to the one that comes first; a window whose candidates are all taken goes on with the next
// node that is left.
#include <algorithm>
#include <numeric>

#include "core/check.hpp"
#include "core/memory.hpp"
#include "core/parallel.hpp"
#include "core/stopwatch.hpp"
#include "graph/counting_sort.hpp"
#include "graph/graph_internals.hpp"
#include "graph/order/cuda/loa.hpp"
#include "graph/order/placed.hpp"
#include "graph/scan.hpp"
#include "weft/reorder.hpp"

namespace weft {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// Nodes with neighbours, by the smallest of those, then by number; and behind them all others.
struct Candidates {
  std::vector<NodeId> nodes;
  std::int64_t count = 0;  // of those with neighbours
};
Candidates by_smallest_neighbour(const GraphView& g) {
  std::vector<NodeId> smallest(at(g.num_rows));
  parallel_row_ranges(g.offsets, g.num_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      smallest[at(v)] = g.offsets[v] == g.offsets[v + 1]
                            ? static_cast<NodeId>(g.num_cols)
                            : *std::min_element(g.cols + g.offsets[v], g.cols + g.offsets[v + 1]);
  });
  // A counting sort: the neighbours are numbers below num_cols.
  std::vector<NodeId> next(at(g.num_cols) + 2, 0);
  for (const NodeId u : smallest) ++next[at(u) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  Candidates result{std::vector<NodeId>(at(g.num_rows)), next[at(g.num_cols)]};
  for (std::int64_t v = 0; v < g.num_rows; ++v) result.nodes[at(next[at(smallest[at(v)])]++)] = static_cast<NodeId>(v);
  return result;
}

/// Fills windows from one range of the candidates.
class WindowFiller {
 public:
  WindowFiller(const GraphView& rows, const EdgeArrays& columns, const std::vector<NodeId>& nodes,
               const std::vector<NodeId>& position, const LoaOptions& options)
      : rows_(rows),
        columns_(columns),
        nodes_(nodes),
        position_(position),
        options_(options),
        seen_(at(rows.num_cols), -1),
        shared_(at(options.look_ahead)) {}

  /// The nodes at [begin, end) of the candidates, arranged, to `out`.
  void arrange(std::int64_t begin, std::int64_t end, NodeId* out) {
    taken_.assign(at(end - begin), false);
    begin_ = begin;
    end_ = end;
    std::int64_t first = begin;  // all before it are taken
    for (std::int64_t left = end - begin; left > 0;) {
      while (taken_[at(first - begin)]) ++first;
      ++window_;
      edges_ = distinct_ = 0;
      first_ = first;
      std::ranges::fill(shared_, 0);
      std::int64_t next = first;
      for (std::int64_t i = 0; i < options_.window && left > 0; ++i, --left) {
        if (i > 0) next = best();
        taken_[at(next - begin)] = true;
        *out++ = nodes_[at(next)];
        add_columns(nodes_[at(next)]);
      }
    }
  }

 private:
  std::int64_t degree(NodeId v) const { return rows_.offsets[v + 1] - rows_.offsets[v]; }

  /// The place of the candidate with which edges per column become most.
  std::int64_t best() const {
    std::int64_t found = -1, most = 0, over = 1, edges_of_found = 0;
    const std::int64_t last = std::min(end_, first_ + 1 + options_.look_ahead);
    for (std::int64_t j = first_ + 1; j < last; ++j) {
      if (taken_[at(j - begin_)]) continue;
      const std::int64_t edges = degree(nodes_[at(j)]);
      const std::int64_t all = edges_ + edges, columns = distinct_ + edges - shared_[at(j - first_ - 1)];
      const std::int64_t left = all * over, right = most * columns;  // all / columns against most / over
      if (left < right || (left == right && edges <= edges_of_found)) continue;
      found = j;
      most = all;
      over = columns;
      edges_of_found = edges;
    }
    if (found >= 0) return found;
    std::int64_t next = last;
    while (taken_[at(next - begin_)]) ++next;
    return next;
  }

  /// The columns of a row that has come, for which every candidate that has them too is a better one.
  void add_columns(NodeId v) {
    edges_ += degree(v);
    for (EdgeId k = rows_.offsets[v]; k < rows_.offsets[v + 1]; ++k) {
      const NodeId u = rows_.cols[k];
      if (std::exchange(seen_[at(u)], window_) == window_) continue;
      ++distinct_;
      for (EdgeId r = columns_.offsets[at(u)]; r < columns_.offsets[at(u) + 1]; ++r) {
        const std::int64_t ahead = position_[at(columns_.nodes[at(r)])] - first_ - 1;
        if (ahead >= 0 && ahead < options_.look_ahead) ++shared_[at(ahead)];
      }
    }
  }

  const GraphView& rows_;
  const EdgeArrays& columns_;
  const std::vector<NodeId>& nodes_;
  const std::vector<NodeId>& position_;
  const LoaOptions& options_;
  std::vector<std::int32_t> seen_;    // the window that last had a column
  std::vector<std::int64_t> shared_;  // edges of a candidate to columns of the window, by its distance from the first
  std::vector<bool> taken_;
  std::int64_t begin_ = 0, end_ = 0, first_ = 0;
  std::int32_t window_ = -1;
  std::int64_t edges_ = 0, distinct_ = 0;  // of the window
};

void arrange_on_host(int most_threads, const Graph& graph, const LoaOptions& options, std::span<NodeId> order) {
  const Graph host = placed_on(graph, Device{});
  const GraphView view = host.host_view();
  const EdgeArrays columns = reverse_edges(view);
  const Candidates candidates = by_smallest_neighbour(view);
  std::vector<NodeId> position(at(view.num_rows));
  for (std::size_t i = 0; i < position.size(); ++i) position[at(candidates.nodes[i])] = static_cast<NodeId>(i);

  std::ranges::copy(candidates.nodes, order.begin());
  const std::int64_t range = options.range > 0 ? options.range : std::max<std::int64_t>(candidates.count, 1);
  const std::int64_t ranges = (candidates.count + range - 1) / range;
  const int threads = static_cast<int>(std::min<std::int64_t>(most_threads, std::max<std::int64_t>(ranges, 1)));
  std::vector<std::unique_ptr<WindowFiller>> fillers(at(threads));
  parallel_tasks(threads, ranges, [&](std::int64_t i, int thread) {
    std::unique_ptr<WindowFiller>& filler = fillers[at(thread)];
    if (filler == nullptr) filler = std::make_unique<WindowFiller>(view, columns, candidates.nodes, position, options);
    const std::int64_t begin = i * range, end = std::min(candidates.count, begin + range);
    filler->arrange(begin, end, order.data() + begin);
  });
}

}  // namespace

Reordering loa_order(const Context& context, const Graph& graph, const LoaOptions& options) {
  WEFT_CHECK(graph.is_square(), invalid_argument, "graph is {} x {}: loa_order needs a square one", graph.num_rows(),
             graph.num_cols());
  WEFT_CHECK(options.window >= 1 && options.window <= 1024, invalid_argument, "window is {}: expected 1 to 1024 rows",
             options.window);
  WEFT_CHECK(options.look_ahead >= 1 && options.look_ahead <= 1 << 20, invalid_argument,
             "look_ahead is {}: expected 1 to {} nodes", options.look_ahead, 1 << 20);
  WEFT_CHECK(options.range >= 0 && options.range % options.window == 0, invalid_argument,
             "range is {}: expected 0, or a multiple of {}, the rows of a window", options.range, options.window);
  const Stopwatch watch;
  Reordering result;
  result.method = name(ReorderMethod::loa);
  result.order = Tensor::empty(Shape(graph.num_rows()), Dtype::i32, "the order of nodes");
  const auto order = result.order.span<NodeId>();
  const Device device = context.device();
  if (device.kind == DeviceKind::cuda && cuda::arranges_on_gpu(options)) {
    result.device = device;
    const Graph here = placed_on(graph, device, context.stream());
    const DeviceBuffer there =
        cuda::arrange_by_ranges(device, context.stream(), GraphInternals::view_without_ids(here), options);
    copy_bytes(Device{}, order.data(), device, there.data(), order.size_bytes(), context.stream());
  } else {
    const int threads = device.kind == DeviceKind::cpu ? context.threads() : default_threads();
    or_out_of_memory("an order of nodes", [&] { arrange_on_host(threads, graph, options, order); });
  }
  result.seconds = watch.seconds();
  return result;
}

}  // namespace weft
