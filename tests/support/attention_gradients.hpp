// Attention's gradients on the CPU against differences of a loss.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "support/attention_case.hpp"
#include "support/gradients.hpp"

namespace weft::test {

/// Of all inputs that are there; of those of edges every `step`-th element.
inline void expect_attention_gradients(const Graph& graph, AttentionCase& inputs, const std::string& text,
                                       std::size_t step = 1) {
  Context context = Context::cpu(2);
  const AttentionResult result = attention(context, graph, inputs.views());
  const Tensor out_grad = random_tensor(result.out.shape(), Dtype::f64, 91);
  const AttentionGradients gradients = attention_backward(context, graph, inputs.views(), result, out_grad);
  const auto loss = [&] { return weighted_sum(attention(context, graph, inputs.views()).out, out_grad); };
  expect_gradient(inputs.value, gradients.value, loss, text + ": value");
  expect_gradient(inputs.src, gradients.src, loss, text + ": src");
  expect_gradient(inputs.dst, gradients.dst, loss, text + ": dst");
  EXPECT_EQ(static_cast<bool>(gradients.attn), static_cast<bool>(inputs.attn)) << text;
  EXPECT_EQ(static_cast<bool>(gradients.bias), static_cast<bool>(inputs.bias)) << text;
  EXPECT_EQ(static_cast<bool>(gradients.edge), static_cast<bool>(inputs.edge)) << text;
  if (inputs.attn) expect_gradient(inputs.attn, gradients.attn, loss, text + ": attn");
  if (inputs.bias) expect_gradient(inputs.bias, gradients.bias, loss, text + ": bias", step);
  if (inputs.edge) expect_gradient(inputs.edge, gradients.edge, loss, text + ": edge", step);
}

}  // namespace weft::test
