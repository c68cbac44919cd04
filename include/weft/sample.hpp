// Edge sampling keeps at most `width` edges per row. The choice depends only on the row's degree and, with `fresh`, on
// a seed, a step and the row as well; nothing is stored for it, and every device chooses the same edges.
// (The idea, `bucket` and `fastrand` are ES-SpMM's: Lin, Zhang and Xie, Accelerating GNN inference by edge sampling.)
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/graph.hpp"

namespace weft {

/// Which S of a row's n edges are kept, by their positions 0 to n - 1. A row of S edges or fewer keeps all, in order.
enum class EdgeSampling : std::uint8_t {
  bucket,    // the first S
  fastrand,  // i * 577 mod n for i = 0 ... S - 1, or by another prime where 577 divides n
  strata,    // i * n / S: one from each of S equal parts, in ascending order
  fresh,     // as fastrand, but starting at a position that is random in every step: each edge with probability S / n
};
std::string_view name(EdgeSampling method);
EdgeSampling parse_edge_sampling(std::string_view text);

/// How a sum over the kept edges is scaled. (A mean is always over the kept edges alone, as ES-SpMM normalises; max and
/// min are never scaled.)
enum class SampleNorm : std::uint8_t {
  none,    // not at all
  scaled,  // times degree / kept: with `fresh`, the expectation over steps is the sum over all edges
};

struct EdgeSample {
  EdgeSampling method = EdgeSampling::fastrand;
  std::int64_t width = 0;  // S, 1 or more
  // Only `fresh` reads these; the other methods keep the same edges in every step.
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  SampleNorm norm = SampleNorm::none;  // for operators that take a sample
  friend bool operator==(const EdgeSample&, const EdgeSample&) = default;
};
/// Throws an Error (invalid_argument) if the width or the method is invalid.
void validate(const EdgeSample& sample);

/// The number of edges that sampling keeps: the sum of min(degree, width) over rows. On a GPU it waits for the count.
std::int64_t kept_edges(const Graph& graph, std::int64_t width);
/// kept_edges over the number of all edges, from 0 to 1; 1 for a graph without edges.
double sampling_rate(const Graph& graph, std::int64_t width);

/// The kept edges as a graph on the same device, each row in the order of the choice, and the id of the edge that each
/// comes from. The kept edges are counted once per graph and width; the counts are cached with the graph (8 bytes per
/// row, on a GPU also 4 per kept edge). On a GPU the work is in the order of `stream`, and the call waits for it.
Derived sample_edges(const Graph& graph, const EdgeSample& sample, CUstream_st* stream = nullptr);

}  // namespace weft
