// A GCN's training loop by hand, from operators and dense pieces; weft::train does the same in one call, and faster.
#include <cmath>
#include <cstdio>
#include <weft/weft.hpp>

using namespace weft;

int main() {
  Context context = Context::best();
  const Dataset data = open_dataset("citations:nodes=1000");  // or a path: open_dataset("mine.weft")
  const Graph with_loops = with_self_loops(data.graph, SelfLoops::add).graph;
  const Graph graph = with_loops.to(context.device(), context.stream()), reversed = graph.transpose();
  const Tensor norm = gcn_weights(graph);  // 1 / sqrt(degree of both ends), one for each edge
  const std::int64_t nodes = data.num_nodes(), inputs = data.num_features(), hidden = 16, classes = data.classes;

  const auto there = [&](const Tensor& tensor) { return tensor.to(context.device(), context.stream()); };
  const auto matrix = [&](std::int64_t rows, std::int64_t columns) {
    return Tensor::empty(Shape(rows, columns), Dtype::f32, "a matrix", context.device(), context.stream());
  };
  const auto weights = [&](std::int64_t rows, std::int64_t columns) {  // small, all different, around 0
    std::vector<float> values(rows * columns);
    const double scale = std::sqrt(6.0 / static_cast<double>(rows + columns));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(scale * std::sin(static_cast<double>((i + 1) * (i % 97 + 1))));
    return there(Tensor::from(values, Shape(rows, columns)));
  };
  const Tensor x = data.features ? there(data.features) : there(data.sparse_features.dense());
  Tensor w1 = weights(inputs, hidden), w2 = weights(hidden, classes), w1_grad = matrix(inputs, hidden),
         w2_grad = matrix(hidden, classes);
  Tensor xw = matrix(nodes, hidden), h = matrix(nodes, hidden), hw = matrix(nodes, classes),
         logits = matrix(nodes, classes);
  Tensor logits_grad = matrix(nodes, classes), hw_grad = matrix(nodes, classes), h_grad = matrix(nodes, hidden),
         xw_grad = matrix(nodes, hidden);

  // One plan for each direction and width; running them allocates nothing.
  const auto plan = [&](const Graph& g, std::int64_t width) {
    const Plan made = make_plan(context, g, {OpKind::spmm, Dtype::f32, 1, width, Reduce::sum, true});
    context.reserve(made.workspace_bytes);
    return made;
  };
  const Plan sum_hidden = plan(graph, hidden), sum_classes = plan(graph, classes);
  const Plan back_hidden = plan(reversed, hidden), back_classes = plan(reversed, classes);
  MatrixProduct multiply(context);
  CrossEntropy train_loss(context, data.labels, data.train), test_loss(context, data.labels, data.test);
  TrainOptions options = TrainOptions::of(Architecture::gcn);
  OptimiserSteps step(context, {w1, w2}, options);

  LossFigures first, last;
  for (int epoch = 1; epoch <= 100; ++epoch) {
    multiply(x, w1, xw);  // h = relu(A x W1), logits = A h W2
    spmm(context, sum_hidden, graph, xw, norm, h);
    activate(context, h, {}, Activation::relu, h);
    multiply(h, w2, hw);
    spmm(context, sum_classes, graph, hw, norm, logits);
    last = train_loss(logits, logits_grad);
    if (epoch == 1) first = last;
    spmm(context, back_classes, reversed, logits_grad, norm, hw_grad);  // and back along the reversed edges
    multiply(h, hw_grad, w2_grad, {.transpose_a = true});
    multiply(hw_grad, w2, h_grad, {.transpose_b = true});
    activate_backward(context, h, h_grad, Activation::relu, h_grad);
    spmm(context, back_hidden, reversed, h_grad, norm, xw_grad);
    multiply(x, xw_grad, w1_grad, {.transpose_a = true});
    step(std::vector<ConstTensorView>{w1_grad, w2_grad});
  }
  const LossFigures test = test_loss(logits);
  std::printf("loss %.3f -> %.3f, test accuracy %.1f %%\n", first.loss, last.loss, 100 * test.accuracy);
  return last.loss < 0.5 * first.loss && test.accuracy > 0.6 ? 0 : 1;
}
