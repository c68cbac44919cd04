#include "plan/cuda/places.hpp"

#include "graph/graph_internals.hpp"
#include "plan/cuda/tasks.hpp"

namespace weft {

std::shared_ptr<const EdgePlaces> places_between(const Context& context, const Graph& graph, const Plan& writes,
                                                 const Plan& reads) {
  if (GraphInternals::is_redrawn(graph)) return nullptr;
  if (!EdgePlaces::possible(GraphInternals::view_without_ids(graph))) return nullptr;
  try {
    return GraphInternals::places_from_transpose(graph, walks_clusters(writes), walks_clusters(reads),
                                                 context.stream());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return nullptr;
  }
}

}  // namespace weft
