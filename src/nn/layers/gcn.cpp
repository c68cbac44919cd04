// Kipf and Welling's layer: out = norm(A) x W.
#include "nn/layers/conv.hpp"

namespace weft::nn {
namespace {

class Gcn : public Conv {
 public:
  Gcn(const Build& build, std::int64_t layer, const SparseInput* sparse)
      : slots_(build.slots),
        dtype_(build.dtype),
        linear_(build, layer_prefix(layer) + "weight", sparse),
        transforms_first_(transforms_first(build, layer, linear_.in(), linear_.out(), sparse)),
        aggregate_(build, transforms_first_ ? linear_.out() : linear_.in(), Reduce::sum,
                   DegreeScales::of(build, build.spec.degree_norm)) {
    if (transforms_first_) {
      slots_.need(Slot::first, build.nodes() * linear_.out(), dtype_);
    } else {
      sums_ = build.empty(Shape(build.nodes(), linear_.in()), dtype_, "sums over neighbours");
      slots_.need(Slot::first, build.nodes() * linear_.in(), dtype_);
    }
  }

  Applied forward(const Matrix& x, TensorView out, const Tail& tail, bool) override {
    if (transforms_first_) {
      const TensorView products = slots_.view(Slot::first, Shape(out.shape.rows, linear_.out()), dtype_);
      linear_.forward(x, products);
      const bool relu = tail.activation == Activation::relu;
      aggregate_.forward(products, out, tail.bias, relu);
      return {true, relu, false};
    }
    aggregate_.forward(x.dense, sums_);
    linear_.forward({sums_, nullptr, false}, out);
    return {};
  }

  void backward(const Matrix& x, TensorView out_grad, TensorView x_grad) override {
    if (transforms_first_) {
      const TensorView products_grad = slots_.view(Slot::first, out_grad.shape, dtype_);
      aggregate_.backward(products_grad, out_grad, products_grad);
      linear_.weight_grad(x, products_grad);
      if (x_grad.given) linear_.input_grad(products_grad, x_grad);
      return;
    }
    linear_.weight_grad({sums_, nullptr, false}, out_grad);
    if (!x_grad.given) return;
    const TensorView sums_grad = slots_.view(Slot::first, x_grad.shape, dtype_);
    linear_.input_grad(out_grad, sums_grad);
    aggregate_.backward(x.dense, sums_grad, x_grad);
  }

 private:
  Slots& slots_;
  Dtype dtype_;
  Linear linear_;
  bool transforms_first_;
  Aggregate aggregate_;
  Tensor sums_;
};

}  // namespace

bool transforms_first(const Build& build, std::int64_t layer, std::int64_t in, std::int64_t out,
                      const SparseInput* sparse) {
  if (sparse != nullptr) return true;
  const std::int64_t transforming = build.trains ? 2 * out : out, summing = build.trains && layer > 0 ? 2 * in : in;
  return transforming <= summing;
}

std::unique_ptr<Conv> make_gcn(const Build& build, std::int64_t layer, const SparseInput* sparse) {
  return std::make_unique<Gcn>(build, layer, sparse);
}

}  // namespace weft::nn
