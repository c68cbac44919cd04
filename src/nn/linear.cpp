#include "nn/linear.hpp"

#include "core/operator_timer.hpp"
#include "dense/passes.hpp"

namespace weft::nn {

Linear::Linear(const Build& build, const std::string& name, const SparseInput* sparse)
    : context_(build.context),
      gemm_(build.gemm),
      parameters_(build.parameters),
      slots_(build.slots),
      index_(build.parameters.index(name)),
      wide_(build.dtype == Dtype::f32),
      saturates_(build.dtype == Dtype::f16),
      weight_(build.parameters.value(index_).shape) {
  if (sparse == nullptr) {
    fuses_ = gemm_.own(build.dtype, build.sources(), in(), out());
    if (fuses_ && build.trains) gemm_.reserve(build.dtype, build.sources(), in(), out());
    return;
  }
  const OpDesc desc{OpKind::spmm, build.dtype, 1, weight_.width, Reduce::sum, true};
  sparse_forward_ = make_plan(context_, sparse->graph, desc);
  context_.reserve(sparse_forward_.workspace_bytes);
  slots_.need(Slot::second, sparse->graph.num_rows() * weight_.width, build.acc());
  if (!build.trains) return;
  sparse_backward_ = make_plan(context_, sparse->graph.transpose(), desc);
  context_.reserve(sparse_backward_.workspace_bytes);
}

void Linear::forward(const Matrix& x, TensorView out, const dense::Finish& finish) {
  const ConstTensorView weight = parameters_.stored(index_);
  if (own(finish)) return gemm_.multiply(x.dense, weight, dense::Transposed::no, out, finish);
  if (x.sparse == nullptr) {
    gemm_(x.dense, dense::Transposed::no, weight, dense::Transposed::no, out, finish.adds);
  } else {
    const TensorView to = finish.adds ? slots_.view(Slot::second, out.shape, out.dtype) : out;
    const TimedOperator timed(context_, "sparse features");
    spmm(context_, sparse_forward_, x.sparse->graph, weight, x.values(), to, {});
    if (finish.adds)
      run(context_, dense::AddSelfArgs{out.dtype, out.shape.size(), to.data, nullptr, out.mutable_data(), true});
  }
  // (Whoever asked for an activation has a pass for it, which saturates.)
  if (finish.saturates && !finish.relu) dense::saturate(context_, out);
}

void Linear::forward(const dense::NeighbourRows& rows, TensorView out, const dense::Finish& finish) {
  gemm_.multiply(rows, parameters_.stored(index_), dense::Transposed::no, out, finish);
}

void Linear::forward_kept(ConstTensorView rows, TensorView out, const dense::Finish& finish) {
  gemm_.multiply(rows, parameters_.stored(index_), dense::Transposed::no, out, finish);
}

void Linear::weight_grad(const Matrix& x, ConstTensorView out_grad, TensorView bias_grad) {
  const TensorView grad = parameters_.grad(index_);
  if (fuses_ && (wide_ || bias_grad.given)) return gemm_.outer(x.dense, out_grad, grad, bias_grad);
  if (x.sparse == nullptr) return gemm_(x.dense, dense::Transposed::yes, out_grad, dense::Transposed::no, grad);
  const TimedOperator timed(context_, "sparse features");
  spmm(context_, sparse_backward_, x.sparse->graph.transpose(), out_grad, x.values(), grad, {});
}

void Linear::input_grad(ConstTensorView out_grad, TensorView x_grad, const dense::Finish& finish) {
  const ConstTensorView weight = parameters_.stored(index_);
  if (own(finish)) return gemm_.multiply(out_grad, weight, dense::Transposed::yes, x_grad, finish);
  gemm_(out_grad, dense::Transposed::no, weight, dense::Transposed::yes, x_grad, finish.adds);
}

void Linear::input_grad(const dense::NeighbourRows& rows, TensorView x_grad, const dense::Finish& finish) {
  gemm_.multiply(rows, parameters_.stored(index_), dense::Transposed::yes, x_grad, finish);
}

}  // namespace weft::nn
