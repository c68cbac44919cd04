// Sampled edges: of every row at most so many are kept. Which ones follows from the row's degree alone, or, with
// `fresh`, from a seed, a step and the row as well; nothing is stored for it, and every device chooses the same.
// (The idea, `bucket` and `fastrand` are ES-SpMM's: Lin, Zhang and Xie, Accelerating GNN inference by edge sampling.)
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/graph.hpp"

namespace weft {

/// Which S of a row's n edges are kept, by their places 0 to n - 1. A row of S edges or fewer keeps all, in order.
enum class EdgeSampling : std::uint8_t {
  bucket,    // the first S
  fastrand,  // i * 577 mod n for i = 0 ... S - 1, or by another prime where 577 divides n
  strata,    // i * n / S: one from each of S equal parts, in ascending order
  fresh,     // as fastrand, from a place on that is random in every step: each edge with probability S / n
};
std::string_view name(EdgeSampling method);
EdgeSampling parse_edge_sampling(std::string_view text);

/// What becomes of a sum over the kept edges. (A mean is over those alone in either case, as ES-SpMM normalises; the
/// largest and the smallest message stay what they are.)
enum class SampleNorm : std::uint8_t {
  none,    // it stays what it is
  scaled,  // times degree / kept: of `fresh`, over its steps, the sum over all edges in expectation
};

struct EdgeSample {
  EdgeSampling method = EdgeSampling::fastrand;
  std::int64_t width = 0;  // S, 1 or more
  // Of `fresh`; the others are the same in every step.
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  SampleNorm norm = SampleNorm::none;  // of operators that take a sample
  friend bool operator==(const EdgeSample&, const EdgeSample&) = default;
};
/// An Error (invalid_argument) where the width or the method is none.
void validate(const EdgeSample& sample);

/// Edges that rows of at most `width` leave of the graph: the sum of min(degree, width). On a GPU it waits for the
/// count.
std::int64_t kept_edges(const Graph& graph, std::int64_t width);
/// The same as a share of all, from 0 to 1; 1 of a graph without edges.
double sampling_rate(const Graph& graph, std::int64_t width);

/// The kept edges as a graph of their own, where the graph is, each row in the order of the choice, and the id of the
/// edge that each comes from. What rows keep is counted once for a graph and a width, and kept with the graph (8 bytes
/// a row, on a GPU 4 per kept edge as well). On a GPU in the order of `stream`, which the call waits for.
Derived sample_edges(const Graph& graph, const EdgeSample& sample, CUstream_st* stream = nullptr);

}  // namespace weft
