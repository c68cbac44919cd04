// Node ids and offsets between 32 and 64 bits.
#pragma once

#include <algorithm>

#include "core/parallel.hpp"
#include "graph/cuda/edges.hpp"
#include "graph/scan.hpp"
#include "weft/tensor.hpp"

namespace weft {

/// Ids or offsets in the other width, on a device in the order of the stream. What does not fit is cut off.
template <class To, class From>
Tensor converted_ids(ConstTensorView from, std::string_view what, CUstream_st* stream) {
  const std::int64_t count = from.shape.rows;
  Tensor to = Tensor::empty(Shape(count), dtype_of<To>, what, from.device, stream);
  const From* const in = from.as<From>();
  To* const out = to.view().template as<To>();
  if (from.device.kind == DeviceKind::cuda) {
    if (count > 0) cuda::convert_ids(from.device, stream, in, count, out);
    return to;
  }
  parallel_ranges(default_threads(), count, scan_grain, [&](std::int64_t begin, std::int64_t end) {
    std::transform(in + begin, in + end, out + begin, [](From id) { return static_cast<To>(id); });
  });
  return to;
}

}  // namespace weft
