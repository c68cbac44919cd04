// Builds without CUDA have no context that could ask for this: what does so all the same hears why there is none.
#include "plan/cuda/places.hpp"
#include "plan/cuda/tasks.hpp"

namespace weft {

DeviceTasks::DeviceTasks(const Context& context, const GraphView&, std::int64_t, WorkOrder, bool, const Graph*) {
  require_cuda(context.device().index, "a plan");
}
std::shared_ptr<const EdgePlaces> places_between(const Context& context, const Graph&, const Plan&, const Plan&) {
  require_cuda(context.device().index, "a plan");
  return nullptr;
}

}  // namespace weft
