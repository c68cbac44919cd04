// What the public dense functions expect of tensors.
#pragma once

#include "weft/context.hpp"
#include "weft/tensor.hpp"

namespace weft::dense {

/// A dense floating tensor on the context's device.
void check_dense(const Context& context, ConstTensorView view, const char* name);
/// The same, of the shape and storage type of `wanted`.
void check_like(const Context& context, ConstTensorView view, const char* name, ConstTensorView wanted,
                const char* wanted_name);

}  // namespace weft::dense
