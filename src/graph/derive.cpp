// Graphs made from another one. Each is described row by row as a sequence of (column, source edge id)
// in ascending order; one engine counts and then writes them, so all agree on order, ids and origins.
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/names.hpp"
#include "graph/counting_sort.hpp"
#include "graph/graph_impl.hpp"
#include "graph/scan.hpp"

namespace weft {
namespace {

constexpr EdgeId new_edge = -1;

void check_square(const Graph& graph, std::string_view function) {
  WEFT_CHECK(graph.is_square(), invalid_argument, "graph is {} x {}: {} needs a square one", graph.num_rows(),
             graph.num_cols(), function);
}

bool rows_are_ordered(const GraphView& view) {
  std::atomic<bool> ordered{true};
  parallel_row_ranges(view.offsets, view.num_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end && ordered.load(std::memory_order_relaxed); ++row)
      for (EdgeId k = view.offsets[row]; k + 1 < view.offsets[row + 1]; ++k)
        if (view.cols[k] > view.cols[k + 1] ||
            (view.cols[k] == view.cols[k + 1] && view.edge_id(k) > view.edge_id(k + 1)))
          return ordered.store(false, std::memory_order_relaxed);
  });
  return ordered.load();
}

// The same graph with the same ids, every row by column, then id. Graphs built from edges are that already.
Graph ordered(const Graph& graph) {
  const GraphView view = graph.host_view();
  if (rows_are_ordered(view)) return graph;
  const auto count = static_cast<std::size_t>(view.num_edges);
  Buffer<NodeId> destinations(count, "destinations by edge id"), sources(count, "sources by edge id");
  parallel_runs(view.offsets, view.num_rows, view.num_edges, [&](NodeId row, EdgeId first, EdgeId last) {
    for (EdgeId k = first; k < last; ++k) {
      const auto id = static_cast<std::size_t>(view.edge_id(k));
      destinations[id] = row;
      sources[id] = view.cols[k];
    }
  });
  return Graph::from_edges({.num_sources = view.num_cols, .num_destinations = view.num_rows},
                           {.sources = {sources.data(), count}, .destinations = {destinations.data(), count}});
}

Tensor ids_in_stored_order(const GraphView& view) {
  Tensor ids = Tensor::empty(Shape(view.num_edges), Dtype::i64, "origin of a derived graph's edges");
  parallel_ranges(default_threads(), view.num_edges, scan_grain,
                  [&view, out = ids.span<EdgeId>().data()](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t k = begin; k < end; ++k) out[k] = view.edge_id(k);
                  });
  return ids;
}

// Writes one row: edges to `cols`, their source edges to `ids`, and where a united edge's source
// edges begin to `groups`. Null pointers only count.
struct RowWriter {
  Duplicates duplicates;
  NodeId* cols = nullptr;
  EdgeId* ids = nullptr;
  EdgeId* groups = nullptr;
  EdgeId edges = 0, members = 0;  // written so far
  NodeId last = -1;               // column of the edge before, in this row

  void operator()(NodeId col, EdgeId id) {
    const bool again = duplicates != Duplicates::keep && col == last;
    last = col;
    if (again && duplicates == Duplicates::drop) return;
    if (!again) {
      if (cols != nullptr) cols[edges] = col;
      if (groups != nullptr) groups[edges] = members;
      ++edges;
    }
    if (ids != nullptr) ids[members] = id;
    ++members;
  }
};

// make_walk() gives one walker a range of rows; walk(row, visit) calls visit(col, source id) for the
// row's edges by (col, id). `load` are offsets of rows of about the same work, to share it evenly.
template <class MakeWalk>
Derived derive(std::int64_t nodes, std::int64_t num_cols, const EdgeId* load, Duplicates duplicates,
               const MakeWalk& make_walk) {
  const auto rows = static_cast<std::size_t>(nodes);
  EdgeArrays arrays;
  arrays.offsets = Buffer<EdgeId>(rows + 1, "offsets of a derived graph");
  const bool merge = duplicates == Duplicates::merge;
  Buffer<EdgeId> members;  // [rows + 1]: source edges before each row, where that is another number
  if (merge) members = Buffer<EdgeId>(rows + 1, "source edges of a derived graph");
  parallel_row_ranges(load, nodes, [&](std::int64_t begin, std::int64_t end) {
    auto walk = make_walk();
    for (std::int64_t row = begin; row < end; ++row) {
      RowWriter writer{duplicates};
      walk(row, writer);
      arrays.offsets[static_cast<std::size_t>(row) + 1] = writer.edges;
      if (merge) members[static_cast<std::size_t>(row) + 1] = writer.members;
    }
  });
  const EdgeId edges = counts_to_offsets({arrays.offsets.data(), rows + 1});
  const EdgeId sources = merge ? counts_to_offsets({members.data(), rows + 1}) : edges;

  arrays.nodes = Buffer<NodeId>(static_cast<std::size_t>(edges), "columns of a derived graph");
  Tensor ids = Tensor::empty(Shape(sources), Dtype::i64, "origin of a derived graph's edges");
  Tensor groups;
  if (merge) {
    groups = Tensor::empty(Shape(edges + 1), Dtype::i64, "origin offsets of a derived graph");
    groups.span<EdgeId>()[static_cast<std::size_t>(edges)] = sources;
  }
  parallel_row_ranges(load, nodes, [&](std::int64_t begin, std::int64_t end) {
    auto walk = make_walk();
    RowWriter writer{duplicates, arrays.nodes.data(), ids.span<EdgeId>().data(),
                     merge ? groups.span<EdgeId>().data() : nullptr};
    writer.edges = arrays.offsets[static_cast<std::size_t>(begin)];
    writer.members = merge ? members[static_cast<std::size_t>(begin)] : writer.edges;
    for (std::int64_t row = begin; row < end; ++row) {
      writer.last = -1;
      walk(row, writer);
    }
  });
  EdgeOrigin origin = merge ? EdgeOrigin(std::move(groups), std::move(ids)) : EdgeOrigin(std::move(ids));
  return {own(nodes, num_cols, std::move(arrays)), std::move(origin)};
}

}  // namespace

Derived in_stored_order(const Graph& graph) {
  Tensor ids = ids_in_stored_order(graph.host_view());
  if (!graph.has_edge_ids()) return {graph, EdgeOrigin(std::move(ids))};
  return {Graph::adopt(graph.num_rows(), graph.num_cols(), graph.offsets(), graph.cols(), {},
                       std::make_shared<const Graph>(graph), Validate::trusted),
          EdgeOrigin(std::move(ids))};
}

Derived simplify(const Graph& graph, Duplicates duplicates) {
  check_enum(duplicates, Duplicates::merge, "duplicates");
  const Graph base = ordered(graph);
  if (duplicates == Duplicates::keep) return in_stored_order(base);
  const GraphView view = base.host_view();
  return derive(view.num_rows, view.num_cols, view.offsets, duplicates, [&view] {
    return [&view](std::int64_t row, auto& visit) {
      for (EdgeId k = view.offsets[row]; k < view.offsets[row + 1]; ++k) visit(view.cols[k], view.edge_id(k));
    };
  });
}

Derived with_self_loops(const Graph& graph, SelfLoops self_loops) {
  check_enum(self_loops, SelfLoops::remove, "self_loops");
  check_square(graph, "with_self_loops");
  const Graph base = ordered(graph);
  if (self_loops == SelfLoops::keep) return in_stored_order(base);
  const bool add = self_loops == SelfLoops::add;
  const GraphView view = base.host_view();
  return derive(view.num_rows, view.num_cols, view.offsets, Duplicates::keep, [&view, add] {
    return [&view, add](std::int64_t row, auto& visit) {
      bool missing = add;
      for (EdgeId k = view.offsets[row]; k < view.offsets[row + 1]; ++k) {
        const NodeId col = view.cols[k];
        if (missing && col >= row) {
          if (col > row) visit(static_cast<NodeId>(row), new_edge);
          missing = false;
        }
        if (add || col != row) visit(col, view.edge_id(k));
      }
      if (missing) visit(static_cast<NodeId>(row), new_edge);
    };
  });
}

Derived symmetrise(const Graph& graph, Duplicates duplicates) {
  check_enum(duplicates, Duplicates::merge, "duplicates");
  check_square(graph, "symmetrise");
  const Graph base = ordered(graph);
  const GraphView view = base.host_view();
  const EdgeArrays reversed = reverse_edges(view);  // not graph.transpose(): that would stay with the caller's graph
  Buffer<EdgeId> load(static_cast<std::size_t>(view.num_rows) + 1, "edges per row before a graph is made symmetric");
  for (std::size_t row = 0; row < load.size(); ++row) load[row] = view.offsets[row] + reversed.offsets[row];
  // Of an edge that is there in both directions each keeps its own value, so that it is visited before the other's
  // reverse.
  const bool own_first = duplicates == Duplicates::drop;
  return derive(view.num_rows, view.num_cols, load.data(), duplicates, [&] {
    return [&](std::int64_t row, auto& visit) {
      const auto precedes = [&](EdgeId k, NodeId back, EdgeId back_id) {
        if (own_first) return view.cols[k] <= back;
        return std::pair(view.cols[k], view.edge_id(k)) < std::pair(back, back_id);
      };
      EdgeId k = view.offsets[row];
      EdgeId r = reversed.offsets[static_cast<std::size_t>(row)];
      const EdgeId k_end = view.offsets[row + 1];
      const EdgeId r_end = reversed.offsets[static_cast<std::size_t>(row) + 1];
      while (k < k_end || r < r_end) {
        const NodeId back = r < r_end ? reversed.nodes[static_cast<std::size_t>(r)] : NodeId{0};
        const EdgeId back_id = r < r_end ? reversed.ids[static_cast<std::size_t>(r)] : EdgeId{0};
        if (r < r_end && back == row) {
          ++r;
        } else if (r == r_end || (k < k_end && precedes(k, back, back_id))) {
          visit(view.cols[k], view.edge_id(k));
          ++k;
        } else {
          visit(back, back_id);
          ++r;
        }
      }
    };
  });
}

Derived induced_subgraph(const Graph& graph, std::span<const NodeId> nodes) {
  check_square(graph, "induced_subgraph");
  const GraphView view = graph.host_view();
  const auto count = static_cast<std::int64_t>(nodes.size());
  const std::int64_t outside = find_first(count, [&](std::int64_t i) {
    return nodes[static_cast<std::size_t>(i)] < 0 || nodes[static_cast<std::size_t>(i)] >= view.num_rows;
  });
  if (outside < count)
    fail(ErrorCode::invalid_argument, "nodes[{}] is {}: expected a node id from 0 to {} (the graph has {} nodes)",
         outside, nodes[static_cast<std::size_t>(outside)], view.num_rows - 1, view.num_rows);

  Buffer<NodeId> place(static_cast<std::size_t>(view.num_rows), "places of the nodes of a subgraph");
  Buffer<EdgeId> load(nodes.size() + 1, "edges per row before a subgraph is taken");
  std::fill(place.begin(), place.end(), NodeId{-1});
  load[0] = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NodeId node = nodes[i];
    NodeId& at = place[static_cast<std::size_t>(node)];
    WEFT_CHECK(at < 0, invalid_argument, "nodes[{}] is {}, as is nodes[{}]: expected each node once", i, node, at);
    at = static_cast<NodeId>(i);
    load[i + 1] = load[i] + view.offsets[node + 1] - view.offsets[node];
  }
  return derive(count, count, load.data(), Duplicates::keep, [&] {
    return [&, kept = std::vector<std::pair<NodeId, EdgeId>>()](std::int64_t row, auto& visit) mutable {
      kept.clear();
      const NodeId node = nodes[static_cast<std::size_t>(row)];
      for (EdgeId k = view.offsets[node]; k < view.offsets[node + 1]; ++k)
        if (const NodeId col = place[static_cast<std::size_t>(view.cols[k])]; col >= 0)
          kept.emplace_back(col, view.edge_id(k));
      if (!std::is_sorted(kept.begin(), kept.end())) std::sort(kept.begin(), kept.end());
      for (const auto& [col, id] : kept) visit(col, id);
    };
  });
}

}  // namespace weft
