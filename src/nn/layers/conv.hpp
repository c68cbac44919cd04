// One layer's way from a node's features and those of its neighbours to new ones, and back.
#pragma once

#include <memory>

#include "core/check.hpp"
#include "dense/mask.hpp"
#include "nn/aggregate.hpp"
#include "nn/layers/table.hpp"
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
/// Puts what of the tail a product can do on its way into `finish`, if it `takes` any.
Applied ride_along(bool takes, const Tail& tail, dense::Finish& finish);

/// What a layer takes over of the passes around it, which follows from its arguments and stays for every run.
struct Fusion {
  bool gates = false;      // its last product of a backward takes x_grad through the activation that x came out of
  bool sums_bias = false;  // one of those products sums the gradient of the bias
  /// What every row of `out` is to be multiplied by before anything of the tail, and of out_grad likewise; or none.
  /// Then forward applies nothing.
  ConstTensorView row_scale = {};
};

/// What a layer's backward takes and writes.
struct Back {
  Matrix x;
  TensorView out_grad;   // stays as it is
  TensorView x_grad;     // where it is wanted
  dense::Finish gate;    // that x_grad goes through, if the layer's Fusion gates
  TensorView bias_grad;  // the sum of out_grad's rows, if it sums_bias
};

class Conv {
 public:
  virtual ~Conv() = default;

  /// What of `tail` was done, too. `out` is of the storage type, and the last layer's of what that is accumulated in.
  virtual Applied forward(const Matrix& x, TensorView out, const Tail& tail, bool training) = 0;
  /// Of a layer that remakes: the last forward's output once more, to the bit.
  virtual Applied remake(TensorView, const Tail&) { return {}; }
  /// Gradients of the parameters and, where x_grad is given, of x.
  virtual void backward(const Back& back) = 0;
  virtual Fusion fusion() const = 0;
};

/// LayerDefinition::make of the class. `sparse`: the first layer's input, where that is sparse.
template <class Layer>
std::unique_ptr<Conv> make_layer(const Build& build, std::int64_t layer, const SparseInput* sparse) {
#ifdef WEFT_FUZZ  // such builds have definitions of layers for files of models, and nothing that layers compute with
  fail(ErrorCode::unsupported, "this build of weft reads models and runs none");
#else
  return std::make_unique<Layer>(build, layer, sparse);
#endif
}

/// Whether features are multiplied by the weights before they are added up over neighbours, rather than after: by what
/// is added up along the edges, forward and backward. (The first layer's input needs no gradient, but that of weights
/// before a sum comes through the sum.)
bool transforms_first(const Build& build, std::int64_t layer, std::int64_t in, std::int64_t out,
                      const SparseInput* sparse);

/// Features a layer without attention adds up along the edges, by that choice. `sparse`: the model's input is.
std::int64_t summed_width(const Build& build, std::int64_t layer, bool sparse);

}  // namespace weft::nn
