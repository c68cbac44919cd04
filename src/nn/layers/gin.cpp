// Xu, Hu, Leskovec and Jegelka's layer: out = W_2 relu(W_1 ((1 + eps) x + sum of neighbours)), or with HalfGNN's lambda
// that times their mean.
#include <optional>

#include "dense/passes.hpp"
#include "nn/layers/conv.hpp"

namespace weft::nn {
namespace {

class Gin : public Conv {
 public:
  Gin(const Build& build, std::int64_t layer, const SparseInput* sparse)
      : context_(build.context),
        parameters_(build.parameters),
        slots_(build.slots),
        dtype_(build.dtype),
        sources_(build.sources()),
        inner_slot_(build.grad_slot(layer + 1)),
        wide_slot_(build.spec.residual ? Slot::second : build.grad_slot(layer)),
        first_(build, layer_prefix(layer) + "first.weight", sparse),
        second_(build, layer_prefix(layer) + "second.weight", nullptr),
        bias_(build.parameters.index(layer_prefix(layer) + "first.bias")),
        transforms_first_(transforms_first(build, layer, first_.in(), first_.out(), sparse)),
        aggregate_(build, transforms_first_ ? first_.out() : first_.in(),
                   build.spec.lambda != 0 ? Reduce::mean : Reduce::sum, transforms_first_ || layer > 0, false) {
    if (build.spec.lambda != 0 && build.spec.lambda != 1) {
      const std::vector<float> lambda(static_cast<std::size_t>(build.nodes()), build.spec.lambda);
      lambda_ = Tensor::from(lambda, Shape(build.nodes()), build.acc()).to(context_.device(), context_.stream());
    }
    if (build.spec.learn_eps) eps_ = parameters_.index(layer_prefix(layer) + "eps");
    fuses_ = aggregate_.fuses(build, transforms_first_ ? second_.out() : first_.out(), {.adds_self = true});
    // A scale before the sum would count for what a node adds of itself, too.
    fuses_back_ =
        transforms_first_ && layer > 0 && !lambda_ && aggregate_.fuses_back(build, first_.in(), {.adds_self = true});
    // Whoever reads neighbours' rows of it writes the input's gradient meanwhile.
    if (fuses_back_) inner_slot_ = Slot::third;
    const std::int64_t nodes = build.nodes(), inner = first_.out();
    hidden_ = build.empty(Shape(nodes, inner), dtype_, "hidden activations");
    // Kept for the gradients of weights and eps.
    if (!transforms_first_) kept_ = build.empty(Shape(nodes, first_.in()), dtype_, "sums over neighbours");
    if (transforms_first_ && eps_) kept_ = build.empty(Shape(sources_, inner), dtype_, "products with weights");
    if (transforms_first_ && !kept_) slots_.need(wide_slot_, sources_ * inner, dtype_);
    if (!build.trains) return;
    slots_.need(inner_slot_, nodes * inner, dtype_);
    const std::int64_t wide = std::max(transforms_first_ ? inner : first_.in(), inner);
    if (transforms_first_ || layer > 0 || eps_) slots_.need(wide_slot_, sources_ * wide, dtype_);
    if (lambda_) slots_.need(Slot::third, nodes * wide, dtype_);
    slots_.need_bytes(Slot::fold, loops::fold_bytes(nodes, wide, 1));
  }

  Applied forward(const Matrix& x, TensorView out, const Tail& tail, bool training) override {
    const ConstTensorView bias = parameters_.value(bias_);
    if (transforms_first_) {
      const TensorView products = kept_ ? kept_.view() : slots_.view(wide_slot_, Shape(sources_, first_.out()), dtype_);
      first_.forward(x, products, dense::Finish::within_range());
      if (fuses_) {
        dense::NeighbourRows rows = with_self(aggregate_.rows(products));
        rows.bias = bias.data;
        rows.relu = true;
        if (training) rows.kept = hidden_.view().mutable_data();
        dense::Finish finish;
        const Applied applied = ride_along(true, tail, finish);
        second_.forward(rows, out, finish);
        return applied;
      }
      aggregate_.forward(products, hidden_);
      add_self(products, hidden_, bias, Activation::relu);
    } else if (fuses_ && !(x.constant && !eps_)) {  // sums that stay the same are added up once
      dense::NeighbourRows rows = with_self(aggregate_.rows(x.dense));
      if (training) rows.kept = kept_.view().mutable_data();
      first_.forward(rows, hidden_, {false, bias, true, {}, 1, true});
    } else {
      if (!(x.constant && summed_)) {
        aggregate_.forward(x.dense, kept_);
        add_self(x.dense, kept_, {}, Activation::none);
      }
      summed_ = !eps_;
      first_.forward({kept_, nullptr, false}, hidden_, {false, bias, true, {}, 1, true});
      if (!first_.fuses()) activate(bias);
    }
    return remake(out, tail);
  }
  Applied remake(TensorView out, const Tail& tail) override {
    dense::Finish finish;
    const bool of_fused = transforms_first_ && fuses_;
    const Applied applied = ride_along(second_.fuses() || of_fused, tail, finish);
    if (of_fused)
      second_.forward_kept(hidden_, out, finish);
    else
      second_.forward({hidden_, nullptr, false}, out, finish);
    return applied;
  }

  void backward(const Back& back) override {
    const auto& [x, out_grad, x_grad, gate, bias_grad] = back;
    second_.weight_grad({hidden_, nullptr, false}, out_grad, bias_grad);
    const TensorView inner = slots_.view(inner_slot_, hidden_.shape(), dtype_);
    dense::Finish through;
    through.gate = hidden_;
    second_.input_grad(out_grad, inner, through);
    const bool gated = second_.fuses();
    if (!gated || !(first_.fuses() || transforms_first_)) activate_backward(inner, !gated);
    if (transforms_first_) {
      eps_grad(kept_, inner);
      const TensorView products_grad = slots_.view(wide_slot_, Shape(sources_, first_.out()), dtype_);
      if (fuses_back_) {
        if (gated) activate_backward(inner, false);
        dense::NeighbourRows rows = with_self(aggregate_.rows_back(inner));
        rows.saturates = false;  // an overflow must be found
        rows.kept = products_grad.mutable_data();
        first_.input_grad(rows, x_grad, gate);
        first_.weight_grad(x, products_grad);
        return;
      }
      aggregate_.backward(products_grad, scaled(inner), products_grad);
      if (gated) {
        activate_backward(inner, false, products_grad);
      } else {
        add_grad(inner, products_grad);
      }
      first_.weight_grad(x, products_grad);
      if (x_grad.given) first_.input_grad(products_grad, x_grad, gate);
      return;
    }
    first_.weight_grad({kept_, nullptr, false}, inner, parameters_.grad(bias_));
    if (!x_grad.given && !eps_) return;
    const TensorView sums_grad = slots_.view(wide_slot_, kept_.shape(), dtype_);
    first_.input_grad(inner, sums_grad);
    eps_grad(x.dense, sums_grad);
    if (!x_grad.given) return;
    aggregate_.backward(x.dense, scaled(sums_grad), x_grad);
    add_grad(sums_grad, x_grad);
  }
  Fusion fusion() const override {
    return {.gates = transforms_first_ && (first_.fuses() || fuses_back_), .sums_bias = second_.fuses()};
  }

 private:
  /// Rows as add_self leaves them.
  dense::NeighbourRows with_self(dense::NeighbourRows rows) const {
    if (lambda_) rows.row_scale = lambda_.view().data;
    rows.adds_self = rows.saturates = true;
    if (eps_) rows.eps = parameters_.value(*eps_).data;
    return rows;
  }
  /// sums = activation(lambda * sums + (1 + eps) * x + bias)
  void add_self(ConstTensorView x, TensorView sums, ConstTensorView bias, Activation activation) {
    dense::ActivateArgs args{dtype_, sums.shape.rows, sums.shape.row_size(), sums.data, bias.data, activation};
    args.out = sums.mutable_data();
    if (lambda_) args.row_scale = lambda_.view().data;
    args.added = x.data;
    if (eps_) args.added_eps = parameters_.value(*eps_).data;
    run(context_, args);
  }
  void activate(ConstTensorView bias) {
    dense::ActivateArgs args{dtype_,    hidden_.shape().rows, first_.out(), hidden_.view().data,
                             bias.data, Activation::relu};
    args.out = hidden_.view().mutable_data();
    run(context_, args);
  }
  /// What products have left of the way back through the inner activation, if anything, and its bias; in the same pass
  /// `added_to` gets what it would from add_grad.
  void activate_backward(TensorView inner, bool through, TensorView added_to = {}) {
    dense::ActivateBackwardArgs args{dtype_, hidden_.shape().rows, first_.out(), nullptr, inner.data};
    args.bias_grad = parameters_.grad(bias_).mutable_data();
    args.scratch = slots_.data(Slot::fold);
    if (through) {
      args.out = hidden_.view().data;
      args.activation = Activation::relu;
      args.grad = inner.mutable_data();
    }
    if (added_to.given) {
      args.added_to = added_to.mutable_data();
      if (eps_) args.added_eps = parameters_.value(*eps_).data;
    }
    run(context_, args);
  }
  TensorView scaled(TensorView grad) {
    if (!lambda_) return grad;
    const TensorView to = slots_.view(Slot::third, grad.shape, dtype_);
    run(context_, dense::ScaleRowsArgs{dtype_, grad.shape.rows, grad.shape.row_size(), grad.data, lambda_.view().data,
                                       to.mutable_data()});
    return to;
  }
  /// out += (1 + eps) * grad, of the nodes that are written, which come first.
  void add_grad(ConstTensorView grad, TensorView out) {
    run(context_, dense::AddSelfArgs{dtype_, grad.shape.size(), grad.data,
                                     eps_ ? parameters_.value(*eps_).data : nullptr, out.mutable_data()});
  }
  void eps_grad(ConstTensorView x, ConstTensorView out_grad) {
    if (eps_)
      run(context_, dense::SelfGradArgs{dtype_, out_grad.shape.rows, out_grad.shape.row_size(), x.data, out_grad.data,
                                        parameters_.grad(*eps_).mutable_data(), slots_.data(Slot::fold)});
  }

  Context& context_;
  Parameters& parameters_;
  Slots& slots_;
  Dtype dtype_;
  std::int64_t sources_;
  // Gradients of hidden activations stand where the input's will, and those of products or sums in the place of
  // out_grad, which has been read by then, unless it is added to the input's.
  Slot inner_slot_, wide_slot_;
  Linear first_, second_;
  std::size_t bias_;
  std::optional<std::size_t> eps_;
  bool transforms_first_;
  Aggregate aggregate_;
  // Sums run as one with the product behind them: with second_ where it transforms first, else with first_; and back.
  bool fuses_ = false, fuses_back_ = false;
  Tensor lambda_;  // of every row, where means are multiplied by it
  Tensor hidden_, kept_;
  bool summed_ = false;  // kept_ are sums of the input, which may stay the same
};

}  // namespace

constinit const LayerDefinition gin_layer{
    .architecture = Architecture::gin,
    .name = "gin",
    .set_model_defaults =
        [](ModelSpec& spec) {
          spec.hidden = 64;
          spec.dropout = 0.6f;
        },
    .set_training_defaults = [](TrainOptions& options) { options.lr = 0.005; },
    .reads = {.learn_eps = true, .lambda = true},
    .hides = true,
    .list_parameters =
        [](const ModelSpec& spec, const LayerSizes& s, ParameterList& list) {
          if (spec.learn_eps) list.constant("eps", 1, 0);
          list.matrix("first.weight", s.in, spec.hidden, 0);
          list.constant("first.bias", spec.hidden, 0);
          list.matrix("second.weight", spec.hidden, s.out, s.class_groups());
        },
    .norm_of_sums = [](const ModelSpec& spec) { return spec.lambda != 0 ? DegreeNorm::right : DegreeNorm::none; },
    .remakes = true,
    .make = make_layer<Gin>,
};

}  // namespace weft::nn
