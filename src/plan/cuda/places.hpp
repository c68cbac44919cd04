// Where values of edges stand between the run of one plan and the run of another.
#pragma once

#include <memory>

#include "core/cuda/launcher.hpp"
#include "graph/cuda/edge_places.hpp"
#include "weft/context.hpp"
#include "weft/plan.hpp"

namespace weft {

/// For `writes`, a plan over the transpose of `graph`, and `reads`, one over `graph`. Null where edges are none, more
/// than can have places or drawn anew in place, or there is no memory for them: then edge ids say where, more slowly.
WEFT_LAUNCHER(std::shared_ptr<const EdgePlaces> places_between(const Context& context, const Graph& graph,
                                                               const Plan& writes, const Plan& reads));

}  // namespace weft
