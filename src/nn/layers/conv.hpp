// One layer's way from a node's features and those of its neighbours to new ones, and back.
#pragma once

#include <memory>

#include "dense/mask.hpp"
#include "nn/aggregate.hpp"
#include "nn/layout.hpp"
#include "nn/linear.hpp"

namespace weft::nn {

/// What follows a layer, of which its last operator may do some on the way.
struct Tail {
  ConstTensorView bias;
  Activation activation = Activation::none;
  dense::DropMask mask;
};
struct Applied {
  bool bias = false, activation = false, dropout = false;
};
/// Puts what of the tail a product can do on its way into `finish`.
Applied ride_along(const Linear& product, const Tail& tail, dense::Finish& finish);

/// What a layer's backward takes and writes.
struct Back {
  Matrix x;
  TensorView out_grad;   // stays as it is
  TensorView x_grad;     // where it is wanted
  dense::Finish gate;    // that x_grad goes through, if the layer gates()
  TensorView bias_grad;  // the sum of out_grad's rows, if the layer sums_bias()
};

class Conv {
 public:
  virtual ~Conv() = default;

  /// What of `tail` was done, too. `out` is of the storage type, and the last layer's of what that is accumulated in.
  virtual Applied forward(const Matrix& x, TensorView out, const Tail& tail, bool training) = 0;
  /// Whether the output follows from what the layer keeps, without its input, which forward has read by the time it
  /// writes the output: memory for one output then does for many layers.
  virtual bool remakes() const { return false; }
  /// Of a layer that does: the last forward's output once more, to the bit.
  virtual Applied remake(TensorView, const Tail&) { return {}; }
  /// Gradients of the parameters and, where x_grad is given, of x.
  virtual void backward(const Back& back) = 0;
  /// Whether its last product of a backward takes x_grad through the activation that x came out of, and another sums
  /// the gradient of the bias.
  virtual bool gates() const { return false; }
  virtual bool sums_bias() const { return false; }
  /// What every row of `out` is to be multiplied by before anything of the tail, and of out_grad likewise; or none.
  /// Then forward applies nothing.
  virtual ConstTensorView row_scale() const { return {}; }
};

/// The layer of the model's architecture. `sparse`: the first one's input, where that is sparse.
std::unique_ptr<Conv> make_conv(const Build& build, std::int64_t layer, const SparseInput* sparse);
std::unique_ptr<Conv> make_gcn(const Build& build, std::int64_t layer, const SparseInput* sparse);
std::unique_ptr<Conv> make_sage(const Build& build, std::int64_t layer, const SparseInput* sparse);
std::unique_ptr<Conv> make_gin(const Build& build, std::int64_t layer, const SparseInput* sparse);
std::unique_ptr<Conv> make_gat(const Build& build, std::int64_t layer, const SparseInput* sparse);
std::unique_ptr<Conv> make_gatv2(const Build& build, std::int64_t layer, const SparseInput* sparse);

/// Whether features are multiplied by the weights before they are added up over neighbours, rather than after: by what
/// is added up along the edges, forward and backward. (The first layer's input needs no gradient, but that of weights
/// before a sum comes through the sum.)
bool transforms_first(const Build& build, std::int64_t layer, std::int64_t in, std::int64_t out,
                      const SparseInput* sparse);

/// Features a layer without attention adds up along the edges, by that choice. `sparse`: the model's input is.
std::int64_t summed_width(const Build& build, std::int64_t layer, bool sparse);

}  // namespace weft::nn
