#include "core/check.hpp"
#include "core/cuda/sorting.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/graph_internals.hpp"
#include "graph/order/cuda/louvain.hpp"
#include "graph/order/louvain_level.hpp"
#include "graph/order/placed.hpp"

namespace weft::louvain {
namespace {

using cuda::as;

class GpuLevel final : public Level {
 public:
  /// `keeper`: of the graph's arrays.
  GpuLevel(Device device, CUstream_st* stream, LevelGraph graph, std::shared_ptr<const void> keeper)
      : device_(device), stream_(stream), graph_(graph), keeper_(std::move(keeper)) {
    const auto buffer = [&](std::size_t bytes) {
      return DeviceBuffer(device_, stream_, static_cast<std::size_t>(graph_.nodes) * bytes, "communities of nodes");
    };
    community_ = buffer(sizeof(NodeId));
    wish_ = buffer(sizeof(NodeId));
    strength_ = buffer(sizeof(std::int64_t));
    of_community_ = buffer(sizeof(std::int64_t));
    members_ = buffer(sizeof(std::int32_t));
    changed_ = buffer(sizeof(std::int32_t));
    nodes_by_bucket_ = buffer(sizeof(NodeId));
    moved_ = DeviceBuffer(device_, stream_, sizeof(Sum), "the number of nodes that moved");
    state_ = {as<NodeId>(community_),          as<NodeId>(wish_),          as<std::int64_t>(strength_),
              as<std::int64_t>(of_community_), as<std::int32_t>(members_), as<std::int32_t>(changed_)};
    state_.total = add_strengths(device_, stream_, graph_, state_.strength);
    start_alone(device_, stream_, graph_.nodes, state_);
  }

  std::int64_t nodes() const override { return graph_.nodes; }
  std::int64_t total() const override { return state_.total; }
  Wide modularity() override { return modularity_alone(device_, stream_, graph_, state_.strength, state_.total); }

  std::int64_t move_nodes() override {
    if (list_.nodes == nullptr) {
      list_ = list_decisions(device_, stream_, graph_, as<NodeId>(nodes_by_bucket_));
      tables_ = hub_tables(list_);
      table_memory_ = DeviceBuffer(device_, stream_, tables_.bytes(), "communities of hubs' neighbours");
    }
    zero_bytes(device_, moved_.data(), sizeof(Sum), stream_);
    for (int bucket = 0; bucket < buckets; ++bucket)
      move_bucket(device_, stream_, graph_, state_, list_, bucket, now_++, tables_, table_memory_.data(),
                  as<Sum>(moved_));
    Sum moved = 0;
    copy_bytes(Device{}, &moved, device_, moved_.data(), sizeof moved, stream_);
    return static_cast<std::int64_t>(moved);
  }

  std::vector<NodeId> number_communities(std::int64_t& count) override {
    communities_ = count = number_by_members(device_, stream_, graph_.nodes, state_);
    std::vector<NodeId> result(static_cast<std::size_t>(graph_.nodes));
    copy_bytes(Device{}, result.data(), device_, state_.community, result.size() * sizeof(NodeId), stream_);
    return result;
  }

  std::unique_ptr<Level> contract() override {
    table_memory_ = {};
    auto arrays =
        std::make_shared<LevelArrays>(contract_edges(device_, stream_, graph_, state_.community, communities_));
    return over(device_, stream_, communities_, std::move(arrays));
  }

  static std::unique_ptr<Level> over(Device device, CUstream_st* stream, std::int64_t nodes,
                                     std::shared_ptr<const LevelArrays> arrays) {
    const LevelGraph graph{nodes,
                           arrays->edges,
                           as<EdgeId>(arrays->offsets),
                           as<NodeId>(arrays->rows),
                           as<NodeId>(arrays->cols),
                           as<std::int64_t>(arrays->weights)};
    return std::make_unique<GpuLevel>(device, stream, graph, std::move(arrays));
  }

 private:
  Device device_;
  CUstream_st* stream_;
  LevelGraph graph_;
  std::shared_ptr<const void> keeper_;
  DeviceBuffer community_, wish_, strength_, of_community_, members_, changed_, nodes_by_bucket_, moved_, table_memory_;
  LevelState state_;
  DecisionList list_;
  HubTables tables_;
  std::int64_t communities_ = 0;
  std::int32_t now_ = 0;
};

LevelGraph level_of(const GraphView& view) {
  return {view.num_rows, view.num_edges, view.offsets, view.rows, view.cols};
}

}  // namespace

std::unique_ptr<Level> first_level_on_gpu(const Graph& graph, Device device, CUstream_st* stream) {
  auto here = std::make_shared<const Graph>(placed_on(graph, device, stream));
  const GraphView view = GraphInternals::view_without_ids(*here);
  const LevelGraph given = level_of(view);
  cuda::EdgeBuffers reversed = cuda::reverse_edges(device, stream, view, false);
  const LevelGraph turned{view.num_rows, view.num_edges, as<EdgeId>(reversed.offsets), as<NodeId>(reversed.rows),
                          as<NodeId>(reversed.cols)};
  if (same_edges(device, stream, given, turned)) return std::make_unique<GpuLevel>(device, stream, given, here);
  auto both = std::make_shared<const LevelArrays>(join_rows(device, stream, given, turned));
  return GpuLevel::over(device, stream, view.num_rows, std::move(both));
}

}  // namespace weft::louvain
