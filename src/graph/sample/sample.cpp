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

constexpr NameTable<SampleNorm, 2> norm_names{{{SampleNorm::none, "none"}, {SampleNorm::scaled, "scaled"}}};

void check_width(std::int64_t width) {
  WEFT_CHECK(width >= 1, invalid_argument, "sample width is {}: expected 1 or more, the edges that a row keeps at most",
             width);
}

void take_on_host(const GraphView& view, const EdgeChoice& choice, const EdgeId* kept_offsets, NodeId* cols,
                  EdgeId* places) {
  parallel_row_ranges(kept_offsets, view.num_rows, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t v = begin; v < end; ++v) {
      const EdgeId first = view.offsets[v], degree = view.offsets[v + 1] - first;
      const std::int64_t kept = choice.kept(degree);
      const RowChoice row = kept < degree ? choice.row(v, degree) : RowChoice{};
      for (std::int64_t i = 0; i < kept; ++i) {
        const EdgeId from = first + (kept < degree ? row.place(static_cast<std::uint32_t>(i)) : i);
        cols[kept_offsets[v] + i] = view.cols[from];
        places[kept_offsets[v] + i] = from;
      }
    }
  });
}

}  // namespace

std::string_view name(EdgeSampling method) { return name_in(sampling_names, method); }
EdgeSampling parse_edge_sampling(std::string_view text) { return parse_in(sampling_names, "edge sampling", text); }

std::string_view name(SampleNorm norm) { return name_in(norm_names, norm); }
SampleNorm parse_sample_norm(std::string_view text) { return parse_in(norm_names, "sample norm", text); }

void validate(const EdgeSample& sample) {
  check_enum(sample.method, last_of<EdgeSampling>(), "sample method");
  check_enum(sample.norm, last_of<SampleNorm>(), "sample norm");
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

KeptEdges take_edges(const Graph& graph, const EdgeSample& sample, CUstream_st* stream) {
  validate(sample);
  const std::shared_ptr<const KeptRows> kept = GraphInternals::kept_rows(graph, sample.width);
  const Device device = graph.device();
  const EdgeChoice choice(sample);
  const GraphView view = GraphInternals::view_without_ids(graph);
  Tensor cols = Tensor::empty(Shape(kept->edges), Dtype::i32, "sources of kept edges", device, stream);
  Tensor places = Tensor::empty(Shape(kept->edges), Dtype::i64, "places of kept edges", device, stream);
  auto* const to_cols = cols.view().as<NodeId>();
  auto* const to_places = places.view().as<EdgeId>();
  const EdgeId* const offsets = kept->offsets.view().as<EdgeId>();
  if (device.kind == DeviceKind::cpu) {
    take_on_host(view, choice, offsets, to_cols, to_places);
  } else if (kept->edges > 0) {
    cuda::take_kept(device, stream, view, choice, kept->over(view), to_cols, to_places);
  }
  Graph taken = GraphInternals::adopt_rows(view.num_cols, kept->offsets.to(device, stream), std::move(cols), stream);
  return {std::move(taken), std::move(places)};
}

Derived sample_edges(const Graph& graph, const EdgeSample& sample, CUstream_st* stream) {
  KeptEdges kept = take_edges(graph, sample, stream);
  const GraphView view = graph.view();
  const std::int64_t count = kept.graph.num_edges();
  if (view.edge_ids != nullptr && count > 0) {
    auto* const ids = kept.places.view().as<EdgeId>();
    if (graph.device().kind == DeviceKind::cpu) {
      parallel_ranges(default_threads(), count, scan_grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) ids[k] = view.edge_ids[ids[k]];
      });
    } else {
      cuda::places_to_ids(graph.device(), stream, view.edge_ids, count, ids);
      synchronise(graph.device(), stream);
    }
  }
  return {std::move(kept.graph), EdgeOrigin(std::move(kept.places))};
}

}  // namespace weft
