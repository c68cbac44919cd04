// Planning for anything with row offsets: graphs, and the segments that are no graph.
#pragma once

#include "graph/sample/choice.hpp"
#include "weft/plan.hpp"

namespace weft {

inline constexpr std::int64_t max_tasks = 1 << 24;
inline constexpr int max_prefetch = 1024;  // edges
inline constexpr std::int64_t max_edges_a_group = 1 << 16;
inline constexpr std::int64_t max_whole_row = 1 << 24;
inline constexpr int most_threshold = 128;  // rows of the largest window

inline double mean_degree(const GraphView& graph) {
  return graph.num_rows > 0 ? static_cast<double>(graph.num_edges) / static_cast<double>(graph.num_rows) : 0;
}

/// `owner`, where there is one, keeps what is worth keeping for later plans.
PlanReport explain_view(const Context& context, const GraphView& graph, std::uint64_t identity, const OpDesc& desc,
                        const Policy& policy = {}, const Graph* owner = nullptr);
/// Whether an operator knows edges by their ids: sums and means over sources alone do not.
inline bool reads_ids(const OpDesc& desc) {
  const bool sums_sources = desc.kind == OpKind::spmm || desc.kind == OpKind::spmv;
  return !sums_sources || desc.weighted || is_extremum(desc.reduce);
}
/// What a run by a plan takes of its graph: ids only where they are read, and not from the plan. Making the plan has
/// made them.
GraphView view_by(const Plan& plan, const Graph& graph);
/// The edges that a run by a plan of a sample keeps: `view_by` is their index space then. The sample's width must be
/// the plan's.
/// `by_id`: the call reads something by the ids of its edges.
SampledPlaces places_by(const Plan& plan, const Graph& graph, const std::optional<EdgeSample>& sample, bool by_id);
/// An Error unless the graph is where the context runs.
void check_on_device(const Context& context, const Graph& graph);
/// The plan a report settled on.
Plan chosen(PlanReport report);

}  // namespace weft
