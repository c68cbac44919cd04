// A model over one graph and its features, ready to run: every operator planned, all memory taken. A pass is then a
// sequence of launches, which on a GPU can be recorded.
#pragma once

#include <memory>
#include <vector>

#include "nn/dense/passes.hpp"
#include "nn/layers/conv.hpp"
#include "nn/layers/norm_stage.hpp"
#include "weft/dataset.hpp"

namespace weft::nn {

/// A dataset's features where the context runs.
class Input {
 public:
  Input(const Build& build, const Dataset& dataset);

  /// What the first layer reads; with `training`, after dropout, which is drawn anew.
  Matrix read(Context& context, const DropMask& mask, bool training);
  const SparseInput* sparse() const { return sparse_.graph.num_cols() > 0 ? &sparse_ : nullptr; }

 private:
  Dtype dtype_;
  bool ever_drops_;
  Tensor dense_, dropped_;
  SparseInput sparse_;
};

class Network {
 public:
  Network(Build build, const Dataset& dataset);

  /// Logits [nodes, classes], in what the storage type is accumulated in.
  ConstTensorView forward(bool training);
  /// From the logits' gradient, which stands in logits_grad(): those of all parameters.
  void backward();
  TensorView logits_grad();
  bool capturable() const;

 private:
  struct Stage {
    LayerSizes sizes;
    std::unique_ptr<Conv> conv;
    bool adds_input = false;
    bool scales_last = true;           // the layer's row_scale waits for the activation: nothing else comes before it
    std::unique_ptr<Linear> residual;  // what the input goes through, where it does not fit as it is
    std::unique_ptr<NormStage> norm;   // then there is no bias
    std::size_t bias = 0;
    DropMask mask;
    Activation activation = Activation::none;
    Tensor out;
  };
  static Slot grad_slot(std::size_t stage) { return stage % 2 == 0 ? Slot::grad_even : Slot::grad_odd; }
  Tail tail_of(const Stage& stage, bool training) const;
  void finish(Stage& stage, const Tail& tail, const Applied& applied);
  void scale_and_bias(Stage& stage, TensorView out, const Tail& tail, Applied& applied);
  void add_input(Stage& stage, const Matrix& x, TensorView to);
  void input_backward(Stage& stage, const Matrix& x, ConstTensorView grad, TensorView x_grad);

  Build build_;
  Input input_;
  DropMask input_mask_;
  std::vector<Stage> stages_;
  Matrix read_;  // by the first layer in the last forward
};

}  // namespace weft::nn
