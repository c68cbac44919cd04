// The passes of sampling on a GPU, put into the stream; what gives a number waits for it.
#pragma once

#include "nn/sample/passes.hpp"

namespace weft::nn::cuda {

void run(const MarkArgs& args, Device device, CUstream_st* stream);
void run(const NumberArgs& args, Device device, CUstream_st* stream);
void run(const TakeRowsArgs& args, Device device, CUstream_st* stream);
void run(const DrawRowsArgs& args, Device device, CUstream_st* stream);
void run(const RelabelArgs& args, Device device, CUstream_st* stream);
void run(const CountArgs& args, Device device, CUstream_st* stream);
void run(const SumWeightsArgs& args, Device device, CUstream_st* stream);
void run(const WeighArgs& args, Device device, CUstream_st* stream);
void run(const LossWeightsArgs& args, Device device, CUstream_st* stream);
void run(const ShuffleArgs& args, Device device, CUstream_st* stream);
void run(const GatherArgs<NodeId>& args, Device device, CUstream_st* stream);
void run(const GatherArgs<EdgeId>& args, Device device, CUstream_st* stream);
std::int64_t list_marked(const NodeId* local, std::int64_t count, NodeId* nodes, Device device, CUstream_st* stream);
EdgeId lengths_to_offsets(EdgeId* offsets, std::int64_t count, Device device, CUstream_st* stream);

}  // namespace weft::nn::cuda
