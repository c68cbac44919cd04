// A model over one graph and its features, ready to run: every operator planned, all memory taken. A pass is then a
// sequence of launches, which on a GPU can be recorded.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dense/passes.hpp"
#include "nn/input.hpp"
#include "nn/layers/conv.hpp"
#include "nn/layers/norm_stage.hpp"
#include "nn/sample/batch.hpp"

namespace weft::nn {

/// Makes what a whole graph keeps for planners before there is anything else in memory: sorting takes as much again for
/// a while. `sparse`: the input is. `weighted`: edges have weights.
void make_orders(const Build& build, bool sparse, bool weighted);

/// What a model makes of a graph, and the time that took once all was planned.
struct Inferred {
  Tensor logits;  // [nodes, classes], in what the storage type is accumulated in
  Tensor hidden;  // [nodes, width], of the storage type: what the last layer read; only where asked for
  double seconds = 0;
};

class Network {
 public:
  /// Over a graph, or the blocks of a batch; `build` has none. Features are those of the nodes the first layer reads.
  Network(Build build, std::shared_ptr<const Features> features, std::vector<Block> blocks);

  /// One forward over a whole graph, layer by layer: each one's memory goes, but for its output, before the next one's
  /// is taken.
  static Inferred infer(Build build, std::shared_ptr<const Features> features, std::vector<Block> blocks,
                        bool keep_hidden);

  /// Logits [nodes, classes], in what the storage type is accumulated in.
  ConstTensorView forward(bool training);
  /// From the logits' gradient, which stands in logits_grad(): those of all parameters.
  void backward();
  TensorView logits_grad();
  std::int64_t outputs() const { return stages_.back().shape.rows; }  // nodes the last layer writes

 private:
  struct Stage {
    LayerSizes sizes;
    std::unique_ptr<Conv> conv;
    Fusion fusion;  // the layer's
    bool adds_input = false;
    bool scales_last = true;           // its row_scale waits for the activation: nothing else comes before it
    std::unique_ptr<Linear> residual;  // what the input goes through, where it does not fit as it is
    std::unique_ptr<NormStage> norm;   // then there is no bias
    std::size_t bias = 0;
    dense::DropMask mask;
    Activation activation = Activation::none;
    Shape shape;  // of the output
    Tensor out;   // none: it stands in Slot::output until the next layer's takes its place
  };
  struct WithoutStages {};
  Network(Build build, std::shared_ptr<const Features> features, std::vector<Block> blocks, WithoutStages);
  Stage make_stage(std::int64_t layer);  // without memory for its output
  Tensor own_output(const Stage& stage) const;
  /// What a stage makes of x, which stands where out_of says.
  Matrix pass(Stage& stage, const Matrix& x, bool training);
  dense::DropMask mask_at(std::int64_t place) const;
  TensorView out_of(Stage& stage);
  /// What takes a gradient through a stage's activation and dropout on the way out of a product; none: no product can.
  std::optional<dense::Finish> gate_of(Stage& stage);
  /// Chooses the outputs that are made again, and takes memory for the others.
  void place_outputs();
  /// Sees to it that a stage's output is there in a backward.
  void need_output(std::size_t stage);
  Build build_of(std::int64_t layer) const;
  /// Of what a stage gives. The last one's takes the place of the logits where it is of their type.
  TensorView grad_of(std::size_t stage);
  bool keeps_logits() const { return build_.dtype != build_.acc(); }
  Tail tail_of(const Stage& stage, bool training) const;
  void finish(Stage& stage, const Tail& tail, const Applied& applied);
  void scale_and_bias(Stage& stage, TensorView out, const Tail& tail, Applied& applied);
  void add_input(Stage& stage, const Matrix& x, TensorView to);
  void activate_backward(Stage& stage, TensorView grad, bool gated, bool bias_summed);
  void input_backward(Stage& stage, const Matrix& x, ConstTensorView grad, TensorView x_grad);

  Build build_;
  std::vector<Block> blocks_;
  Input input_;
  dense::DropMask input_mask_;
  std::vector<Stage> stages_;
  Matrix read_;               // by the first layer in the last forward
  std::size_t standing_ = 0;  // stage whose output is in Slot::output
};

}  // namespace weft::nn
