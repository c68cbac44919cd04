// Brody, Alon and Yahav's layer: attention with scores a . leaky_relu(x_u W_src + x_v W_dst).
#include "nn/layers/attended.hpp"
#include "nn/layers/conv.hpp"
#include "ops/elementwise.hpp"

namespace weft::nn {
namespace {

class Gatv2 : public Conv {
 public:
  Gatv2(const Build& build, std::int64_t layer, const SparseInput* sparse)
      : context_(build.context),
        parameters_(build.parameters),
        slots_(build.slots),
        dtype_(build.dtype),
        sizes_(sizes_of_layer(build.spec, layer)),
        source_(build, layer_prefix(layer) + "source.weight", sparse),
        destination_(build, layer_prefix(layer) + "destination.weight",
                     sparse != nullptr ? sparse->of_written() : nullptr),
        attention_(parameters_.index(layer_prefix(layer) + "attention")),
        attended_(build, layer, Score::gatv2, sizes_.heads, sizes_.width) {
    const Shape sources(build.sources(), sizes_.heads, sizes_.width);
    src_ = build.empty(sources, dtype_, "products with weights");
    dst_ = build.empty(attended_.shape(), dtype_, "products with weights");
    if (!build.trains) return;
    const std::int64_t wide = sizes_.heads * sizes_.width;
    value_grad_ = build.empty(sources, dtype_, "gradients of products");
    attn_grad_ = build.empty(Shape(1, sizes_.heads, sizes_.width), dtype_, "gradients of attention vectors");
    slots_.need(Slot::first, (build.sources() + build.nodes()) * wide, dtype_);
  }

  Applied forward(const Matrix& x, TensorView out, const Tail& tail, bool training) override {
    source_.forward(x, flat(src_));
    destination_.forward(x.of_written(out.shape.rows), flat(dst_));
    attended_.forward(src_, src_, dst_, vectors(parameters_.stored(attention_)), training);
    return attended_.write(out, tail);
  }

  void backward(const Back& back) override {
    const auto& [x, out_grad, x_grad, gate, bias_grad] = back;
    const TensorView both =
        slots_.view(Slot::first, Shape(src_.shape().rows + dst_.shape().rows, sizes_.heads, sizes_.width), dtype_);
    const TensorView src_grad(both.mutable_data(), dtype_, src_.shape(), both.device);
    const TensorView dst_grad(static_cast<std::byte*>(both.mutable_data()) + src_.bytes(), dtype_, dst_.shape(),
                              both.device);
    attended_.backward(attended_.spread(out_grad), {value_grad_, src_grad, dst_grad, attn_grad_, {}});
    copy_attention_grad();
    run(context_,
        dense::AddSelfArgs{dtype_, src_grad.shape.size(), value_grad_.view().data, nullptr, src_grad.mutable_data()});
    source_.weight_grad(x, flat(src_grad));
    destination_.weight_grad(x.of_written(out_grad.shape.rows), flat(dst_grad));
    if (!x_grad.given) return;
    source_.input_grad(flat(src_grad), x_grad);
    destination_.input_grad(flat(dst_grad), head(x_grad, out_grad.shape.rows), {true});
  }
  Fusion fusion() const override { return {}; }

 private:
  ConstTensorView vectors(ConstTensorView v) const {
    return {v.data, v.dtype, Shape(1, sizes_.heads, sizes_.width), v.device};
  }
  /// From the storage type to what gradients are kept in.
  void copy_attention_grad() {
    const TensorView to = parameters_.grad(attention_);
    reduce_to(context_, attn_grad_, TensorView(to.mutable_data(), to.dtype, attn_grad_.shape(), to.device));
  }

  Context& context_;
  Parameters& parameters_;
  Slots& slots_;
  Dtype dtype_;
  LayerSizes sizes_;
  Linear source_, destination_;
  std::size_t attention_;
  Attended attended_;
  Tensor src_, dst_, value_grad_, attn_grad_;
};

}  // namespace

constinit const LayerDefinition gatv2_layer{
    .architecture = Architecture::gatv2,
    .name = "gatv2",
    .set_model_defaults = set_attention_defaults,
    .set_training_defaults = set_attention_defaults,
    .reads = {.heads = true},
    .list_parameters =
        [](const ModelSpec&, const LayerSizes& s, ParameterList& list) {
          list.matrix("source.weight", s.in, s.heads * s.width, s.class_groups(s.heads));
          list.matrix("destination.weight", s.in, s.heads * s.width, s.class_groups(s.heads));
          list.vectors("attention", s.heads, s.width, s.class_groups());
        },
    .refuses_weights = attention_refuses_weights,
    .make = make_layer<Gatv2>,
};

}  // namespace weft::nn
