// How a plan's groups of threads cover rows where the policy has a say in it.
#pragma once

#include "plan/gather_shape.hpp"
#include "weft/plan.hpp"

namespace weft {

/// `usual` with the lanes and loads the policy asks for; an Error that names the key where there is no such kernel.
GatherShape choose_shape(const GatherShape& usual, const OpDesc& desc, const Policy& policy, bool staged, bool narrow);

/// Whether batches are added up in pairs of halves, as the policy asks; an Error where there is no such kernel.
Accumulate choose_accumulate(const GatherShape& shape, const OpDesc& desc, const Policy& policy, bool staged);

}  // namespace weft
