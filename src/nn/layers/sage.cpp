// Hamilton, Ying and Leskovec's layer: out = x W_self + aggregate(x) W_neighbours.
#include "dense/passes.hpp"
#include "nn/layers/conv.hpp"

namespace weft::nn {
namespace {

class Sage : public Conv {
 public:
  Sage(const Build& build, std::int64_t layer, const SparseInput* sparse)
      : context_(build.context),
        slots_(build.slots),
        dtype_(build.dtype),
        sources_(build.sources()),
        nodes_(build.nodes()),
        self_(build, layer_prefix(layer) + "self.weight", sparse != nullptr ? sparse->of_written() : nullptr),
        neighbours_(build, layer_prefix(layer) + "neighbours.weight", sparse),
        transforms_first_(build.spec.aggregate != Reduce::max &&
                          transforms_first(build, layer, self_.in(), self_.out(), sparse)),
        self_first_(sources_ == nodes_ && !build.spec.residual),
        sums_up_(build.spec.aggregate == Reduce::sum || build.spec.edge_weights),
        aggregate_(build, transforms_first_ ? self_.out() : self_.in(), build.spec.aggregate,
                   transforms_first_ || layer > 0, !transforms_first_ || self_first_) {
    fuses_ = transforms_first_ ? layer > 0 && aggregate_.fuses_back(build, self_.in(), {.stored = true})
                               : aggregate_.fuses(build, self_.out(), {.stored = build.trains});
    if (transforms_first_ || layer > 0)
      slots_.need(Slot::first, build.sources() * (transforms_first_ ? self_.out() : self_.in()), dtype_);
    if (!transforms_first_) sums_ = build.empty(Shape(build.nodes(), self_.in()), dtype_, "sums over neighbours");
  }

  Applied forward(const Matrix& x, TensorView out, const Tail& tail, bool training) override {
    if (transforms_first_) {
      const TensorView products = slots_.view(Slot::first, Shape(sources_, self_.out()), dtype_);
      neighbours_.forward(x, products, sums_up_ ? dense::Finish::within_range() : dense::Finish{});
      aggregate_.forward(products, out);
    } else if (fuses_ && !x.constant) {  // sums that stay the same are added up once
      dense::NeighbourRows rows = aggregate_.rows(x.dense);
      rows.saturates = sums_up_;
      if (training) rows.kept = sums_.view().mutable_data();
      neighbours_.forward(rows, out);
    } else {
      if (!(x.constant && summed_)) {
        aggregate_.forward(x.dense, sums_);
        if (sums_up_) dense::saturate(context_, sums_);
      }
      summed_ = true;
      neighbours_.forward({sums_, nullptr, false}, out);
    }
    dense::Finish finish{true};
    const Applied applied = ride_along(self_.fuses(), tail, finish);
    self_.forward(x.of_written(out.shape.rows), out, finish);
    return applied;
  }

  void backward(const Back& back) override {
    const auto& [x, out_grad, x_grad, gate, bias_grad] = back;
    const std::int64_t written = out_grad.shape.rows;
    self_.weight_grad(x.of_written(written), out_grad, bias_grad);
    dense::Finish last = gate;
    last.adds = true;
    if (transforms_first_) {
      const TensorView products_grad = slots_.view(Slot::first, Shape(sources_, self_.out()), dtype_);
      if (self_first_ && x_grad.given) self_.input_grad(out_grad, x_grad);
      const dense::Finish finish = self_first_ ? last : dense::Finish{};
      if (fuses_) {
        dense::NeighbourRows rows = aggregate_.rows_back(out_grad);
        rows.kept = products_grad.mutable_data();
        neighbours_.input_grad(rows, x_grad, finish);
      } else {
        aggregate_.backward(products_grad, out_grad, products_grad);
      }
      neighbours_.weight_grad(x, products_grad);
      if (!x_grad.given) return;
      if (!fuses_) neighbours_.input_grad(products_grad, x_grad, finish);
      if (self_first_) return;
    } else {
      neighbours_.weight_grad({sums_, nullptr, false}, out_grad);
      if (!x_grad.given) return;
      const TensorView sums_grad = slots_.view(Slot::first, sums_.shape(), dtype_);
      neighbours_.input_grad(out_grad, sums_grad);
      aggregate_.backward(x.dense, sums_grad, x_grad);
    }
    self_.input_grad(out_grad, head(x_grad, written), last);
  }
  Fusion fusion() const override {
    // Of nodes that are read and not written, a gradient comes from neighbours alone.
    return {.gates = (self_.fuses() || (transforms_first_ && fuses_ && self_first_)) && sources_ == nodes_,
            .sums_bias = self_.fuses()};
  }

 private:
  Context& context_;
  Slots& slots_;
  Dtype dtype_;
  std::int64_t sources_, nodes_;
  Linear self_, neighbours_;
  bool transforms_first_;
  bool self_first_;  // out_grad has been read when neighbours' part of the way back may change it
  bool sums_up_;     // neighbours: past any range where they are many, or their weights large
  Aggregate aggregate_;
  bool fuses_ = false;  // sums and products run as one: backward where it transforms first, else forward
  Tensor sums_;
  bool summed_ = false;  // sums_ are those of the input, which may stay the same
};

}  // namespace

constinit const LayerDefinition sage_layer{
    .architecture = Architecture::sage,
    .name = "sage",
    .alias = "graphsage",
    .set_model_defaults = [](ModelSpec& spec) { spec.hidden = 64; },
    .reads = {.aggregate = true},
    .list_parameters =
        [](const ModelSpec&, const LayerSizes& s, ParameterList& list) {
          list.matrix("self.weight", s.in, s.out, s.class_groups());
          list.matrix("neighbours.weight", s.in, s.out, s.class_groups());
        },
    .norm_of_sums =
        [](const ModelSpec& spec) { return spec.aggregate == Reduce::mean ? DegreeNorm::right : DegreeNorm::none; },
    .make = make_layer<Sage>,
};

}  // namespace weft::nn
