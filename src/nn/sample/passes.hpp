// Passes that draw batches from a graph and cut them out of it, where the context runs. All write the same to the bit
// on every device.
#pragma once

#include <cstdint>

#include "core/draws.hpp"
#include "core/loops/run.hpp"
#include "core/loops/value.hpp"
#include "weft/context.hpp"
#include "weft/graph.hpp"
#include "weft/nn.hpp"

namespace weft::nn {

using namespace loops;  // what passes are made of
using loops::run;       // so that calls find it by their arguments

// What stands for a node of the whole graph that has no number in the batch.
inline constexpr NodeId absent = -1, marked = -2;

/// Of neighbours that are drawn: each is compared with those before it.
inline constexpr std::uint32_t most_fanout = 4096;

/// Marks nodes: sources of edges drawn from all, and nodes drawn from all (Sampling::node: by out-degree + 1), of an
/// edge of a node drawn from all (edge), or on a walk against the edges' direction from one of some roots (walk).
struct MarkArgs {
  Sampling method = Sampling::node;
  GraphView graph;
  std::int64_t count = 0;   // draws
  std::int64_t length = 0;  // steps from a node that was drawn; 1 for an edge
  Draws draws;
  NodeId* local = nullptr;        // [nodes]
  const NodeId* roots = nullptr;  // walk
  std::int64_t num_roots = 0;
};

/// Numbers nodes from `first` on, or where that is absent forgets them.
struct NumberArgs {
  const NodeId* nodes = nullptr;
  std::int64_t count = 0;
  NodeId first = 0;
  NodeId* local = nullptr;
};

/// Rows of a graph, with the columns that have a number only. First without cols: offsets[i + 1] becomes the length of
/// row i.
struct TakeRowsArgs {
  GraphView graph;
  const NodeId* nodes = nullptr;  // whose rows
  std::int64_t count = 0;
  const NodeId* local = nullptr;  // null: every column, as it is
  EdgeId* offsets = nullptr;
  NodeId* cols = nullptr;
  EdgeId* places = nullptr;  // in the graph, of every edge taken
};

/// Up to `fanout` edges of each row, drawn without replacement, the self-loop being kept beside them where it
/// `keeps_loops`; marks their columns, which stay as they are. First without cols, as TakeRowsArgs.
struct DrawRowsArgs {
  GraphView graph;
  const NodeId* nodes = nullptr;
  std::int64_t count = 0;
  std::int64_t fanout = 0;
  bool keeps_loops = false;
  Draws draws;
  std::uint32_t hop = 0;
  EdgeId* offsets = nullptr;
  NodeId* cols = nullptr;
  EdgeId* places = nullptr;
  float* multiples = nullptr;  // how many edges of the row each stands for
  NodeId* local = nullptr;
};

/// Columns become their numbers.
struct RelabelArgs {
  std::int64_t count = 0;
  NodeId* cols = nullptr;
  const NodeId* local = nullptr;
};

/// How often nodes and edges were drawn.
struct CountArgs {
  const NodeId* nodes = nullptr;
  std::int64_t num_nodes = 0;
  const EdgeId* places = nullptr;
  std::int64_t num_edges = 0;
  std::int32_t *node_counts = nullptr, *edge_counts = nullptr;
};

/// sums[row] = the sum of the weights of its edges, in stored order: weighted degrees.
struct SumWeightsArgs {
  Dtype dtype = Dtype::f32;  // of the weights: f32 or f64
  GraphView graph;
  const void* weights = nullptr;  // by edge id
  double* sums = nullptr;
};

/// What messages are multiplied by, so that their sums are expected to be those of the whole graph: the edge's own
/// weight and the norm by degrees there, divided by how likely the edge is to be there if the destination is. (Counts
/// of both with one more, as in LossWeightsArgs.)
struct WeighArgs {
  Dtype dtype = Dtype::f32;
  GraphView graph;
  const void* values = nullptr;  // the accumulator's type, by edge id of the graph: weights of edges; null: all are 1
  const EdgeId* out_offsets = nullptr;                   // of the graph's transpose; read by the norms left and both
  const double *in_sums = nullptr, *out_sums = nullptr;  // degrees that norms divide by; null: numbers of edges
  DegreeNorm norm = DegreeNorm::none;
  const NodeId* nodes = nullptr;  // whose rows; null: row i is node i's
  std::int64_t count = 0;
  const EdgeId *offsets = nullptr, *places = nullptr;  // places null: edge k of the batch is the graph's k-th stored
  const EdgeId* ids = nullptr;                         // where the weight of the batch's edge k is written; null: at k
  bool by_rows = false;                                // each edge stands for its share of the row's in the graph; or
  const float* multiples = nullptr;                    // of DrawRowsArgs; or
  const std::int32_t *node_counts = nullptr, *edge_counts = nullptr;  // of CountArgs; or neither: 1
  void* weights = nullptr;                                            // T
};

/// weights[i] = samples / how often node i was drawn in them, with one more of both: means of that are the inverse of
/// the chance to be drawn, while without it they are larger, the more so the seldomer a node is drawn.
struct LossWeightsArgs {
  const NodeId* nodes = nullptr;
  std::int64_t count = 0;
  const std::int32_t* node_counts = nullptr;
  double samples = 1;
  float* weights = nullptr;
};

/// nodes[i] = from[place first + i of a random order].
struct ShuffleArgs {
  const NodeId* from = nullptr;
  std::int64_t total = 0, first = 0, count = 0;
  Draws draws;
  NodeId* nodes = nullptr;
};

/// out[i] = x[nodes[i]], rows of `width` elements.
template <class Index>
struct GatherArgs {
  Dtype dtype = Dtype::f32;
  std::int64_t count = 0, width = 1;
  const void* x = nullptr;
  const Index* from = nullptr;
  void* out = nullptr;
};

// These give a number, and so wait for the device.

/// The marked ones of `count` nodes into `nodes`, ascending; how many they are.
std::int64_t list_marked(const Context& context, const NodeId* local, std::int64_t count, NodeId* nodes);
/// From lengths of rows, as passes write them, to offsets; their sum.
EdgeId lengths_to_offsets(const Context& context, EdgeId* offsets, std::int64_t count);

}  // namespace weft::nn
