// A GAT layer of two heads, forward and backward, without any tensor of edges x features; one gradient is compared with
// a finite difference.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <weft/weft.hpp>

using namespace weft;

constexpr std::int64_t inputs = 8, heads = 2, width = 16;

Tensor made_up(Shape shape, double frequency) {  // smooth values around 0
  std::vector<float> values(shape.size());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(0.5 * std::sin(frequency * (i + 1)));
  return Tensor::from(values, shape);
}

struct Layer {
  Context context = Context::best();
  MatrixProduct multiply{context};
  Graph graph = generate("powerlaw:nodes=500,edges=4000,seed=1").graph.to(context.device(), context.stream());
  std::int64_t nodes = graph.num_rows();
  Tensor x = there(made_up(Shape(nodes, inputs), 0.37));
  Tensor src_weight = there(made_up(Shape(heads * width, heads), 0.71));
  Tensor dst_weight = there(made_up(Shape(heads * width, heads), 0.53));
  Tensor h = empty(nodes, heads*width), src = empty(nodes, heads), dst = empty(nodes, heads);
  AttentionResult result;

  Tensor there(const Tensor& tensor) { return tensor.to(context.device(), context.stream()); }
  Tensor empty(std::int64_t rows, std::int64_t columns) {
    return Tensor::empty(Shape(rows, columns), Dtype::f32, "a matrix", context.device(), context.stream());
  }
  AttentionInputs attention_inputs() const {
    AttentionInputs in;  // [nodes, heads, width] and scores [nodes, heads, 1]
    in.value = ConstTensorView(h.view().data, Dtype::f32, Shape(nodes, heads, width), context.device());
    in.src = per_head(src.view());
    in.dst = per_head(dst.view());
    return in;
  }
  double forward(const Tensor& weight) {  // the sum of the layer's output
    multiply(x, weight, h);
    multiply(h, src_weight, src);
    multiply(h, dst_weight, dst);
    result = attention(context, graph, attention_inputs());
    const Tensor out = result.out.to(Device{}, context.stream());
    double sum = 0;
    for (const float value : out.span<float>()) sum += value;
    return sum;
  }
  Tensor backward() {  // its gradient with respect to the weights
    const Tensor ones = Tensor::from(std::vector<float>(nodes * heads * width, 1), Shape(nodes, heads, width));
    const AttentionGradients grads = attention_backward(context, graph, attention_inputs(), result, there(ones));
    const auto rows = [&](const Tensor& t, std::int64_t columns) {
      return TensorView(const_cast<void*>(t.view().data), Dtype::f32, Shape(nodes, columns), context.device());
    };
    const TensorView h_grad = rows(grads.value, heads * width);  // the scores' share is added to it
    multiply(rows(grads.src, heads), src_weight, h_grad, {.transpose_b = true, .accumulate = true});
    multiply(rows(grads.dst, heads), dst_weight, h_grad, {.transpose_b = true, .accumulate = true});
    Tensor weight_grad = empty(inputs, heads * width);
    multiply(x, h_grad, weight_grad, {.transpose_a = true});
    return weight_grad.to(Device{}, context.stream());
  }
};

int main() {
  Layer layer;
  Tensor weight = made_up(Shape(inputs, heads * width), 1.3);
  layer.forward(layer.there(weight));
  const Tensor all = layer.backward();
  const auto largest = std::ranges::max_element(all.span<float>(), {}, [](float g) { return std::abs(g); });
  const float gradient = *largest, step = 1e-2f;
  float& changed = weight.span<float>()[largest - all.span<float>().begin()];
  changed += step;
  const double above = layer.forward(layer.there(weight));
  changed -= 2 * step;
  const double difference = (above - layer.forward(layer.there(weight))) / (2 * step);
  std::printf("gradient %.3f, finite difference %.3f\n", gradient, difference);
  return std::abs(gradient - difference) <= 0.01 * std::abs(difference) ? 0 : 1;
}
