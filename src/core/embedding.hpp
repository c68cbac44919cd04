// What the program that weft runs inside of has set.
#pragma once

#include "weft/embedding.hpp"

namespace weft {

/// Null: weft's own. What is not null stays there for good.
const Allocator* allocator_of(DeviceKind kind);
const Executor* executor();

}  // namespace weft
