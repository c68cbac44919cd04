// What sampling asks of a GPU beside passes: numbers, which it waits for.
#pragma once

#include "core/cuda/launcher.hpp"
#include "nn/sample/passes.hpp"

namespace weft::nn::cuda {

WEFT_LAUNCHER(std::int64_t list_marked(const NodeId* local, std::int64_t count, NodeId* nodes, Device device,
                                       CUstream_st* stream));
WEFT_LAUNCHER(EdgeId lengths_to_offsets(EdgeId* offsets, std::int64_t count, Device device, CUstream_st* stream));

}  // namespace weft::nn::cuda
