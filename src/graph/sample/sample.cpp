#include "weft/sample.hpp"

#include "core/check.hpp"
#include "core/device.hpp"
#include "core/names.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/graph_internals.hpp"
#include "graph/sample/kept_rows.hpp"
#include "graph/scan.hpp"

namespace weft {
namespace {

constexpr NameTable<EdgeSampling, 4> sampling_names{{{EdgeSampling::bucket, "bucket"},
                                                     {EdgeSampling::fastrand, "fastrand"},
                                                     {EdgeSampling::strata, "strata"},
                                                     {EdgeSampling::fresh, "fresh"}}};

void check_width(std::int64_t width) {
  WEFT_CHECK(width >= 1, invalid_argument, "sample width is {}: expected 1 or more, the edges that a row keeps at most",
             width);
}

void take_on_host(const SampledPlaces& sample, const GraphView& space, NodeId* cols, EdgeId* origin) {
  parallel_row_ranges(space.offsets, space.num_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v)
      sample.each_place(v, space.offsets[v], space.offsets[v], space.offsets[v + 1], [&](EdgeId k, EdgeId place) {
        cols[k] = space.cols[place];
        origin[k] = space.edge_id(place);
      });
  });
}

}  // namespace

std::string_view name(EdgeSampling method) { return name_in(sampling_names, method); }
EdgeSampling parse_edge_sampling(std::string_view text) { return parse_in(sampling_names, "edge sampling", text); }

void validate(const EdgeSample& sample) {
  check_enum(sample.method, last_of<EdgeSampling>(), "sample method");
  check_enum(sample.norm, SampleNorm::scaled, "sample norm");
  check_width(sample.width);
  WEFT_CHECK(sample.step >= 0, invalid_argument, "sample step is {}: expected 0 or more", sample.step);
}

std::int64_t kept_edges(const Graph& graph, std::int64_t width) {
  check_width(width);
  return GraphInternals::kept_rows(graph, width)->edges;
}

double sampling_rate(const Graph& graph, std::int64_t width) {
  const std::int64_t kept = kept_edges(graph, width);
  return graph.num_edges() > 0 ? static_cast<double>(kept) / static_cast<double>(graph.num_edges()) : 1;
}

KeptEdges take_edges(const Graph& graph, const EdgeSample& sample, KnownBy known_by, CUstream_st* stream) {
  validate(sample);
  const std::shared_ptr<const KeptRows> kept = GraphInternals::kept_rows(graph, sample.width);
  const Device device = graph.device();
  const SampledPlaces places{GraphInternals::view_without_ids(graph).offsets, EdgeChoice(sample)};
  const GraphView space = kept->over(known_by == KnownBy::id ? graph.view() : GraphInternals::view_without_ids(graph));
  Tensor cols = Tensor::empty(Shape(kept->edges), Dtype::i32, "sources of kept edges", device, stream);
  Tensor origin = Tensor::empty(Shape(kept->edges), Dtype::i64, "origin of kept edges", device, stream);
  auto* const to_cols = cols.view().as<NodeId>();
  auto* const to_origin = origin.view().as<EdgeId>();
  if (device.kind == DeviceKind::cpu) {
    take_on_host(places, space, to_cols, to_origin);
  } else if (kept->edges > 0) {
    cuda::take_kept(device, stream, places, space, space.offsets, to_cols, to_origin);
  }
  Graph taken = GraphInternals::adopt_rows(space.num_cols, kept->offsets.to(device, stream), std::move(cols), stream);
  return {std::move(taken), std::move(origin)};
}

Derived sample_edges(const Graph& graph, const EdgeSample& sample, CUstream_st* stream) {
  KeptEdges kept = take_edges(graph, sample, KnownBy::id, stream);
  return {std::move(kept.graph), EdgeOrigin(std::move(kept.origin))};
}

}  // namespace weft
