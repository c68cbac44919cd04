#include "plan/cuda/places.hpp"

#include "plan/cuda/tasks.hpp"

namespace weft {

std::shared_ptr<const EdgePlaces> places_between(const Context& context, const Graph& graph, const Plan& writes,
                                                 const Plan& reads) {
  if (!EdgePlaces::possible(graph.view_without_ids())) return nullptr;
  try {
    return graph.places_from_transpose(walks_clusters(writes), walks_clusters(reads), context.stream());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return nullptr;
  }
}

}  // namespace weft
