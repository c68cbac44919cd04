// The index space of sampled edges, and the edges in it, on a device.
#include "core/cuda/sorting.hpp"
#include "core/device.hpp"
#include "core/loops/cuda/each.cuh"
#include "graph/sample/kept_rows.hpp"

namespace weft::cuda {
namespace {

struct CountKept {
  const EdgeId* offsets;
  std::int64_t width;
  EdgeId* counts;  // [rows + 1], the first being 0
  __device__ void operator()(std::int64_t row) const {
    const EdgeId degree = offsets[row + 1] - offsets[row];
    counts[row + 1] = degree < width ? degree : width;
  }
};

struct TakeKept {
  SampledPlaces sample;
  GraphView space;
  const EdgeId* starts;
  NodeId* cols;
  EdgeId* ids;               // null: not wanted
  const std::int64_t* step;  // null: the choice's own
  __device__ void operator()(std::int64_t k) const {
    const NodeId row = space.rows[k];
    SampledPlaces now = sample;
    if (step != nullptr) now.choice.step = __ldg(step);
    const EdgeId place = now.of(row, k, starts[row]);
    cols[k] = space.cols[place];
    if (ids != nullptr) ids[k] = space.edge_ids != nullptr ? space.edge_ids[place] : place;
  }
};

template <class Acc>
struct UnbiasedScale {
  SampledPlaces sample;
  const EdgeId* offsets;  // of the kept edges
  const Acc* row_scales;  // null: none
  Acc* scales;
  __device__ void operator()(std::int64_t row) const {
    const Acc scale = sample.unbiased<Acc>(row, offsets[row + 1] - offsets[row]);
    scales[row] = row_scales != nullptr ? scale * row_scales[row] : scale;
  }
};

}  // namespace

std::int64_t count_kept(Device device, CUstream_st* stream, const GraphView& graph, std::int64_t width,
                        EdgeId* kept_offsets) {
  const OnDevice on(device.index);
  constexpr const char* doing = "counting the edges that a sample keeps";
  check_status(cudaMemsetAsync(kept_offsets, 0, sizeof(EdgeId), stream), doing);
  each(graph.num_rows, stream, doing, CountKept{graph.offsets, width, kept_offsets});
  add_up(device, stream, doing, Sums::inclusive, kept_offsets, kept_offsets, graph.num_rows + 1);
  EdgeId edges = 0;
  copy_bytes(Device{}, &edges, device, kept_offsets + graph.num_rows, sizeof(edges), stream);
  return edges;
}

void take_kept(Device device, CUstream_st* stream, const SampledPlaces& sample, const GraphView& space,
               const EdgeId* starts, NodeId* cols, EdgeId* ids, const std::int64_t* step) {
  const OnDevice on(device.index);
  each(space.num_edges, stream, "taking the edges that a sample keeps",
       TakeKept{sample, space, starts, cols, ids, step});
}

void unbiased_scales(Device device, CUstream_st* stream, const SampledPlaces& sample, const GraphView& space, bool wide,
                     const void* row_scales, void* scales) {
  const OnDevice on(device.index);
  const auto scale = [&]<class Acc>(Acc) {
    each(space.num_rows, stream, "scaling the sums of a sample",
         UnbiasedScale<Acc>{sample, space.offsets, static_cast<const Acc*>(row_scales), static_cast<Acc*>(scales)});
  };
  wide ? scale(0.0) : scale(0.0f);
}

}  // namespace weft::cuda
