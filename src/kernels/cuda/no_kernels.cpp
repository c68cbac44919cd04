// Builds without CUDA have no context that could ask for these: what does so all the same hears why there is none.
#include "core/device.hpp"
#include "kernels/cuda/elementwise/elementwise.hpp"
#include "kernels/extremum_backward.hpp"
#include "kernels/signatures.hpp"

namespace weft::cuda {

void spmm(const SpmmArgs&, const Plan& plan, Arena, CUstream_st*) { require_cuda(plan.device.index, "spmm"); }
void sddmm(const SddmmArgs&, const Plan& plan, CUstream_st*) { require_cuda(plan.device.index, "sddmm"); }
void softmax_forward(const SoftmaxArgs&, const Plan& plan, Arena, CUstream_st*) {
  require_cuda(plan.device.index, "edge_softmax");
}
void softmax_backward(const SoftmaxArgs&, const Plan& plan, Arena, CUstream_st*) {
  require_cuda(plan.device.index, "edge_softmax_backward");
}
void attention_forward(const AttentionArgs&, const Plan& plan, Arena, CUstream_st*) {
  require_cuda(plan.device.index, "attention");
}
bool attention_returns(const AttentionReturnArgs&, const Plan&) { return false; }
void attention_return(const AttentionReturnArgs&, const Plan& plan, Arena, CUstream_st*) {
  require_cuda(plan.device.index, "attention_backward");
}
void attention_weights(const AttentionEdgeArgs&, Device device, CUstream_st*) {
  require_cuda(device.index, "attention_weights");
}
void attention_drop(const AttentionArgs&, const Result&, Device device, CUstream_st*) {
  require_cuda(device.index, "attention_backward");
}
void attention_through_leaky(const AttentionEdgeArgs&, Device device, CUstream_st*) {
  require_cuda(device.index, "attention_backward");
}
void leaky_sum(const LeakyArgs&, const Plan& plan, Arena, CUstream_st*) {
  require_cuda(plan.device.index, "attention_backward");
}

void combine(const CombineArgs&, Device device, CUstream_st*) { require_cuda(device.index, "a backward pass"); }
void reduce_to(const ReduceToArgs&, Device device, CUstream_st*) { require_cuda(device.index, "a backward pass"); }
void row_norms(const RowNormArgs&, Device device, CUstream_st*) { require_cuda(device.index, "a backward pass"); }
void spread(const SpreadArgs&, Device device, CUstream_st*) { require_cuda(device.index, "a backward pass"); }
void first_not_finite(const FirstNotFiniteArgs&, Device device, CUstream_st*) {
  require_cuda(device.index, "check_finite");
}
bool is_captured(Device, CUstream_st*) { return false; }
std::size_t extremum_workspace(const ExtremumBackwardArgs&) { return 0; }
void extremum_x_gradient(const ExtremumBackwardArgs&, Device device, Arena, CUstream_st*) {
  require_cuda(device.index, "a backward pass");
}
void extremum_edge_gradient(const ExtremumBackwardArgs&, Device device, CUstream_st*) {
  require_cuda(device.index, "a backward pass");
}

}  // namespace weft::cuda
