// The planner's view of segments: edges without sources.
#pragma once

#include "weft/plan.hpp"

namespace weft {

/// On a GPU there are no sources to order the work by, and no kernel that stages edges in shared memory.
inline Policy policy_of_segments(const Context& context) {
  Policy policy;
  if (context.device().kind == DeviceKind::cpu) return policy;
  policy.order = WorkOrder::none;
  policy.stage_edges = 0;
  return policy;
}

}  // namespace weft
