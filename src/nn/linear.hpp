// Products with a layer's weights, of dense activations or of input features kept sparse.
#pragma once

#include "dense/mask.hpp"
#include "nn/build.hpp"
#include "weft/ops.hpp"

namespace weft::nn {

/// Input features by their entries that are not 0: rows are nodes, columns features.
struct SparseInput {
  Graph graph;                           // where the context runs
  ConstTensorView values;                // storage type, by edge id
  ConstTensorView dropped;               // the same after dropout; none where nothing is dropped
  const SparseInput* written = nullptr;  // the rows of the nodes that the first layer writes, where they are fewer

  const SparseInput* of_written() const { return written != nullptr ? written : this; }
};

/// What a layer reads: the last one's output, or the input features.
struct Matrix {
  ConstTensorView dense;
  const SparseInput* sparse = nullptr;
  bool drops = false;     // sparse: the values after dropout
  bool constant = false;  // the same in every pass, in training or not
  ConstTensorView values() const { return drops && sparse->dropped ? sparse->dropped : sparse->values; }
  /// The rows of the nodes that a layer writes.
  Matrix of_written(std::int64_t nodes) const {
    return {sparse == nullptr ? head(dense, nodes) : dense, sparse != nullptr ? sparse->of_written() : nullptr, drops,
            constant};
  }
};

class Linear {
 public:
  /// Of the parameter `name`, [in, out]. `sparse`: what it will read, or null.
  Linear(const Build& build, const std::string& name, const SparseInput* sparse);

  std::int64_t in() const { return weight_.rows; }
  std::int64_t out() const { return weight_.width; }
  /// Whether what is more than a product, and a sum with what is there, can ride in it.
  bool fuses() const { return fuses_; }
  /// out = finish(x W). What else rides along takes a product that fuses(), but sums and saturation, which all have.
  void forward(const Matrix& x, TensorView out, const dense::Finish& finish = {});
  /// The same of rows that are made on the way, and of rows that were kept of such a product, to the same bits. All of
  /// `finish` rides along.
  void forward(const dense::NeighbourRows& rows, TensorView out, const dense::Finish& finish = {});
  void forward_kept(ConstTensorView rows, TensorView out, const dense::Finish& finish = {});
  /// bias_grad, where it is given: the sum of out_grad's rows.
  void weight_grad(const Matrix& x, ConstTensorView out_grad, TensorView bias_grad = {});
  /// x_grad = finish(out_grad W^T).
  void input_grad(ConstTensorView out_grad, TensorView x_grad, const dense::Finish& finish = {});
  void input_grad(const dense::NeighbourRows& rows, TensorView x_grad, const dense::Finish& finish = {});

 private:
  /// Of halves cuBLAS multiplies as fast or faster: only what rides along makes the difference
  /// (bench/records/h200/dense-products.json).
  bool own(const dense::Finish& finish) const {
    return fuses_ &&
           (wide_ || finish.bias.given || finish.relu || finish.gate.given || (finish.saturates && saturates_));
  }

  Context& context_;
  dense::Gemm& gemm_;
  Parameters& parameters_;
  Slots& slots_;
  std::size_t index_;
  bool wide_, saturates_, fuses_ = false;
  Shape weight_;
  Plan sparse_forward_, sparse_backward_;
};

}  // namespace weft::nn
