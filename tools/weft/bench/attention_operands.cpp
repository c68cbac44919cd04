#include "bench/attention_operands.hpp"

#include <cmath>

#include "bench/reference.hpp"

namespace weft::tool {
namespace {

constexpr double exp_factor = 16;  // as in softmax.cpp

}  // namespace

AttentionOperands::AttentionOperands(const Context& context, const Graph& graph, const Setup& setup) {
  const OpDesc& d = setup.desc;
  score_width = setup.score == Score::gat ? 1 : d.width;
  // Scores stay near [-1, 1] sqrt(D), whatever the width.
  const double root = std::sqrt(static_cast<double>(score_width));
  value = Input(context, random_tensor(Shape(graph.num_cols(), d.heads, d.width), d.dtype, setup.seed, -1, 1, "value"));
  src = Input(context,
              random_tensor(Shape(graph.num_cols(), d.heads, score_width), d.dtype, setup.seed + 1, -1, 1, "src"));
  dst = Input(context,
              random_tensor(Shape(graph.num_rows(), d.heads, score_width), d.dtype, setup.seed + 2, -1, 1, "dst"));
  if (setup.score == Score::gatv2)
    attn = Input(context,
                 random_tensor(Shape(1, d.heads, score_width), d.dtype, setup.seed + 3, -1 / root, 1 / root, "attn"));
  inputs.score = setup.score;
  inputs.value = value.there();
  inputs.src = src.there();
  inputs.dst = dst.there();
  if (attn) inputs.attn = attn.there();
  if (setup.score == Score::dot) inputs.scale = static_cast<float>(1 / root);
}

AttentionArgs AttentionOperands::reference_args(const GraphView& graph, const Operand& from, const Operand& to) const {
  AttentionArgs args;
  args.graph = graph;
  args.score = inputs.score;
  args.heads = value.host().shape().heads;
  args.width = value.host().shape().width;
  args.score_width = score_width;
  args.src = from;
  args.dst = to;
  if (attn) args.attn = operand(attn.host());
  args.attn.row_stride = 0;
  args.slope = inputs.slope;
  args.scale = inputs.scale;
  return args;
}

std::function<double(std::int64_t)> AttentionOperands::row_factor(const Sample& sample) const {
  // A score's own error, c * eps * sum of |terms|, moves its weight by as much; the terms sum to at
  // most 2 sqrt(D) for the inputs above (2 for gat).
  const double of_weight = exp_factor + sum_factor(score_width) * 2 * std::sqrt(static_cast<double>(score_width));
  return [&sample, of_weight](std::int64_t i) { return sum_factor(sample.degree(i)) + of_weight; };
}

// An addition, a product and leaky_relu counted as one, or a product and an addition; and the softmax's four.
double AttentionOperands::weight_flops() const {
  return (inputs.score == Score::dot ? 2.0 : 3.0) * static_cast<double>(score_width) + 4;
}

std::unique_ptr<Workload> spmm_beside(Context& context, const Graph& graph, const Setup& setup) {
  Setup sum;
  sum.desc = {OpKind::spmm, setup.desc.dtype, 1, setup.desc.heads * setup.desc.width, Reduce::sum, true};
  sum.seed = setup.seed;
  return make_spmm_workload(context, graph, sum);
}

}  // namespace weft::tool
