// Graphs from edge lists, from compressed rows, and from arrays somebody hands over.
#include <algorithm>
#include <limits>

#include "core/check.hpp"
#include "graph/counting_sort.hpp"
#include "graph/graph_impl.hpp"
#include "graph/scan.hpp"

namespace weft {
namespace {

bool in_stored_order(std::span<const NodeId> destinations, std::span<const NodeId> sources) {
  const auto count = static_cast<std::int64_t>(sources.size());
  const NodeId* row = destinations.data();
  const NodeId* col = sources.data();
  const std::int64_t pairs = std::max<std::int64_t>(count - 1, 0);
  return find_first(pairs, [=](std::int64_t i) {
           return (row[i] > row[i + 1]) | ((row[i] == row[i + 1]) & (col[i] > col[i + 1]));
         }) == pairs;
}

// Every row starts where the first edge of it or of a later row stands.
Buffer<EdgeId> offsets_of_sorted(std::int64_t num_rows, std::span<const NodeId> rows) {
  Buffer<EdgeId> offsets(static_cast<std::size_t>(num_rows) + 1, "offsets of a graph");
  const auto count = static_cast<std::int64_t>(rows.size());
  parallel_ranges(default_threads(), count, scan_grain, [&](std::int64_t begin, std::int64_t end) {
    NodeId previous = begin == 0 ? -1 : rows[static_cast<std::size_t>(begin) - 1];
    for (std::int64_t k = begin; k < end; ++k) {
      const NodeId row = rows[static_cast<std::size_t>(k)];
      if (row == previous) continue;
      std::fill(offsets.data() + previous + 1, offsets.data() + row + 1, k);
      previous = row;
    }
  });
  const NodeId last = count == 0 ? -1 : rows.back();
  std::fill(offsets.data() + last + 1, offsets.data() + num_rows + 1, count);
  return offsets;
}

template <class T>
Buffer<T> copy_of(std::span<const T> values, std::string_view what) {
  Buffer<T> copy(values.size(), what);
  parallel_ranges(default_threads(), static_cast<std::int64_t>(values.size()), scan_grain,
                  [&](std::int64_t begin, std::int64_t end) {
                    std::copy(values.data() + begin, values.data() + end, copy.data() + begin);
                  });
  return copy;
}

void check_row_arrays(std::int64_t num_destinations, std::int64_t num_sources, std::span<const EdgeId> offsets,
                      std::span<const NodeId> cols) {
  check_node_count(num_destinations, "num_destinations");
  check_node_count(num_sources, "num_sources");
  WEFT_CHECK(static_cast<std::int64_t>(offsets.size()) == num_destinations + 1, invalid_argument,
             "offsets has {} entries: expected num_destinations + 1 = {}", offsets.size(), num_destinations + 1);
  WEFT_CHECK(offsets.front() == 0, invalid_graph, "offsets[0] is {}: expected 0", offsets.front());
  WEFT_CHECK(offsets.back() == static_cast<std::int64_t>(cols.size()), invalid_graph,
             "offsets[{}] is {}: expected the number of edges, and cols has {}", num_destinations, offsets.back(),
             cols.size());
}

}  // namespace

void check_node_count(std::int64_t count, std::string_view argument) {
  constexpr std::int64_t limit = std::numeric_limits<NodeId>::max();
  WEFT_CHECK(count >= 0 && count <= limit, invalid_argument, "{} is {}: expected 0 to {} (node ids have 32 bits)",
             argument, count, limit);
}

void check_edge_list_sizes(std::int64_t num_destinations, std::int64_t num_sources, std::size_t destinations,
                           std::size_t sources) {
  check_node_count(num_destinations, "num_destinations");
  check_node_count(num_sources, "num_sources");
  WEFT_CHECK(destinations == sources, invalid_argument,
             "destinations has {} entries and sources has {}: expected one of each for every edge", destinations,
             sources);
}

void check_end(std::string_view argument, std::string_view bound_name, std::int64_t id, std::int64_t bound,
               std::int64_t k) {
  WEFT_CHECK(id >= 0 && id < bound, invalid_graph, "{}[{}] is {}: expected a node id from 0 to {} ({} is {})", argument,
             k, id, bound - 1, bound_name, bound);
}
void check_edge_ends(const GraphView& list, std::int64_t k, NodeId destination, NodeId source) {
  check_end("destinations", "num_destinations", destination, list.num_rows, k);
  check_end("sources", "num_sources", source, list.num_cols, k);
}

bool in_sequence(std::span<const EdgeId> edge_ids) {
  const auto count = static_cast<std::int64_t>(edge_ids.size());
  return find_first(count, [ids = edge_ids.data()](std::int64_t k) { return ids[k] != k; }) == count;
}

Graph Graph::from_edges(std::int64_t num_nodes, EdgeList edges) {
  check_node_count(num_nodes, "num_nodes");
  return from_edges({.num_sources = num_nodes, .num_destinations = num_nodes}, edges);
}

Graph Graph::from_edges(NodeCounts nodes, EdgeList edges) {
  const auto [num_sources, num_destinations] = nodes;
  const auto [sources, destinations] = edges;
  check_edge_list_sizes(num_destinations, num_sources, destinations.size(), sources.size());
  const auto count = static_cast<std::int64_t>(sources.size());
  const std::int64_t wrong = find_first(
      count, [row = destinations.data(), col = sources.data(), rows = static_cast<std::uint32_t>(num_destinations),
              cols = static_cast<std::uint32_t>(num_sources)](std::int64_t k) {
        return (static_cast<std::uint32_t>(row[k]) >= rows) | (static_cast<std::uint32_t>(col[k]) >= cols);
      });
  if (wrong < count)
    check_edge_ends({num_destinations, num_sources, count}, wrong, destinations[static_cast<std::size_t>(wrong)],
                    sources[static_cast<std::size_t>(wrong)]);
  if (in_stored_order(destinations, sources)) {
    EdgeArrays arrays;
    arrays.offsets = offsets_of_sorted(num_destinations, destinations);
    arrays.nodes = copy_of(sources, "columns of a graph");
    return own(num_destinations, num_sources, std::move(arrays));
  }
  return own(num_destinations, num_sources, sort_edges(num_destinations, num_sources, destinations, sources));
}

Graph Graph::from_csr(std::int64_t num_destinations, std::int64_t num_sources, std::span<const EdgeId> offsets,
                      std::span<const NodeId> cols) {
  check_row_arrays(num_destinations, num_sources, offsets, cols);
  validate(GraphView{num_destinations, num_sources, static_cast<std::int64_t>(cols.size()), offsets.data(), nullptr,
                     cols.data(), nullptr});
  EdgeArrays arrays;
  arrays.offsets = copy_of(offsets, "offsets of a graph");
  arrays.nodes = copy_of(cols, "columns of a graph");
  return own(num_destinations, num_sources, std::move(arrays));
}

Graph Graph::adopt(std::int64_t num_destinations, std::int64_t num_sources, std::span<const EdgeId> offsets,
                   std::span<const NodeId> cols, std::span<const EdgeId> edge_ids, std::shared_ptr<const void> keeper,
                   Validate validation) {
  check_row_arrays(num_destinations, num_sources, offsets, cols);
  WEFT_CHECK(edge_ids.empty() || edge_ids.size() == cols.size(), invalid_argument,
             "edge_ids has {} entries: expected none or one for each of the {} edges", edge_ids.size(), cols.size());
  if (validation == Validate::full) {
    weft::validate(GraphView{num_destinations, num_sources, static_cast<std::int64_t>(cols.size()), offsets.data(),
                             nullptr, cols.data(), edge_ids.empty() ? nullptr : edge_ids.data()});
    if (in_sequence(edge_ids)) edge_ids = {};
  }
  return Impl::make(num_destinations, num_sources, offsets, cols, edge_ids, std::move(keeper));
}

}  // namespace weft
