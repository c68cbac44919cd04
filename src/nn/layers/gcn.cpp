// Kipf and Welling's layer: out = norm(A) x W.
#include "dense/passes.hpp"
#include "nn/layers/conv.hpp"

namespace weft::nn {
namespace {

/// Norms are outside of the sums: what stands at sources is scaled before and what stands at destinations after, in
/// passes over nodes that are there anyway or cost little, while along the edges only plain sums are left.
class Gcn : public Conv {
 public:
  Gcn(const Build& build, std::int64_t layer, const SparseInput* sparse)
      : context_(build.context),
        slots_(build.slots),
        dtype_(build.dtype),
        sources_(build.sources()),
        linear_(build, layer_prefix(layer) + "weight", sparse),
        transforms_first_(transforms_first(build, layer, linear_.in(), linear_.out(), sparse)),
        norm_(build.weights.given ? DegreeNorm::none : build.spec.degree_norm),
        means_(build.dtype == Dtype::f16 && (norm_ == DegreeNorm::right || norm_ == DegreeNorm::both)),
        scales_(means_ ? DegreeScales::of_means(build, norm_) : DegreeScales::of(build, norm_)),
        aggregate_(build, transforms_first_ ? linear_.out() : linear_.in(), means_ ? Reduce::mean : Reduce::sum,
                   transforms_first_ || layer > 0, !transforms_first_ || !build.spec.residual) {
    const bool scales = static_cast<bool>(scales_.col);
    // Back what stands at sources scales the sums, in a pass where those run by themselves.
    fuses_ = transforms_first_ ? layer > 0 && aggregate_.fuses_back(build, linear_.in(), {.stored = !scales})
                               : aggregate_.fuses(build, linear_.out(), {.scaled = scales, .stored = build.trains});
    if (!transforms_first_) sums_ = build.empty(Shape(build.nodes(), linear_.in()), dtype_, "sums over neighbours");
    slots_.need(Slot::first, build.sources() * (transforms_first_ ? linear_.out() : linear_.in()), dtype_);
  }

  Applied forward(const Matrix& x, TensorView out, const Tail&, bool training) override {
    if (transforms_first_) {
      const TensorView products = slots_.view(Slot::first, Shape(sources_, linear_.out()), dtype_);
      linear_.forward(x, products, scales_.col ? dense::Finish{} : dense::Finish::within_range());
      scale_sources(products, products, true);
      aggregate_.forward(products, out);
      return {};
    }
    if (fuses_ && !x.constant) {  // sums that stay the same are added up once
      dense::NeighbourRows rows = aggregate_.rows(x.dense);
      if (scales_.col) rows.col_scale = scales_.col.view().data;
      rows.saturates = true;
      if (training) rows.kept = sums_.view().mutable_data();
      linear_.forward(rows, out);
      return {};
    }
    if (!(x.constant && summed_)) {
      ConstTensorView sources = x.dense;
      if (scales_.col) {
        const TensorView scaled = slots_.view(Slot::first, x.dense.shape, dtype_);
        scale_sources(x.dense, scaled, true);
        sources = scaled;
      }
      aggregate_.forward(sources, sums_);
      if (!means_) dense::saturate(context_, sums_);
      summed_ = true;
    }
    linear_.forward({sums_, nullptr, false}, out);
    return {};
  }

  void backward(const Back& back) override {
    const auto& [x, out_grad, x_grad, gate, bias_grad] = back;
    if (transforms_first_) {
      const TensorView products_grad = slots_.view(Slot::first, Shape(sources_, linear_.out()), dtype_);
      if (fuses_) {
        dense::NeighbourRows rows = aggregate_.rows_back(out_grad);
        if (scales_.col) rows.row_scale = scales_.col.view().data;
        rows.kept = products_grad.mutable_data();
        linear_.input_grad(rows, x_grad, gate);
      } else {
        aggregate_.backward(products_grad, out_grad, products_grad);
        scale_sources(products_grad, products_grad, false);
      }
      linear_.weight_grad(x, products_grad);
      if (x_grad.given && !fuses_) linear_.input_grad(products_grad, x_grad, gate);
      return;
    }
    linear_.weight_grad({sums_, nullptr, false}, out_grad);
    if (!x_grad.given) return;
    const TensorView sums_grad = slots_.view(Slot::first, sums_.shape(), dtype_);
    linear_.input_grad(out_grad, sums_grad);
    aggregate_.backward(x.dense, sums_grad, x_grad);
    scale_sources(x_grad, x_grad, false);
  }
  Fusion fusion() const override {
    return {.gates = transforms_first_ && (linear_.fuses() || fuses_),
            .row_scale = scales_.row ? scales_.row.view() : ConstTensorView{}};
  }

 private:
  void scale_sources(ConstTensorView x, TensorView out, bool saturates) {
    if (scales_.col)
      run(context_, dense::ScaleRowsArgs{dtype_, x.shape.rows, x.shape.row_size(), x.data, scales_.col.view().data,
                                         out.mutable_data(), saturates});
  }

  Context& context_;
  Slots& slots_;
  Dtype dtype_;
  std::int64_t sources_;
  Linear linear_;
  bool transforms_first_;
  DegreeNorm norm_;
  bool means_;  // rows are added up to means
  DegreeScales scales_;
  Aggregate aggregate_;
  bool fuses_ = false;  // sums and products run as one: backward where it transforms first, else forward
  Tensor sums_;
  bool summed_ = false;  // sums_ are those of the input, which may stay the same
};

}  // namespace

constinit const LayerDefinition gcn_layer{
    .architecture = Architecture::gcn,
    .name = "gcn",
    .set_model_defaults = [](ModelSpec& spec) { spec.self_loops = true; },
    .set_training_defaults = [](TrainOptions& options) { options.decay_first_layer_only = true; },
    .reads = {.degree_norm = true},
    .list_parameters = [](const ModelSpec&, const LayerSizes& s,
                          ParameterList& list) { list.matrix("weight", s.in, s.out, s.class_groups()); },
    .norm_of_sums = [](const ModelSpec& spec) { return spec.degree_norm; },
    .weighted_degrees = true,
    .make = make_layer<Gcn>,
};

}  // namespace weft::nn
