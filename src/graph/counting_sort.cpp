#include "graph/counting_sort.hpp"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/scan.hpp"

// Sorting by one end takes two stable moves: by the key's upper bits into buckets, then inside each
// bucket by its lower bits. One move over all keys would write each edge to a random cache line through
// a cursor that is itself out of cache: for 20 M edges on 1 M nodes that was half as fast.
namespace weft {
namespace {

// What moves with an edge: the end it is not being sorted by, and its id. 8 bytes while ids fit 32
// bits, 12 beyond; 4 more on the way through a bucket, for the key.
struct NarrowLink {
  using Cursor = std::uint32_t;
  NodeId node;
  std::uint32_t low;

  static NarrowLink make(NodeId node, EdgeId id) { return {node, static_cast<std::uint32_t>(id)}; }
  EdgeId id() const { return low; }
};
struct WideLink {
  using Cursor = std::uint64_t;
  NodeId node;
  std::uint32_t low, high;

  static WideLink make(NodeId node, EdgeId id) {
    return {node, static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(id >> 32)};
  }
  EdgeId id() const { return static_cast<EdgeId>(high) << 32 | low; }
};
template <class Link>
struct Keyed {
  NodeId key;
  Link link;
};
static_assert(sizeof(NarrowLink) == 8 && sizeof(WideLink) == 12);
static_assert(sizeof(Keyed<NarrowLink>) == 12 && sizeof(Keyed<WideLink>) == 16);

// One stable move. walk(begin, end, visit) calls visit(key, value) for items [begin, end) in order;
// put(position, value) receives each at its place. offsets[0 .. num_keys) become `base` plus the number
// of items before each key. Chunks of the input count for themselves, so that they can write at once and
// still keep the order; `budget` bytes bound the counts, one chunk being the least.
template <class Cursor, class Walk, class Put>
void counting_move(int threads, std::int64_t num_keys, std::int64_t count, std::size_t budget, EdgeId base,
                   EdgeId* offsets, const Walk& walk, const Put& put) {
  const auto affordable = static_cast<std::int64_t>(budget / (sizeof(Cursor) * static_cast<std::size_t>(num_keys)));
  const std::int64_t chunks = std::clamp<std::int64_t>(std::min(affordable, count / scan_grain), 1, threads);
  const auto border = [&](std::int64_t i) { return count / chunks * i + std::min(i, count % chunks); };
  Buffer<Cursor> cursors(static_cast<std::size_t>(chunks * num_keys), "counts of a counting sort");
  parallel_tasks(threads, chunks, [&](std::int64_t chunk, int) {
    Cursor* mine = cursors.data() + chunk * num_keys;
    std::fill_n(mine, num_keys, Cursor{0});
    walk(border(chunk), border(chunk + 1), [mine](std::int64_t key, const auto&) { ++mine[key]; });
  });
  EdgeId position = base;
  for (std::int64_t key = 0; key < num_keys; ++key) {
    offsets[key] = position;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      Cursor& cursor = cursors[static_cast<std::size_t>(chunk * num_keys + key)];
      position += static_cast<EdgeId>(std::exchange(cursor, static_cast<Cursor>(position)));
    }
  }
  parallel_tasks(threads, chunks, [&](std::int64_t chunk, int) {
    Cursor* mine = cursors.data() + chunk * num_keys;
    walk(border(chunk), border(chunk + 1),
         [mine, &put](std::int64_t key, const auto& value) { put(static_cast<EdgeId>(mine[key]++), value); });
  });
}

// Edges on their way: by bucket, in each bucket in the order they came.
template <class Link>
struct Buckets {
  int shift = 0;
  std::int64_t num_keys = 0;
  std::size_t budget = 0;
  std::vector<EdgeId> offsets;
  Buffer<Keyed<Link>> edges;
};

// walk(begin, end, visit) calls visit(key, node, id) for edges [begin, end) in order.
template <class Link, class Walk>
Buckets<Link> to_buckets(std::int64_t num_keys, std::int64_t count, std::size_t budget, const Walk& walk) {
  constexpr std::int64_t most_buckets = 1024;  // open write streams a second-level cache still holds
  Buckets<Link> result;
  while ((num_keys - 1) >> result.shift >= most_buckets) ++result.shift;
  const std::int64_t buckets = num_keys == 0 ? 0 : ((num_keys - 1) >> result.shift) + 1;
  result.num_keys = num_keys;
  result.budget = budget;
  result.offsets.assign(static_cast<std::size_t>(buckets) + 1, count);
  result.edges = Buffer<Keyed<Link>>(static_cast<std::size_t>(count), "edges being sorted");
  if (count == 0) return result;
  counting_move<typename Link::Cursor>(
      default_threads(), buckets, count, budget, 0, result.offsets.data(),
      [&, shift = result.shift](std::int64_t begin, std::int64_t end, const auto& visit) {
        walk(begin, end, [&visit, shift](NodeId key, NodeId node, EdgeId id) {
          visit(key >> shift, Keyed<Link>{key, Link::make(node, id)});
        });
      },
      [out = result.edges.data()](EdgeId position, const Keyed<Link>& edge) { out[position] = edge; });
  return result;
}

// put(position, link) receives every edge at its final place; `offsets` gets num_keys + 1 entries.
template <class Link, class Put>
void from_buckets(const Buckets<Link>& from, EdgeId* offsets, const Put& put) {
  const int threads = default_threads();
  const auto count = static_cast<std::int64_t>(from.edges.size());
  const std::int64_t buckets = static_cast<std::int64_t>(from.offsets.size()) - 1;
  const auto place = [&](std::int64_t bucket, int workers) {
    const EdgeId first = from.offsets[static_cast<std::size_t>(bucket)];
    const EdgeId last = from.offsets[static_cast<std::size_t>(bucket) + 1];
    const std::int64_t first_key = bucket << from.shift;
    const std::int64_t keys = std::min(std::int64_t{1} << from.shift, from.num_keys - first_key);
    counting_move<typename Link::Cursor>(
        workers, keys, last - first, from.budget, first, offsets + first_key,
        [edges = from.edges.data() + first, first_key](std::int64_t begin, std::int64_t end, const auto& visit) {
          for (std::int64_t i = begin; i < end; ++i) visit(edges[i].key - first_key, edges[i].link);
        },
        put);
  };
  // A bucket that holds more than its share, that of a hub say, is worked on by all threads together.
  const auto is_large = [&](std::int64_t bucket) {
    return from.offsets[static_cast<std::size_t>(bucket) + 1] - from.offsets[static_cast<std::size_t>(bucket)] >
           std::max(count / (2 * std::int64_t{threads}), scan_grain);
  };
  parallel_tasks(threads, buckets, [&](std::int64_t bucket, int) {
    if (!is_large(bucket)) place(bucket, 1);
  });
  for (std::int64_t bucket = 0; bucket < buckets; ++bucket)
    if (is_large(bucket)) place(bucket, threads);
  offsets[from.num_keys] = count;
}

// Places edges in a graph's final arrays.
template <class Link>
void finish(const Buckets<Link>& from, EdgeArrays& arrays) {
  arrays.nodes = Buffer<NodeId>(from.edges.size(), "columns of a graph");
  arrays.ids = Buffer<EdgeId>(from.edges.size(), "edge ids of a graph");
  from_buckets(from, arrays.offsets.data(),
               [nodes = arrays.nodes.data(), ids = arrays.ids.data()](EdgeId position, const Link& link) {
                 nodes[position] = link.node;
                 ids[position] = link.id();
               });
}

// A quarter of what the finished arrays take.
std::size_t count_budget(std::int64_t num_keys, std::int64_t count) {
  return static_cast<std::size_t>((num_keys + 1) * 8 + count * 12) / 4;
}

// Where there are more sources than edges, counting by source would cost more than the edges themselves:
// sort inside each row instead.
void sort_rows(std::int64_t num_rows, EdgeArrays& arrays) {
  parallel_row_ranges(arrays.offsets.data(), num_rows, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::pair<NodeId, EdgeId>> row_edges;
    for (std::int64_t row = begin; row < end; ++row) {
      const auto first = static_cast<std::size_t>(arrays.offsets[static_cast<std::size_t>(row)]);
      const auto last = static_cast<std::size_t>(arrays.offsets[static_cast<std::size_t>(row) + 1]);
      if (std::is_sorted(arrays.nodes.data() + first, arrays.nodes.data() + last)) continue;
      row_edges.clear();
      for (std::size_t k = first; k < last; ++k) row_edges.emplace_back(arrays.nodes[k], arrays.ids[k]);
      std::sort(row_edges.begin(), row_edges.end());
      for (std::size_t k = first; k < last; ++k) std::tie(arrays.nodes[k], arrays.ids[k]) = row_edges[k - first];
    }
  });
}

template <class Link>
EdgeArrays sort_with(std::int64_t num_destinations, std::int64_t num_sources, std::span<const NodeId> destinations,
                     std::span<const NodeId> sources) {
  const auto count = static_cast<std::int64_t>(sources.size());
  const std::size_t budget = count_budget(num_destinations, count);
  EdgeArrays arrays;
  arrays.offsets = Buffer<EdgeId>(static_cast<std::size_t>(num_destinations) + 1, "offsets of a graph");
  if (num_sources > count) {
    finish(to_buckets<Link>(num_destinations, count, budget,
                            [row = destinations.data(), col = sources.data()](std::int64_t begin, std::int64_t end,
                                                                              const auto& visit) {
                              for (std::int64_t i = begin; i < end; ++i) visit(row[i], col[i], i);
                            }),
           arrays);
    sort_rows(num_destinations, arrays);
    return arrays;
  }
  Buffer<EdgeId> source_offsets(static_cast<std::size_t>(num_sources) + 1, "offsets of an edge list by source");
  Buffer<Link> by_source;
  {
    const Buckets<Link> buckets = to_buckets<Link>(
        num_sources, count, budget,
        [row = destinations.data(), col = sources.data()](std::int64_t begin, std::int64_t end, const auto& visit) {
          for (std::int64_t i = begin; i < end; ++i) visit(col[i], row[i], i);
        });
    by_source = Buffer<Link>(static_cast<std::size_t>(count), "edges by source");
    from_buckets(buckets, source_offsets.data(),
                 [out = by_source.data()](EdgeId position, const Link& link) { out[position] = link; });
  }
  const Buckets<Link> buckets =
      to_buckets<Link>(num_destinations, count, budget,
                       [links = by_source.data(), offsets = source_offsets.data(), num_sources](
                           std::int64_t begin, std::int64_t end, const auto& visit) {
                         for_each_run(offsets, num_sources, begin, end, [&](NodeId source, EdgeId first, EdgeId last) {
                           for (EdgeId i = first; i < last; ++i) visit(links[i].node, source, links[i].id());
                         });
                       });
  by_source = {};  // before the final arrays are asked for: this is what keeps the peak at twice the result
  source_offsets = {};
  finish(buckets, arrays);
  return arrays;
}

template <class Link>
EdgeArrays reverse_with(const GraphView& graph) {
  EdgeArrays arrays;
  arrays.offsets = Buffer<EdgeId>(static_cast<std::size_t>(graph.num_cols) + 1, "offsets of a transpose");
  finish(to_buckets<Link>(graph.num_cols, graph.num_edges, count_budget(graph.num_cols, graph.num_edges),
                          [&](std::int64_t begin, std::int64_t end, const auto& visit) {
                            for_each_run(graph.offsets, graph.num_rows, begin, end,
                                         [&](NodeId row, EdgeId first, EdgeId last) {
                                           for (EdgeId k = first; k < last; ++k)
                                             visit(graph.cols[k], row, graph.edge_id(k));
                                         });
                          }),
         arrays);
  return arrays;
}

}  // namespace

EdgeArrays sort_edges(std::int64_t num_destinations, std::int64_t num_sources, std::span<const NodeId> destinations,
                      std::span<const NodeId> sources, EdgeId narrow_limit) {
  return static_cast<EdgeId>(sources.size()) < narrow_limit
             ? sort_with<NarrowLink>(num_destinations, num_sources, destinations, sources)
             : sort_with<WideLink>(num_destinations, num_sources, destinations, sources);
}

EdgeArrays reverse_edges(const GraphView& graph, EdgeId narrow_limit) {
  return graph.num_edges < narrow_limit ? reverse_with<NarrowLink>(graph) : reverse_with<WideLink>(graph);
}

}  // namespace weft
