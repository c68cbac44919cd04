// The passes on a GPU, put into the stream.
#pragma once

#include "nn/dense/norm.hpp"

namespace weft::nn::cuda {

void run(const ActivateArgs& args, Device device, CUstream_st* stream);
void run(const ActivateBackwardArgs& args, Device device, CUstream_st* stream);
void run(const ScaleRowsArgs& args, Device device, CUstream_st* stream);
void run(const AddSelfArgs& args, Device device, CUstream_st* stream);
void run(const SelfGradArgs& args, Device device, CUstream_st* stream);
void run(const HeadDotsArgs& args, Device device, CUstream_st* stream);
void run(const HeadDotsBackwardArgs& args, Device device, CUstream_st* stream);
void run(const MeanHeadsArgs& args, Device device, CUstream_st* stream);
void run(const MeanHeadsBackwardArgs& args, Device device, CUstream_st* stream);
void run(const LossArgs& args, Device device, CUstream_st* stream);
void run(const FindOverflowArgs& args, Device device, CUstream_st* stream);
void run(const OptimiseArgs& args, Device device, CUstream_st* stream);
void run(const EndStepArgs& args, Device device, CUstream_st* stream);
void run(const EndEvaluationArgs& args, Device device, CUstream_st* stream);
void run(const KeepBestArgs& args, Device device, CUstream_st* stream);
void run(const BatchNormArgs& args, Device device, CUstream_st* stream);
void run(const BatchNormBackwardArgs& args, Device device, CUstream_st* stream);
void run(const LayerNormArgs& args, Device device, CUstream_st* stream);
void run(const LayerNormBackwardArgs& args, Device device, CUstream_st* stream);

}  // namespace weft::nn::cuda
