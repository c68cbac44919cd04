// The bodies of passes that draw and cut out batches, run by the loops of either device.
#pragma once

#include "core/loops/with_storage.hpp"
#include "nn/sample/passes.hpp"

namespace weft::nn {

/// Several threads may say so of one node.
WEFT_ANYWHERE inline void mark(NodeId* local, NodeId node) {
#ifdef __CUDA_ARCH__
  local[node] = marked;
#else
  __atomic_store_n(local + node, marked, __ATOMIC_RELAXED);
#endif
}
WEFT_ANYWHERE inline bool is_absent(const NodeId* local, NodeId node) {
#ifdef __CUDA_ARCH__
  return local[node] == absent;
#else
  return __atomic_load_n(local + node, __ATOMIC_RELAXED) == absent;
#endif
}

struct MarkDrawn {
  MarkArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const GraphView& g = args.graph;
    const FourWords first = args.draws.words(i, 0);
    if (args.method == Sampling::node) {
      const std::int64_t drawn = below(first.at[0], first.at[1], g.num_edges + g.num_rows);
      return mark(args.local, drawn < g.num_edges ? g.cols[drawn] : static_cast<NodeId>(drawn - g.num_edges));
    }
    const bool walks = args.method == Sampling::walk;
    const std::int64_t from = below(first.at[0], first.at[1], walks ? args.num_roots : g.num_rows);
    NodeId node = walks ? args.roots[from] : static_cast<NodeId>(from);
    mark(args.local, node);
    for (std::int64_t step = 1; step <= args.length; ++step) {
      const EdgeId begin = g.offsets[node], degree = g.offsets[node + 1] - begin;
      if (degree == 0) return;
      node = g.cols[begin + args.draws.below(i, static_cast<std::uint32_t>(step), degree)];
      mark(args.local, node);
    }
  }
};

struct Number {
  NumberArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    args.local[args.nodes[i]] = args.first == absent ? absent : args.first + static_cast<NodeId>(i);
  }
};

struct TakeRow {
  TakeRowsArgs args;
  template <class Team>
  WEFT_ANYWHERE void operator()(const Team& team, std::int64_t i) const {
    const EdgeId begin = args.graph.offsets[args.nodes[i]], end = args.graph.offsets[args.nodes[i] + 1];
    const auto number = [&](EdgeId k) {
      const NodeId col = args.graph.cols[k];
      return args.local != nullptr ? args.local[col] : col;
    };
    if (args.cols == nullptr) {
      EdgeId length = args.local != nullptr ? 0 : team.lane() == 0 ? end - begin : 0;
      if (args.local != nullptr)
        for (EdgeId k = begin + team.lane(); k < end; k += team.lanes()) length += number(k) >= 0 ? 1 : 0;
      length = team.sum(length);
      if (team.lane() == 0) args.offsets[i + 1] = length;
      return;
    }
    EdgeId to = args.offsets[i];
    for (EdgeId first = begin; first < end; first += team.lanes()) {
      const EdgeId k = first + team.lane();
      const NodeId col = k < end ? number(k) : absent;
      const EdgeId at = to + team.rank(col >= 0);
      to += team.count(col >= 0);
      if (col < 0) continue;
      args.cols[at] = col;
      args.places[at] = k;
    }
  }
};

struct DrawRow {
  DrawRowsArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const NodeId node = args.nodes[i];
    const EdgeId begin = args.graph.offsets[node], end = args.graph.offsets[node + 1];
    const EdgeId loop = args.keeps_loops ? find(node, begin, end) : end;
    const EdgeId others = end - begin - (loop < end ? 1 : 0);
    const EdgeId drawn = others < args.fanout ? others : args.fanout;
    if (args.cols == nullptr) {
      args.offsets[i + 1] = drawn + (loop < end ? 1 : 0);
      return;
    }
    EdgeId to = args.offsets[i];
    if (loop < end) take(to++, loop, 1);
    const EdgeId first = to;
    const float multiple = drawn > 0 ? static_cast<float>(others) / static_cast<float>(drawn) : 1;
    // Floyd's way: place j is taken where the one drawn from the first j + 1 has been.
    for (EdgeId j = others - drawn; j < others; ++j) {
      const EdgeId k =
          drawn == others ? j
                          : args.draws.below(i, args.hop * most_fanout + static_cast<std::uint32_t>(to - first), j + 1);
      EdgeId place = past_loop(begin + k, loop);
      for (EdgeId before = first; before < to && drawn < others; ++before)
        if (args.places[before] == place) place = past_loop(begin + j, loop);
      take(to++, place, multiple);
    }
  }

 private:
  /// The place of an edge from the node to itself among columns that ascend, or `end`.
  WEFT_ANYWHERE EdgeId find(NodeId node, EdgeId begin, EdgeId end) const {
    EdgeId low = begin, high = end;
    while (low < high) {
      const EdgeId middle = low + (high - low) / 2;
      if (args.graph.cols[middle] < node) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < end && args.graph.cols[low] == node ? low : end;
  }
  WEFT_ANYWHERE static EdgeId past_loop(EdgeId place, EdgeId loop) { return place >= loop ? place + 1 : place; }
  WEFT_ANYWHERE void take(EdgeId to, EdgeId place, float multiple) const {
    const NodeId col = args.graph.cols[place];
    args.cols[to] = col;
    args.places[to] = place;
    if (args.multiples != nullptr) args.multiples[to] = multiple;
    if (is_absent(args.local, col)) mark(args.local, col);
  }
};

struct Relabel {
  RelabelArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t e) const { args.cols[e] = args.local[args.cols[e]]; }
};

/// No two items of a batch are the same.
template <class Index>
struct CountOne {
  const Index* items;
  std::int32_t* counts;
  WEFT_ANYWHERE void operator()(std::int64_t i) const { ++counts[items[i]]; }
};

/// The id of the stored edge at `place`.
WEFT_ANYWHERE inline EdgeId id_at(const GraphView& graph, EdgeId place) {
  return graph.edge_ids != nullptr ? graph.edge_ids[place] : place;
}

/// One thread per row and one sum per row: the same bits on every device.
template <class T>
struct SumWeights {
  SumWeightsArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t row) const {
    double sum = 0;
    for (EdgeId k = args.graph.offsets[row]; k < args.graph.offsets[row + 1]; ++k)
      sum += static_cast<double>(static_cast<const T*>(args.weights)[id_at(args.graph, k)]);
    args.sums[row] = sum;
  }
};

template <class T>
struct WeighRow {
  WeighArgs args;
  template <class Team>
  WEFT_ANYWHERE void operator()(const Team& team, std::int64_t i) const {
    const NodeId node = args.nodes != nullptr ? args.nodes[i] : static_cast<NodeId>(i);
    const double share = args.by_rows ? static_cast<double>(args.graph.offsets[node + 1] - args.graph.offsets[node]) /
                                            static_cast<double>(args.offsets[i + 1] - args.offsets[i])
                                      : 1;
    for (EdgeId e = args.offsets[i] + team.lane(); e < args.offsets[i + 1]; e += team.lanes()) {
      const EdgeId place = args.places != nullptr ? args.places[e] : e;
      double weight = args.multiples != nullptr ? static_cast<double>(args.multiples[e]) : share;
      if (args.node_counts != nullptr) weight = (args.node_counts[node] + 1.0) / (args.edge_counts[place] + 1.0);
      if (args.values != nullptr)
        weight *= static_cast<double>(static_cast<const AccumulatorOf<T>*>(args.values)[id_at(args.graph, place)]);
      const double divisor = divisor_of(node, place);
      // Weights that cancel out give a degree of 0, whose share is 0 as in every GCN.
      weight = divisor > 0 ? weight / divisor : 0;
      static_cast<T*>(args.weights)[args.ids != nullptr ? args.ids[e] : e] =
          narrow_within<T>(static_cast<AccumulatorOf<T>>(weight));
    }
  }

 private:
  WEFT_ANYWHERE double divisor_of(NodeId node, EdgeId place) const {
    switch (args.norm) {
      case DegreeNorm::right: return in_degree(node);
      case DegreeNorm::left: return out_degree(place);
      case DegreeNorm::both:
        // A product of weighted degrees may leave the range of a double, that of their roots does not.
        return args.in_sums != nullptr ? sqrt(in_degree(node)) * sqrt(out_degree(place))
                                       : sqrt(in_degree(node) * out_degree(place));
      default: return 1;
    }
  }
  WEFT_ANYWHERE double in_degree(NodeId node) const {
    if (args.in_sums != nullptr) return args.in_sums[node];
    return static_cast<double>(args.graph.offsets[node + 1] - args.graph.offsets[node]);
  }
  WEFT_ANYWHERE double out_degree(EdgeId place) const {
    const NodeId col = args.graph.cols[place];
    if (args.out_sums != nullptr) return args.out_sums[col];
    return static_cast<double>(args.out_offsets[col + 1] - args.out_offsets[col]);
  }
};

struct LossWeight {
  LossWeightsArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    args.weights[i] = static_cast<float>((args.samples + 1) / (args.node_counts[args.nodes[i]] + 1.0));
  }
};

struct Shuffle {
  ShuffleArgs args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    args.nodes[i] = args.from[shuffled(args.first + i, args.total, args.draws)];
  }
};

template <class T, class Index>
struct Gather {
  GatherArgs<Index> args;
  WEFT_ANYWHERE void operator()(std::int64_t i) const {
    const std::int64_t row = quotient(i, args.width), at = i - row * args.width;
    static_cast<T*>(args.out)[i] = static_cast<const T*>(args.x)[args.from[row] * args.width + at];
  }
};

// ---- Which body, over how much ---------------------------------------------------------------

/// How many edges a row of the graph has, as far as the choice of a team goes.
inline std::int64_t mean_degree(const GraphView& graph) {
  return graph.num_rows > 0 ? graph.num_edges / graph.num_rows : 0;
}

template <class Loops>
void run_on(const Loops& on, const MarkArgs& args) {
  on.each(args.count, "drawing nodes", MarkDrawn{args});
}
template <class Loops>
void run_on(const Loops& on, const NumberArgs& args) {
  on.each(args.count, "numbering nodes", Number{args});
}
template <class Loops>
void run_on(const Loops& on, const TakeRowsArgs& args) {
  on.teams(args.count, mean_degree(args.graph), "taking rows", TakeRow{args});
}
template <class Loops>
void run_on(const Loops& on, const DrawRowsArgs& args) {
  on.each(args.count, "drawing neighbours", DrawRow{args});
}
template <class Loops>
void run_on(const Loops& on, const RelabelArgs& args) {
  on.each(args.count, "numbering columns", Relabel{args});
}
template <class Loops>
void run_on(const Loops& on, const CountArgs& args) {
  on.each(args.num_nodes, "counting nodes", CountOne<NodeId>{args.nodes, args.node_counts});
  if (args.edge_counts != nullptr)
    on.each(args.num_edges, "counting edges", CountOne<EdgeId>{args.places, args.edge_counts});
}
template <class Loops>
void run_on(const Loops& on, const SumWeightsArgs& args) {
  constexpr const char* what = "adding up weights";
  if (args.dtype == Dtype::f64) return on.each(args.graph.num_rows, what, SumWeights<double>{args});
  on.each(args.graph.num_rows, what, SumWeights<float>{args});
}
template <class Loops>
void run_on(const Loops& on, const WeighArgs& args) {
  loops::with_storage(on, args.dtype, [&]<class T>() { on.teams(args.count, 8, "weighing edges", WeighRow<T>{args}); });
}
template <class Loops>
void run_on(const Loops& on, const LossWeightsArgs& args) {
  on.each(args.count, "weighing losses", LossWeight{args});
}
template <class Loops>
void run_on(const Loops& on, const ShuffleArgs& args) {
  on.each(args.count, "shuffling nodes", Shuffle{args});
}
/// Of elements nothing but the size counts.
template <class Loops, class Index>
void run_on(const Loops& on, const GatherArgs<Index>& args) {
  const auto with = [&]<class T>() { on.each(args.count * args.width, "gathering rows", Gather<T, Index>{args}); };
  switch (size_of(args.dtype)) {
    case 2: return with.template operator()<std::uint16_t>();
    case 8: return with.template operator()<std::uint64_t>();
    default: with.template operator()<std::uint32_t>();
  }
}

}  // namespace weft::nn
