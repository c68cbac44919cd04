// How a plan's groups of threads cover rows where the policy has a say in it.
#pragma once

#include "plan/gather_shape.hpp"
#include "weft/plan.hpp"

namespace weft {

/// `usual` with the lanes and loads the policy asks for; an Error that names the key where there is no such kernel.
GatherShape choose_shape(const GatherShape& usual, const OpDesc& desc, const Policy& policy, bool staged, bool narrow);

}  // namespace weft
