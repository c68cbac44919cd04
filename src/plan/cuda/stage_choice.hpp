// Whether a plan keeps its edges in registers, or takes them through shared memory.
#pragma once

#include <string>

#include "weft/plan.hpp"

namespace weft {

/// Sets stage_edges, assignment and flush of a plan whose desc is set, as the policy asks or where that is faster; an
/// Error that names the policy's key where the operator has no such kernel.
void choose_stage(Plan& plan, const Policy& policy, const GraphView& graph);

/// The keys that make a plan take edges through shared memory, as a policy spells them.
std::string stage_text(const Plan& plan);

}  // namespace weft
