#include "graph/sample/redrawn.hpp"

#include "core/check.hpp"
#include "core/cuda/sorting.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/graph_impl.hpp"

namespace weft {

struct RedrawnGraph::Arrays {
  Graph whole;
  std::shared_ptr<const KeptRows> kept;
  Tensor cols, places;  // of the sample
  Tensor reversed_offsets, reversed_rows, reversed_cols, reversed_ids;
  Tensor positions, sorted_positions, sort_scratch;  // of the sort that reverses it

  Arrays(const Graph& graph, std::int64_t width, Knows knows, CUstream_st* stream)
      : whole(graph), kept(GraphInternals::kept_rows(graph, width)) {
    const Device device = graph.device();
    const std::int64_t edges = kept->edges;
    const auto tensor = [&](std::int64_t count, Dtype dtype, std::string_view what) {
      return Tensor::empty(Shape(count), dtype, what, device, stream);
    };
    cols = tensor(edges, Dtype::i32, "sources of kept edges");
    if (knows.places) places = tensor(edges, Dtype::i64, "places of kept edges");
    reversed_offsets =
        Tensor::zeros(Shape(graph.num_cols() + 1), Dtype::i64, "offsets of a sample's transpose", device, stream);
    reversed_rows = tensor(edges, Dtype::i32, "rows of a sample's transpose");
    reversed_cols = tensor(edges, Dtype::i32, "columns of a sample's transpose");
    const auto bytes = static_cast<std::int64_t>(cuda::reverse_scratch_bytes(device, space()));
    sort_scratch = tensor((bytes + 7) / 8, Dtype::i64, "sorting kept edges");
    if (!knows.ids) return;
    reversed_ids = tensor(edges, Dtype::i64, "edge ids of a sample's transpose");
    positions = tensor(edges, Dtype::i32, "positions of kept edges");
    sorted_positions = tensor(edges, Dtype::i32, "positions of sorted edges");
    cuda::count_up(device, stream, "numbering kept edges", positions.view().as<std::int32_t>(), edges);
  }

  GraphView space() const { return kept->over(GraphInternals::view_without_ids(whole)); }
  GraphView sample() const {
    GraphView view = space();
    view.cols = cols.view().as<NodeId>();
    return view;
  }
  GraphView reversed() const {
    const GraphView space_ = space();
    GraphView view{space_.num_cols, space_.num_rows, space_.num_edges};
    view.offsets = reversed_offsets.view().as<EdgeId>();
    view.rows = reversed_rows.view().as<NodeId>();
    view.cols = reversed_cols.view().as<NodeId>();
    if (reversed_ids) view.edge_ids = reversed_ids.view().as<EdgeId>();
    return view;
  }
  cuda::ReversedArrays to_reverse_into() {
    cuda::ReversedArrays arrays{};
    arrays.offsets = reversed_offsets.view().as<EdgeId>();
    arrays.rows = reversed_rows.view().as<NodeId>();
    arrays.cols = reversed_cols.view().as<NodeId>();
    arrays.scratch = sort_scratch.view().mutable_data();
    arrays.scratch_bytes = sort_scratch.bytes();
    if (!reversed_ids) return arrays;
    arrays.ids = reversed_ids.view().as<EdgeId>();
    arrays.positions = positions.view().as<std::int32_t>();
    arrays.sorted_positions = sorted_positions.view().as<std::int32_t>();
    return arrays;
  }
};

Graph GraphInternals::make_redrawn(const Graph& whole, const GraphView& given, const GraphView& reversed,
                                   CUstream_st* stream, std::shared_ptr<const void> keeper) {
  using Impl = Graph::Impl;
  auto pair = std::make_shared<Impl::Pair>();
  const auto hold = [&](Impl& half, const GraphView& view) {
    const auto edges = static_cast<std::size_t>(view.num_edges);
    half.num_rows = view.num_rows;
    half.num_cols = view.num_cols;
    half.offsets = {view.offsets, static_cast<std::size_t>(view.num_rows) + 1};
    half.cols = {view.cols, edges};
    half.edge_ids = {view.edge_ids, view.edge_ids != nullptr ? edges : 0};
    half.device_rows = view.rows;
    half.longest_row = view.longest_row;
    half.empty_rows = view.empty_rows;
    half.keeper = keeper;
    half.device = whole.device();
    half.stream = stream;
    half.redrawn = true;
    half.pair = pair.get();
  };
  hold(pair->given, given);
  hold(pair->reversed, reversed);
  pair->reversed.ids_on_demand = reversed.edge_ids == nullptr;
  // Communities of the whole graph are the sample's, where a plan has made them. They group nodes, so that those of
  // one direction serve the other, and better than any found in a sample.
  const Impl::Pair& from = *Impl::of(whole).pair;
  const std::lock_guard guard(Impl::of(whole).pair->lock);
  const bool turned = &Impl::of(whole) == &from.reversed;
  const auto& of_given = (turned ? from.reversed : from.given).communities;
  const auto& of_reversed = (turned ? from.given : from.reversed).communities;
  pair->given.communities = of_given != nullptr ? of_given : of_reversed;
  pair->reversed.communities = of_reversed != nullptr ? of_reversed : of_given;
  pair->reversed_built = true;
  return Graph(std::shared_ptr<const Impl>(pair, &pair->given));
}

RedrawnGraph::RedrawnGraph(const Graph& whole, const EdgeSample& sample, Knows knows, CUstream_st* stream)
    : sample_(sample) {
  validate(sample);
  WEFT_CHECK(whole.device().kind == DeviceKind::cuda && whole.num_edges() < (std::int64_t{1} << 31), internal,
             "a graph of {} edges on {} to be sampled in place: expected fewer than 2^31 on a GPU", whole.num_edges(),
             to_string(whole.device()));
  arrays_ = std::make_shared<Arrays>(whole, sample.width, knows, stream);
  graph_ = GraphInternals::make_redrawn(whole, arrays_->sample(), arrays_->reversed(), stream, arrays_);
  draw(nullptr, stream);
}

const Tensor& RedrawnGraph::places() const { return arrays_->places; }

void RedrawnGraph::draw(const std::int64_t* step, CUstream_st* stream) {
  Arrays& a = *arrays_;
  const GraphView space = a.space();
  if (space.num_edges == 0) return;
  const SampledPlaces places{GraphInternals::view_without_ids(a.whole).offsets, EdgeChoice(sample_)};
  const Device device = a.whole.device();
  cuda::take_kept(device, stream, places, space, space.offsets, a.cols.view().as<NodeId>(),
                  a.places ? a.places.view().as<EdgeId>() : nullptr, step);
  cuda::reverse_into(device, stream, a.sample(), a.to_reverse_into());
}

void RedrawnGraph::redraw(const std::int64_t* step, CUstream_st* stream) {
  draw(step, stream);
  GraphInternals::place_clusters_again(graph_, stream);
  GraphInternals::place_clusters_again(graph_.transpose(), stream);
}

}  // namespace weft
