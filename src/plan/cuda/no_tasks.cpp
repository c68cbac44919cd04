// Builds without CUDA have no context that could ask for this.
#include "core/check.hpp"
#include "plan/cuda/tasks.hpp"

namespace weft {

DeviceTasks::DeviceTasks(const Context& context, const GraphView&, std::int64_t, WorkOrder, const Graph*) {
  fail(ErrorCode::unsupported, "device {} is not available: this build of weft has no CUDA",
       to_string(context.device()));
}

}  // namespace weft
