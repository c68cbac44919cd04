// A check of results that is off unless somebody looks for what made them infinite.
#pragma once

#include <string_view>

#include "ops/operands.hpp"

namespace weft {

/// Where the environment asks for it (WEFT_CHECK_FINITE=1): as check_finite, of what `op` has written. It waits for the
/// context then; otherwise it does nothing.
void check_result(const Context& context, ConstTensorView out, std::string_view op);

}  // namespace weft
