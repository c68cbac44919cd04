// Builds without CUDA have no context that could ask for this: what does so all the same hears why there is none.
#include "plan/cuda/tasks.hpp"

namespace weft {

DeviceTasks::DeviceTasks(const Context& context, const GraphView&, std::int64_t, WorkOrder, const Graph*) {
  require_cuda(context.device().index, "a plan");
}

}  // namespace weft
