// Planning for a GPU: candidates of equal shares of the edges, a modelled time for each, the best one's task order.
#pragma once

#include "weft/plan.hpp"

namespace weft {

PlanReport explain_cuda(const Context& context, const GraphView& graph, std::uint64_t identity, const OpDesc& desc,
                        const Policy& policy, const Graph* owner);

}  // namespace weft
