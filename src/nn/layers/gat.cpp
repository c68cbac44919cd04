// Velickovic and others' layer: attention with scores leaky_relu(a_src . h_u + a_dst . h_v), h = x W.
#include "nn/layers/attended.hpp"
#include "nn/layers/conv.hpp"

namespace weft::nn {
namespace {

class Gat : public Conv {
 public:
  Gat(const Build& build, std::int64_t layer, const SparseInput* sparse)
      : context_(build.context),
        parameters_(build.parameters),
        slots_(build.slots),
        dtype_(build.dtype),
        sizes_(sizes_of_layer(build.spec, layer)),
        linear_(build, layer_prefix(layer) + "weight", sparse),
        source_(parameters_.index(layer_prefix(layer) + "source")),
        destination_(parameters_.index(layer_prefix(layer) + "destination")),
        attended_(build, layer, Score::gat, sizes_.heads, sizes_.width) {
    const Shape terms(build.sources(), sizes_.heads, 1);
    value_ = build.empty(Shape(build.sources(), sizes_.heads, sizes_.width), dtype_, "products with weights");
    src_ = build.empty(terms, dtype_, "score terms of sources");
    dst_ = build.empty(terms, dtype_, "score terms of destinations");
    if (!build.trains) return;
    src_grad_ = build.empty(terms, dtype_, "gradients of score terms");
    // Sources that are no destinations have none.
    dst_grad_ =
        Tensor::zeros(terms, dtype_, "gradients of score terms", build.context.device(), build.context.stream());
    const std::int64_t wide = sizes_.heads * sizes_.width;
    slots_.need(Slot::first, build.sources() * wide, dtype_);
    slots_.need_bytes(Slot::fold, loops::fold_bytes(build.sources(), wide, 2));
  }

  Applied forward(const Matrix& x, TensorView out, const Tail& tail, bool training) override {
    linear_.forward(x, flat(value_));
    run(context_, dense::HeadDotsArgs{dtype_, value_.shape().rows, sizes_.heads, sizes_.width, value_.view().data,
                                      parameters_.value(source_).data, parameters_.value(destination_).data,
                                      src_.view().mutable_data(), dst_.view().mutable_data()});
    attended_.forward(value_, src_, head(dst_.view(), out.shape.rows), {}, training);
    return attended_.write(out, tail);
  }

  void backward(const Back& back) override {
    const auto& [x, out_grad, x_grad, gate, bias_grad] = back;
    const TensorView value_grad = slots_.view(Slot::first, value_.shape(), dtype_);
    attended_.backward(attended_.spread(out_grad),
                       {value_grad, src_grad_, head(dst_grad_.view(), out_grad.shape.rows), {}, {}});
    run(context_, dense::HeadDotsBackwardArgs{
                      dtype_, value_.shape().rows, sizes_.heads, sizes_.width, value_.view().data,
                      parameters_.value(source_).data, parameters_.value(destination_).data, src_grad_.view().data,
                      dst_grad_.view().data, value_grad.mutable_data(), parameters_.grad(source_).mutable_data(),
                      parameters_.grad(destination_).mutable_data(), slots_.data(Slot::fold)});
    linear_.weight_grad(x, flat(value_grad));
    if (x_grad.given) linear_.input_grad(flat(value_grad), x_grad, gate);
  }
  Fusion fusion() const override { return {.gates = linear_.fuses()}; }

 private:
  Context& context_;
  Parameters& parameters_;
  Slots& slots_;
  Dtype dtype_;
  LayerSizes sizes_;
  Linear linear_;
  std::size_t source_, destination_;
  Attended attended_;
  Tensor value_, src_, dst_, src_grad_, dst_grad_;
};

}  // namespace

constinit const LayerDefinition gat_layer{
    .architecture = Architecture::gat,
    .name = "gat",
    .set_model_defaults = set_attention_defaults,
    .set_training_defaults = set_attention_defaults,
    .reads = {.heads = true},
    .list_parameters =
        [](const ModelSpec&, const LayerSizes& s, ParameterList& list) {
          list.matrix("weight", s.in, s.heads * s.width, s.class_groups(s.heads));
          list.vectors("source", s.heads, s.width, s.class_groups());
          list.vectors("destination", s.heads, s.width, s.class_groups());
        },
    .refuses_weights = attention_refuses_weights,
    .make = make_layer<Gat>,
};

}  // namespace weft::nn
