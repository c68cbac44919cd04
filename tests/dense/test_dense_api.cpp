// The public dense pieces: values against plain loops in float64, and what they refuse.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "support/errors.hpp"
#include "weft/dense.hpp"

namespace weft {
namespace {

Tensor wave(Shape shape, double frequency) {
  std::vector<float> values(static_cast<std::size_t>(shape.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(frequency * static_cast<double>(i + 1)));
  return Tensor::from(values, shape);
}

void expect_refusal(const std::string& text, const std::function<void()>& call) {
  const std::string message = test::refusal_of(call);
  EXPECT_NE(message.find(text), message.npos) << "'" << message << "' does not say: " << text;
}

TEST(dense_product, of_every_transposition_is_that_of_plain_loops) {
  Context context = Context::cpu(2);
  MatrixProduct multiply(context);
  const std::int64_t m = 37, n = 11, k = 23;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const bool adds : {false, true}) {
        const Tensor a = wave(ta ? Shape(k, m) : Shape(m, k), 0.3), b = wave(tb ? Shape(n, k) : Shape(k, n), 0.7);
        Tensor c = wave(Shape(m, n), 0.1);
        const Tensor before = c.clone();
        multiply(a, b, c, {.transpose_a = ta, .transpose_b = tb, .accumulate = adds});
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j) {
            double wanted = adds ? before.span<float>()[i * n + j] : 0;
            for (std::int64_t l = 0; l < k; ++l)
              wanted +=
                  double{a.span<float>()[ta ? l * m + i : i * k + l]} * b.span<float>()[tb ? j * k + l : l * n + j];
            ASSERT_NEAR(c.span<float>()[i * n + j], wanted, 1e-5) << ta << tb << adds << " at " << i << ", " << j;
          }
      }
}

TEST(dense_product, refuses_sizes_types_and_devices_that_do_not_fit) {
  Context context = Context::cpu(1);
  MatrixProduct multiply(context);
  const Tensor a = wave(Shape(3, 4), 1), b = wave(Shape(5, 2), 1), halves = b.to(Dtype::f16);
  Tensor c = wave(Shape(3, 2), 1);
  expect_refusal("expected [m, k], [k, n] and [m, n]", [&] { multiply(a, b, c); });
  expect_refusal("expected one storage type", [&] { multiply(a, halves, c); });
  expect_refusal("a is f32 [3]: expected a floating matrix", [&] { multiply(wave(Shape(3), 1), b, c); });
}

TEST(dense_activation, adds_the_bias_and_goes_back_through_relu) {
  Context context = Context::cpu(2);
  const std::int64_t rows = 100, columns = 7;
  const Tensor x = wave(Shape(rows, columns), 0.9), bias = wave(Shape(columns), 0.4),
               out_grad = wave(Shape(rows, columns), 0.2);
  Tensor out = wave(Shape(rows, columns), 0), grad = wave(Shape(rows, columns), 0), bias_grad = wave(Shape(columns), 0);
  activate(context, x, bias, Activation::relu, out);
  activate_backward(context, out, out_grad, Activation::relu, grad, bias_grad);
  std::vector<double> sums(static_cast<std::size_t>(columns));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const float z = x.span<float>()[i] + bias.span<float>()[i % columns], g = z > 0 ? out_grad.span<float>()[i] : 0;
    ASSERT_EQ(out.span<float>()[i], z > 0 ? z : 0) << i;
    ASSERT_EQ(grad.span<float>()[i], g) << i;
    sums[static_cast<std::size_t>(i % columns)] += g;
  }
  for (std::int64_t c = 0; c < columns; ++c) EXPECT_NEAR(bias_grad.span<float>()[c], sums[c], 1e-5) << c;
}

TEST(dense_activation, refuses_a_bias_of_another_width_and_an_output_of_another_shape) {
  Context context = Context::cpu(1);
  const Tensor x = wave(Shape(4, 3), 1), bias = wave(Shape(2), 1);
  Tensor out = wave(Shape(4, 3), 1), wrong = wave(Shape(3, 4), 1);
  expect_refusal("bias is f32 [2]: expected f32 [3]", [&] { activate(context, x, bias, Activation::relu, out); });
  expect_refusal("out is f32 [3, 4]: expected f32 [4, 3], as x",
                 [&] { activate(context, x, {}, Activation::relu, wrong); });
}

TEST(dense_loss, is_the_mean_cross_entropy_of_the_nodes_named_with_its_gradient) {
  Context context = Context::cpu(2);
  const std::int64_t nodes = 50, classes = 5;
  const Tensor logits = wave(Shape(nodes, classes), 0.77);
  Tensor labels = Tensor::zeros(Shape(nodes), Dtype::i32), some = Tensor::zeros(Shape(20), Dtype::i32);
  for (std::int32_t i = 0; i < nodes; ++i) labels.span<std::int32_t>()[i] = i % 6 - 1;  // every sixth is unknown
  for (std::int32_t i = 0; i < 20; ++i) some.span<std::int32_t>()[i] = 2 * i;
  CrossEntropy loss(context, labels, some);
  Tensor grad = wave(Shape(nodes, classes), 1);
  const LossFigures figures = loss(logits, grad);
  double wanted = 0, right = 0, counted = 0;
  for (std::int32_t i = 0; i < 40; i += 2) counted += labels.span<std::int32_t>()[i] >= 0 ? 1 : 0;
  for (std::int64_t node = 0; node < nodes; ++node) {
    const std::int32_t label = labels.span<std::int32_t>()[node];
    const bool counts = node < 40 && node % 2 == 0 && label >= 0;
    const float* const z = logits.span<float>().data() + node * classes;
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(double{z[c]});
    for (std::int64_t c = 0; c < classes; ++c) {
      const double slope = counts ? (std::exp(double{z[c]}) / sum - (c == label ? 1 : 0)) / counted : 0;
      ASSERT_NEAR(grad.span<float>()[node * classes + c], slope, 1e-6) << node << ", " << c;
    }
    if (!counts) continue;
    wanted += std::log(sum) - z[label];
    right += std::max_element(z, z + classes) - z == label ? 1 : 0;
  }
  EXPECT_NEAR(figures.loss, wanted / counted, 1e-5);
  EXPECT_DOUBLE_EQ(figures.accuracy, right / counted);
}

TEST(dense_loss, refuses_nodes_that_do_not_exist_repeat_or_have_no_label_and_too_few_columns) {
  Context context = Context::cpu(1);
  const auto list = [](std::vector<std::int32_t> values) {
    Tensor tensor = Tensor::zeros(Shape(static_cast<std::int64_t>(values.size())), Dtype::i32);
    std::copy(values.begin(), values.end(), tensor.span<std::int32_t>().begin());
    return tensor;
  };
  const Tensor labels = list({0, 3, -1});
  expect_refusal("nodes[1] is 3: expected 0 to 2", [&] { CrossEntropy(context, labels, list({0, 3})); });
  expect_refusal("nodes[1] is 0 a second time", [&] { CrossEntropy(context, labels, list({0, 0})); });
  expect_refusal("none of the 1 nodes has a label", [&] { CrossEntropy(context, labels, list({2})); });
  CrossEntropy loss(context, labels, list({0, 1}));
  expect_refusal("logits have 3 columns and a label is 3", [&] { loss(wave(Shape(3, 3), 1)); });
}

TEST(dense_optimiser, makes_adams_steps) {
  Context context = Context::cpu(1);
  Tensor weight = wave(Shape(3, 2), 1), bias = wave(Shape(2), 2);
  TrainOptions options;
  options.lr = 0.1;
  options.weight_decay = 0.01;
  OptimiserSteps step(context, {weight, bias}, options);
  std::vector<double> w(weight.span<float>().begin(), weight.span<float>().end()), m(6), v(6);
  for (int t = 1; t <= 5; ++t) {
    const Tensor weight_grad = wave(Shape(3, 2), 0.3 * t), bias_grad = wave(Shape(2), 0.5 * t);
    step(std::vector<ConstTensorView>{weight_grad, bias_grad});
    for (std::size_t i = 0; i < 6; ++i) {
      const double g = weight_grad.span<float>()[i] + options.weight_decay * w[i];
      m[i] = options.beta1 * m[i] + (1 - options.beta1) * g;
      v[i] = options.beta2 * v[i] + (1 - options.beta2) * g * g;
      w[i] -= options.lr * (m[i] / (1 - std::pow(options.beta1, t))) /
              (std::sqrt(v[i] / (1 - std::pow(options.beta2, t))) + options.epsilon);
      EXPECT_NEAR(weight.span<float>()[i], w[i], 1e-5) << "step " << t << ", parameter " << i;
    }
  }
}

TEST(dense_optimiser, refuses_another_number_of_gradients_and_another_shape) {
  Context context = Context::cpu(1);
  Tensor weight = wave(Shape(3, 2), 1);
  TrainOptions endless;
  endless.schedule = LearningRateSchedule::steps;
  endless.every = 0;
  expect_refusal("every is 0", [&] { OptimiserSteps(context, {weight}, endless); });
  OptimiserSteps step(context, {weight}, TrainOptions{});
  const Tensor wrong = wave(Shape(2, 3), 1);
  expect_refusal("there are 0 gradients for 1 parameters", [&] { step({}); });
  expect_refusal("a gradient is f32 [2, 3]: expected f32 [3, 2], as its parameter",
                 [&] { step(std::vector<ConstTensorView>{wrong}); });
}

}  // namespace
}  // namespace weft
