#include "nn/linear.hpp"

#include "nn/dense/passes.hpp"

namespace weft::nn {

Linear::Linear(const Build& build, const std::string& name, const SparseInput* sparse)
    : context_(build.context),
      gemm_(build.gemm),
      parameters_(build.parameters),
      slots_(build.slots),
      index_(build.parameters.index(name)),
      weight_(build.parameters.value(index_).shape) {
  if (sparse == nullptr) return;
  const OpDesc desc{OpKind::spmm, build.dtype, 1, weight_.width, Reduce::sum, true};
  sparse_forward_ = make_plan(context_, sparse->graph, desc);
  context_.reserve(sparse_forward_.workspace_bytes);
  slots_.need(Slot::second, sparse->graph.num_rows() * weight_.width, build.acc());
  if (!build.trains) return;
  sparse_backward_ = make_plan(context_, sparse->graph.transpose(), desc);
  context_.reserve(sparse_backward_.workspace_bytes);
}

void Linear::forward(const Matrix& x, TensorView out, bool adds) {
  const ConstTensorView weight = parameters_.stored(index_);
  if (x.sparse == nullptr) return gemm_(x.dense, Transposed::no, weight, Transposed::no, out, adds);
  const TensorView to = adds ? slots_.view(Slot::second, out.shape, out.dtype) : out;
  spmm(context_, sparse_forward_, x.sparse->graph, weight, x.values(), to, {});
  if (adds) run(context_, AddSelfArgs{out.dtype, out.shape.size(), to.data, nullptr, out.mutable_data(), true});
}

void Linear::weight_grad(const Matrix& x, ConstTensorView out_grad) {
  const TensorView grad = parameters_.grad(index_);
  if (x.sparse == nullptr) return gemm_(x.dense, Transposed::yes, out_grad, Transposed::no, grad);
  spmm(context_, sparse_backward_, x.sparse->graph.transpose(), out_grad, x.values(), grad, {});
}

void Linear::input_grad(ConstTensorView out_grad, TensorView x_grad, bool adds) {
  gemm_(out_grad, Transposed::no, parameters_.stored(index_), Transposed::yes, x_grad, adds);
}

}  // namespace weft::nn
