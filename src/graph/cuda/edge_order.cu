#include "graph/cuda/edge_order.hpp"

#include "core/cuda/sorting.hpp"
#include "core/loops/cuda/each.cuh"

namespace weft {
namespace {

using namespace cuda;

struct LengthInOrder {
  GraphView g;
  const std::int32_t* order;
  EdgeId* lengths;
  __device__ void operator()(std::int64_t i) const {
    lengths[i] = __ldg(g.offsets + order[i] + 1) - __ldg(g.offsets + order[i]);
  }
};

struct StartByRow {
  const std::int32_t* order;
  const EdgeId* sums;
  EdgeId* starts;
  __device__ void operator()(std::int64_t i) const { starts[order[i]] = sums[i]; }
};

struct PlaceEdge {
  GraphView g;
  const EdgeId* starts;
  // Null: not wanted.
  NodeId* rows;
  NodeId* cols;
  __device__ void operator()(std::int64_t k) const {
    const NodeId row = __ldg(g.rows + k);
    const EdgeId to = place(k, row);
    if (rows != nullptr) rows[to] = row;
    if (cols != nullptr) cols[to] = __ldg(g.cols + k);
  }
  __device__ EdgeId place(std::int64_t k, NodeId row) const { return __ldg(starts + row) + k - __ldg(g.offsets + row); }
};

struct PlaceId {
  PlaceEdge edges;
  std::int32_t* ids;
  __device__ void operator()(std::int64_t k) const {
    const GraphView& g = edges.g;
    ids[edges.place(k, __ldg(g.rows + k))] =
        static_cast<std::int32_t>(g.edge_ids != nullptr ? __ldg(g.edge_ids + k) : k);
  }
};

}  // namespace

struct EdgeOrder::Work {
  DeviceBuffer lengths, starts, sums;
  std::size_t sums_bytes = 0;

  Work(Device device, std::int64_t num_rows, CUstream_st* stream) : sums_bytes(add_up_bytes(device, num_rows)) {
    const std::size_t bytes = static_cast<std::size_t>(num_rows) * sizeof(EdgeId);
    lengths = DeviceBuffer(device, stream, bytes, "the lengths of rows");
    starts = DeviceBuffer(device, stream, bytes, "the starts of rows");
    sums = DeviceBuffer(device, stream, sums_bytes, "adding up the lengths of rows");
  }
};

EdgeOrder::EdgeOrder(Device device, const GraphView& g, std::shared_ptr<const RowOrder> order, CUstream_st* stream,
                     Columns columns)
    : device_(device), order_(std::move(order)) {
  const auto rows = static_cast<std::size_t>(g.num_rows), edges = static_cast<std::size_t>(g.num_edges);
  const auto buffer = [&](std::size_t bytes, const char* what) { return DeviceBuffer(device, stream, bytes, what); };
  const bool drawn = columns == Columns::drawn;
  starts_ = buffer(rows * sizeof(EdgeId), "the starts of clustered rows");
  rows_ = buffer(edges * sizeof(NodeId), "the rows of clustered edges");
  if (!drawn) cols_ = buffer(edges * sizeof(NodeId), "the columns of clustered edges");
  bytes_ = rows * sizeof(EdgeId) + edges * sizeof(NodeId) * (drawn ? 1 : 2);

  order_->ready_in(stream);
  work_ = std::make_unique<Work>(device, g.num_rows, stream);
  place(g, stream);
  if (columns == Columns::change) {
    bytes_ += 2 * rows * sizeof(EdgeId) + work_->sums_bytes;
  } else {
    work_ = nullptr;
  }
  made_.set(device, stream);
}

EdgeOrder::~EdgeOrder() = default;

void EdgeOrder::place(const GraphView& g, CUstream_st* stream) {
  const OnDevice on(device_.index);
  auto* const cols = reinterpret_cast<NodeId*>(cols_.data());
  auto *const lengths = as<EdgeId>(work_->lengths), *const in_order = as<EdgeId>(work_->starts);
  each(g.num_rows, stream, "looking up the lengths of rows", LengthInOrder{g, order_->rows(), lengths});
  add_up(device_, stream, "adding up the lengths of rows", Sums::exclusive, lengths, in_order, g.num_rows,
         {work_->sums.data(), work_->sums_bytes});
  each(g.num_rows, stream, "placing rows", StartByRow{order_->rows(), in_order, as<EdgeId>(starts_)});
  each(g.num_edges, stream, "placing edges", PlaceEdge{g, starts(), as<NodeId>(rows_), cols});
}

void EdgeOrder::place_ids(const GraphView& g, CUstream_st* stream) {
  const OnDevice on(device_.index);
  each(g.num_edges, stream, "placing the ids of edges",
       PlaceId{{g, starts(), nullptr, nullptr}, as<std::int32_t>(ids_)});
}

void EdgeOrder::place_again(const GraphView& g, bool rows_stay, CUstream_st* stream) {
  if (rows_stay) {
    const OnDevice on(device_.index);
    each(g.num_edges, stream, "placing edges", PlaceEdge{g, starts(), nullptr, as<NodeId>(cols_)});
    return;
  }
  place(g, stream);
  if (ids() != nullptr) place_ids(g, stream);
}

void EdgeOrder::add_ids(const GraphView& g, CUstream_st* stream) {
  const std::size_t bytes = static_cast<std::size_t>(g.num_edges) * sizeof(std::int32_t);
  ids_ = DeviceBuffer(device_, stream, bytes, "the ids of clustered edges");
  bytes_ += bytes;
  place_ids(g, stream);
  ids_made_.set(device_, stream);
}

}  // namespace weft
