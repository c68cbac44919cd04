// The functions of torch.ops.weft. Every graph is passed as [offsets, columns(, edge ids(, handle))], the key under
// which it is held if there is no handle, and its number of sources.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "tensors.hpp"

namespace weft::pytorch {

using Rows = std::vector<Tensor>;
using MaybeTensor = std::optional<Tensor>;

// structure.cpp

/// Holds a graph over these rows and returns its key.
std::int64_t graph_hold(Rows rows, std::int64_t num_sources);
/// Holds a graph of these edges and returns its key and rows; edges are sorted by destination, then source, then id.
std::tuple<std::int64_t, Rows> graph_from_edges(Tensor sources, Tensor destinations, std::int64_t num_sources,
                                                std::int64_t num_destinations);
/// The same for compiled programs: offsets, columns, edge ids, and a handle that holds the graph.
std::tuple<Tensor, Tensor, Tensor, Tensor> graph_rows(Tensor edge_index, std::int64_t num_sources,
                                                      std::int64_t num_destinations);
std::tuple<std::int64_t, Rows> graph_transposed(Rows rows, std::int64_t key, std::int64_t num_sources);
/// Throws an Error that names the first wrong index.
void check_rows(Rows rows, std::int64_t num_sources);

// spmm.cpp

/// The results, and for max and min the winning edge ids, else a tensor without elements.
std::tuple<Tensor, Tensor> spmm(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x, MaybeTensor edge,
                                std::string op, std::string reduce);
/// The gradients of x and edge; an unwanted gradient has no elements, here and below. An operand whose values are not
/// read may be missing if it has out_grad's features and dtype.
std::tuple<Tensor, Tensor> spmm_backward(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x,
                                         MaybeTensor edge, MaybeTensor winners, Tensor out_grad, std::string op,
                                         std::string reduce, bool want_x, bool want_edge);

/// The same over a graph that Python holds, for calls that torch does not trace: with fewer arguments they take a
/// fraction of the time.
std::tuple<Tensor, MaybeTensor> spmm_held(std::int64_t key, MaybeTensor x, MaybeTensor edge, std::int64_t op,
                                          std::int64_t reduce);
std::tuple<MaybeTensor, MaybeTensor> spmm_held_backward(std::int64_t key, MaybeTensor x, MaybeTensor edge,
                                                        MaybeTensor winners, Tensor out_grad, std::int64_t op,
                                                        std::int64_t reduce, bool want_x, bool want_edge);

/// Sums of x, or of x times the edge values, with a factor per source and one per target, plus x's own rows times a
/// third factor; factors have the accumulator type.
Tensor spmm_scaled(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor x, MaybeTensor edge,
                   MaybeTensor target_scale, MaybeTensor source_scale, MaybeTensor self_scale);
/// The gradients of x and edge; scales have none.
std::tuple<Tensor, Tensor> spmm_scaled_backward(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x,
                                                MaybeTensor edge, Tensor out_grad, MaybeTensor target_scale,
                                                MaybeTensor source_scale, MaybeTensor self_scale, bool want_x,
                                                bool want_edge);
Tensor spmm_scaled_held(std::int64_t key, Tensor x, MaybeTensor edge, MaybeTensor target_scale,
                        MaybeTensor source_scale, MaybeTensor self_scale);
std::tuple<MaybeTensor, MaybeTensor> spmm_scaled_held_backward(std::int64_t key, MaybeTensor x, MaybeTensor edge,
                                                               Tensor out_grad, MaybeTensor target_scale,
                                                               MaybeTensor source_scale, MaybeTensor self_scale,
                                                               bool want_x, bool want_edge);

// sddmm.cpp; `left` and `right` say where lhs and rhs are indexed: by sources (u), targets (v) or edges (e)

Tensor sddmm(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor lhs, MaybeTensor rhs, std::string op,
             std::string left, std::string right);
std::tuple<Tensor, Tensor> sddmm_backward(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor lhs,
                                          MaybeTensor rhs, Tensor out_grad, std::string op, std::string left,
                                          std::string right, bool want_lhs, bool want_rhs);

Tensor sddmm_held(std::int64_t key, MaybeTensor lhs, MaybeTensor rhs, std::int64_t op, std::int64_t left,
                  std::int64_t right);
std::tuple<MaybeTensor, MaybeTensor> sddmm_held_backward(std::int64_t key, MaybeTensor lhs, MaybeTensor rhs,
                                                         Tensor out_grad, std::int64_t op, std::int64_t left,
                                                         std::int64_t right, bool want_lhs, bool want_rhs);

// attention.cpp

Tensor edge_softmax(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor scores);
Tensor edge_softmax_backward(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor alpha, Tensor alpha_grad);
Tensor edge_softmax_held(std::int64_t key, Tensor scores);
Tensor edge_softmax_held_backward(std::int64_t key, Tensor alpha, Tensor alpha_grad);
/// The result, and per target and head the largest score and the sum of exponentials.
std::tuple<Tensor, Tensor, Tensor> attention(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor value,
                                             Tensor src, Tensor dst, MaybeTensor attn, MaybeTensor bias,
                                             MaybeTensor edge, std::string score, double slope, double scale,
                                             double dropout, std::int64_t seed, MaybeTensor step);
/// The gradients of value, src, dst, attn, bias and edge.
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> attention_backward(
    Rows rows, std::int64_t key, std::int64_t num_sources, Tensor value, Tensor src, Tensor dst, MaybeTensor attn,
    MaybeTensor bias, MaybeTensor edge, Tensor out, Tensor row_max, Tensor row_sum, Tensor out_grad, std::string score,
    double slope, double scale, double dropout, std::int64_t seed, MaybeTensor step);
std::tuple<Tensor, Tensor, Tensor> attention_held(std::int64_t key, Tensor value, Tensor src, Tensor dst,
                                                  MaybeTensor attn, MaybeTensor bias, MaybeTensor edge,
                                                  std::int64_t score, double slope, double scale, double dropout,
                                                  std::int64_t seed, MaybeTensor step);
std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor> attention_held_backward(
    std::int64_t key, Tensor value, Tensor src, Tensor dst, MaybeTensor attn, MaybeTensor bias, MaybeTensor edge,
    Tensor out, Tensor row_max, Tensor row_sum, Tensor out_grad, std::int64_t score, double slope, double scale,
    double dropout, std::int64_t seed, MaybeTensor step);
/// Attention over the edges that a sample keeps, without the statistics.
Tensor attention_sampled(Rows rows, std::int64_t key, std::int64_t num_sources, Tensor value, Tensor src, Tensor dst,
                         MaybeTensor attn, MaybeTensor bias, MaybeTensor edge, std::string score, double slope,
                         double scale, std::string method, std::int64_t width, std::int64_t seed, std::int64_t step);

// sample.cpp; a sample is passed as the fields of weft/sample.hpp's EdgeSample

/// The key and rows of the graph of the edges that a sample keeps, and their ids (i64) in the whole graph.
std::tuple<std::int64_t, Rows, Tensor> graph_sampled(Rows rows, std::int64_t key, std::int64_t num_sources,
                                                     std::string method, std::int64_t width, std::int64_t seed,
                                                     std::int64_t step);
/// spmm over those edges; `edge` has the values of all edges.
Tensor spmm_sampled(Rows rows, std::int64_t key, std::int64_t num_sources, MaybeTensor x, MaybeTensor edge,
                    std::string op, std::string reduce, std::string method, std::int64_t width, std::int64_t seed,
                    std::int64_t step, bool scaled);

// segment.cpp

/// Reduces rows offsets[i] to offsets[i + 1] - 1 of x to row i. Offsets are checked unless they are `trusted`.
Tensor segment_reduce(Tensor x, Tensor offsets, std::string reduce, bool trusted);
/// The offsets are the forward's, and are not checked again.
Tensor segment_reduce_backward(Tensor x, Tensor offsets, Tensor out_grad, std::string reduce);

// draw.cpp: parts of a graph for batches. Nodes are i32. `numbers` is scratch memory, i32 [nodes]: each node's number
// in the batch being drawn, or -1.

/// Positions `first` to `first` + `count` - 1 of a random order of the nodes.
Tensor shuffle_nodes(Tensor nodes, std::int64_t first, std::int64_t count, std::int64_t seed, std::int64_t epoch);
/// Up to `fanout` edges from each node's row: offsets, columns as numbers, positions in the graph's arrays, and the
/// nodes that had no number; they get the numbers from `first` on.
std::tuple<Tensor, Tensor, Tensor, Tensor> draw_neighbours(Rows rows, std::int64_t key, std::int64_t num_sources,
                                                           Tensor nodes, std::int64_t fanout, std::int64_t seed,
                                                           std::int64_t step, std::int64_t hop, std::int64_t first,
                                                           Tensor numbers);
/// Nodes, ascending, and the edges between them: offsets, columns as numbers, positions. `numbers` is restored.
std::tuple<Tensor, Tensor, Tensor, Tensor> draw_subgraph(Rows rows, std::int64_t key, std::int64_t num_sources,
                                                         std::string method, std::int64_t count, std::int64_t length,
                                                         MaybeTensor roots, std::int64_t seed, std::int64_t step,
                                                         bool counting, Tensor numbers);

}  // namespace weft::pytorch
