// How a plan's groups of threads cover rows where the policy has a say in it.
#pragma once

#include "plan/gather_shape.hpp"
#include "plan/tuning/cuda.hpp"
#include "weft/graph.hpp"
#include "weft/plan.hpp"

namespace weft {

/// The most elements a load should move, whatever the row and its alignment then allow: what the policy asks for, or
/// what was fastest. `anything` is for kernels that have but one shape.
int widest_load(const OpDesc& desc, const Policy& policy, const GraphView& graph, const tuning::CudaRates& rates,
                bool anything);

/// `usual` with the lanes and loads the policy asks for; an Error that names the key where there is no such kernel.
GatherShape choose_shape(const GatherShape& usual, const OpDesc& desc, const Policy& policy, bool staged, bool narrow);

/// Whether batches are added up in pairs of halves, as the policy asks; an Error where there is no such kernel.
Accumulate choose_accumulate(const GatherShape& shape, const OpDesc& desc, const Policy& policy, bool staged);

}  // namespace weft
