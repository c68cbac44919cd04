// A check of results for infinity and NaN, which is off by default.
#pragma once

#include <string_view>

#include "ops/operands.hpp"

namespace weft {

/// With WEFT_CHECK_FINITE=1 in the environment, runs check_finite on the output of `op`, which waits for the context;
/// otherwise, and during the capture of a CUDA graph, it does nothing.
void check_result(const Context& context, ConstTensorView out, std::string_view op);

}  // namespace weft
