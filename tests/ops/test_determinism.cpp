#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "support/compare.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

constexpr Reduce reducers[] = {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min};
constexpr Score score_kinds[] = {Score::gat, Score::gatv2, Score::dot};
constexpr const char* policies[] = {"tasks=1",
                                    "tasks=3",
                                    "tasks=17",
                                    "schedule=rows",
                                    "schedule=edge_split",
                                    "schedule=rows,tasks=17",
                                    "schedule=edge_split,tasks=200,assignment=round_robin",
                                    "prefetch=0",
                                    "prefetch=64"};

/// Row 0 and column 0 both pass one piece, so that forward and backward cut rows.
const Graph& graph() {
  static const Graph built = [] {
    Random random(121);
    std::vector<NodeId> destinations, sources;
    for (int k = 0; k < 12'000; ++k) {
      destinations.push_back(k % 3 == 0 ? 0 : static_cast<NodeId>(random.integer(0, 199)));
      sources.push_back(k % 4 == 0 ? 0 : static_cast<NodeId>(random.integer(0, 149)));
    }
    return Graph::from_edges({.num_sources = 150, .num_destinations = 200},
                             {.sources = sources, .destinations = destinations});
  }();
  return built;
}

/// The same graph with its edges numbered in stored order, which kernels read without a table of ids.
const Graph& graph_without_ids() {
  static const Graph built = Graph::from_csr(graph().num_rows(), graph().num_cols(), graph().offsets(), graph().cols());
  return built;
}

using Outputs = std::vector<Tensor>;

void expect_same(const Outputs& a, const Outputs& b, const std::string& context) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_TRUE(bitwise_equal(a[i], b[i])) << context << ": output " << i << " differs";
}

/// All bits of all outputs as one number; the last word of a tensor is filled up with zeros.
std::uint64_t hash_of(const Outputs& outputs) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const Tensor& tensor : outputs)
    for (std::size_t at = 0; at < tensor.bytes(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<const std::byte*>(tensor.view().data) + at,
                  std::min<std::size_t>(8, tensor.bytes() - at));
      hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;  // or a word's highest bit would reach no other
    }
  return hash;
}

void expect_equal_runs(int runs, const std::string& text, const std::function<Outputs()>& run) {
  const std::uint64_t first = hash_of(run());
  int different = 0;
  for (int again = 1; again < runs; ++again) different += hash_of(run()) != first ? 1 : 0;
  EXPECT_EQ(different, 0) << text << ": runs of " << runs << " that differ from the first";
}

/// The short form `run`, `runs` times and with 1 to 5 threads.
void expect_repeatable(const std::string& text, const std::function<Outputs(Context&)>& run, int runs = 100) {
  Context one = Context::cpu(1);
  const Outputs first = run(one);
  for (int threads = 2; threads <= 5; ++threads) {
    Context context = Context::cpu(threads);
    expect_same(first, run(context), fmt::format("{} with {} threads", text, threads));
  }
  Context context = Context::cpu(3);
  expect_same(first, run(context), fmt::format("{} with 3 threads again", text));
  expect_equal_runs(runs, text, [&] { return run(context); });
}

/// The planned form under every policy, and `runs` times by each schedule.
void expect_plan_independent(const std::string& text, const OpDesc& desc,
                             const std::function<Outputs(Context&, const Plan&)>& run, int runs = 100,
                             const Graph& over = graph()) {
  Outputs first;
  for (const char* policy : policies) {
    for (const int threads : {1, 3}) {
      Context context = Context::cpu(threads);
      const Plan plan = make_plan(context, over, desc, parse_policy(policy));
      context.reserve(plan.workspace_bytes);
      Outputs outputs = run(context, plan);
      if (first.empty())
        first = std::move(outputs);
      else
        expect_same(first, outputs, fmt::format("{} {} with {} threads", text, policy, threads));
    }
  }
  for (const char* schedule : {"schedule=rows", "schedule=edge_split"}) {
    Context context = Context::cpu(3);
    const Plan plan = make_plan(context, over, desc, parse_policy(schedule));
    context.reserve(plan.workspace_bytes);
    expect_equal_runs(runs, fmt::format("{} {}", text, schedule), [&] { return run(context, plan); });
  }
}

class determinism : public ::testing::TestWithParam<Dtype> {};

TEST_P(determinism, spmm_forward) {
  const Dtype dtype = GetParam();
  const std::int64_t n = graph().num_cols(), e = graph().num_edges();
  for (const std::int64_t width : {1, 7, 32}) {
    const Tensor x = random_tensor(Shape(n, width), dtype, 122), edge = random_tensor(Shape(e), dtype, 123);
    for (const Reduce reduce : reducers) {
      SpmmOptions options;
      options.reduce = reduce;
      const bool extremum = reduce == Reduce::max || reduce == Reduce::min;
      const auto run = [&](Context& context, const Plan& plan) {
        Outputs outputs;
        outputs.push_back(Tensor::empty(Shape(graph().num_rows(), width), dtype));
        outputs.push_back(Tensor::zeros(outputs[0].shape(), Dtype::i32));
        outputs.push_back(Tensor::zeros(outputs[0].shape(), Dtype::i64));
        SpmmOptions with_args = options;
        if (extremum) {
          with_args.arg_u = outputs[1];
          with_args.arg_e = outputs[2];
        }
        spmm(context, plan, graph(), x, edge, outputs[0], with_args);
        return outputs;
      };
      const std::string text = fmt::format("spmm {} width {}", name(reduce), width);
      const OpDesc desc{OpKind::spmm, dtype, 1, width, reduce, true};
      expect_plan_independent(text, desc, run);
      expect_repeatable(
          text,
          [&](Context& context) {
            Outputs outputs;
            outputs.push_back(spmm(context, graph(), x, edge, options));
            return outputs;
          },
          20);
    }
  }
}

TEST_P(determinism, spmm_of_every_op) {
  const Dtype dtype = GetParam();
  const Tensor x = random_tensor(Shape(graph().num_cols(), 5), dtype, 138);
  const Tensor edge = random_divisors(Shape(graph().num_edges(), 5), dtype, 139);
  for (const SpmmOp op :
       {SpmmOp::copy_u, SpmmOp::copy_e, SpmmOp::u_add_e, SpmmOp::u_sub_e, SpmmOp::u_mul_e, SpmmOp::u_div_e})
    expect_plan_independent(fmt::format("spmm {}", name(op)), {OpKind::spmm, dtype, 1, 5, Reduce::sum, uses_edge(op)},
                            [&](Context& context, const Plan& plan) {
                              SpmmOptions options;
                              options.op = op;
                              Outputs outputs;
                              outputs.push_back(Tensor::empty(Shape(graph().num_rows(), 5), dtype));
                              spmm(context, plan, graph(), uses_node(op) ? x.view() : ConstTensorView{},
                                   uses_edge(op) ? edge.view() : ConstTensorView{}, outputs[0], options);
                              return outputs;
                            });
}

TEST_P(determinism, spmv) {
  const Dtype dtype = GetParam();
  const Tensor x = random_tensor(Shape(graph().num_cols()), dtype, 231);
  const Tensor edge = random_tensor(Shape(graph().num_edges()), dtype, 232);
  ASSERT_TRUE(graph().has_edge_ids());
  ASSERT_FALSE(graph_without_ids().has_edge_ids());
  for (const Graph* over : {&graph(), &graph_without_ids()}) {
    const std::string text = over->has_edge_ids() ? "spmv" : "spmv without edge ids";
    expect_plan_independent(
        text, {OpKind::spmv, dtype, 1, 1, Reduce::sum, true},
        [&](Context& context, const Plan& plan) {
          Outputs outputs;
          outputs.push_back(Tensor::empty(Shape(over->num_rows()), dtype));
          spmv(context, plan, *over, x, edge, outputs[0]);
          return outputs;
        },
        100, *over);
    expect_repeatable(text, [&](Context& context) {
      Outputs outputs;
      outputs.push_back(spmv(context, *over, x, edge));
      outputs.push_back(spmv(context, *over, x));
      return outputs;
    });
  }
}

TEST_P(determinism, segment_reduce_forward_and_backward) {
  const Dtype dtype = GetParam();
  const std::vector<EdgeId> offsets{0, 5, 2505, 2505, 2600};
  const Tensor x = random_tensor(Shape(2600, 7), dtype, 233), out_grad = random_tensor(Shape(4, 7), dtype, 234);
  for (const Reduce reduce : reducers)
    expect_repeatable(fmt::format("segment_reduce {}", name(reduce)), [&](Context& context) {
      Outputs outputs;
      outputs.push_back(segment_reduce(context, offsets, x, reduce));
      outputs.push_back(segment_reduce_backward(context, offsets, x, out_grad, reduce));
      return outputs;
    });
}

TEST_P(determinism, spmm_backward) {
  const Dtype dtype = GetParam();
  const Tensor x = random_tensor(Shape(graph().num_cols(), 5), dtype, 124);
  const Tensor edge = random_divisors(Shape(graph().num_edges()), dtype, 125);
  const Tensor out_grad = random_tensor(Shape(graph().num_rows(), 5), dtype, 126);
  for (const SpmmOp op : {SpmmOp::u_add_e, SpmmOp::u_mul_e, SpmmOp::u_div_e}) {
    for (const Reduce reduce : reducers) {
      Tensor arg_u = Tensor::empty(out_grad.shape(), Dtype::i32), arg_e = Tensor::empty(out_grad.shape(), Dtype::i64);
      SpmmOptions options;
      options.op = op;
      options.reduce = reduce;
      if (reduce == Reduce::max || reduce == Reduce::min) {
        options.arg_u = arg_u;
        options.arg_e = arg_e;
        Context context = Context::cpu(2);
        spmm(context, graph(), x, edge, options);
      }
      expect_repeatable(fmt::format("spmm_backward {} {}", name(op), name(reduce)), [&](Context& context) {
        SpmmGradients gradients = spmm_backward(context, graph(), x, edge, out_grad, options);
        Outputs outputs;
        outputs.push_back(std::move(gradients.x));
        outputs.push_back(std::move(gradients.edge));
        return outputs;
      });
    }
  }
}

TEST_P(determinism, sddmm_forward_and_backward) {
  const Dtype dtype = GetParam();
  const Tensor lhs = random_tensor(Shape(graph().num_cols(), 33), dtype, 127);
  const Tensor rhs = random_tensor(Shape(graph().num_rows(), 33), dtype, 128);
  const Tensor out_grad = random_tensor(Shape(graph().num_edges()), dtype, 129);
  expect_plan_independent("sddmm dot", {OpKind::sddmm, dtype, 1, 33, Reduce::sum, true},
                          [&](Context& context, const Plan& plan) {
                            Outputs outputs;
                            outputs.push_back(Tensor::empty(Shape(graph().num_edges()), dtype));
                            sddmm(context, plan, graph(), lhs, rhs, outputs[0]);
                            return outputs;
                          });
  const ConstTensorView left = columns(lhs.view(), 0, 5), right = columns(rhs.view(), 0, 5);
  for (const SddmmOp op : {SddmmOp::add, SddmmOp::sub, SddmmOp::mul, SddmmOp::div})
    expect_plan_independent(fmt::format("sddmm {}", name(op)), {OpKind::sddmm, dtype, 1, 5, Reduce::sum, true},
                            [&](Context& context, const Plan& plan) {
                              Outputs outputs;
                              outputs.push_back(Tensor::empty(Shape(graph().num_edges(), 5), dtype));
                              sddmm(context, plan, graph(), left, right, outputs[0], {op, Target::u, Target::v});
                              return outputs;
                            });
  expect_repeatable("sddmm", [&](Context& context) {
    Outputs outputs;
    outputs.push_back(sddmm(context, graph(), lhs, rhs));
    SddmmGradients gradients = sddmm_backward(context, graph(), lhs, rhs, out_grad, {});
    outputs.push_back(std::move(gradients.lhs));
    outputs.push_back(std::move(gradients.rhs));
    return outputs;
  });
}

// Widths of 1, 2, 4 or 8 whole vectors stay in registers; which of these that are, the machine decides.
TEST_P(determinism, sddmm_dot_of_whole_vectors) {
  const Dtype dtype = GetParam();
  for (const std::int64_t width : {4, 8, 16, 32, 64, 128}) {
    const Tensor lhs = random_tensor(Shape(graph().num_cols(), width), dtype, 235);
    const Tensor rhs = random_tensor(Shape(graph().num_rows(), width), dtype, 236);
    const std::string text = fmt::format("sddmm dot width {}", width);
    expect_plan_independent(
        text, {OpKind::sddmm, dtype, 1, width, Reduce::sum, true},
        [&](Context& context, const Plan& plan) {
          Outputs outputs;
          outputs.push_back(Tensor::empty(Shape(graph().num_edges()), dtype));
          sddmm(context, plan, graph(), lhs, rhs, outputs[0]);
          return outputs;
        },
        5);
    expect_repeatable(
        text,
        [&](Context& context) {
          Outputs outputs;
          outputs.push_back(sddmm(context, graph(), lhs, rhs));
          outputs.push_back(sddmm(context, graph(), rhs, lhs, {SddmmOp::dot, Target::v, Target::u}));
          return outputs;
        },
        5);
  }
}

TEST_P(determinism, edge_softmax_forward_and_backward) {
  const Dtype dtype = GetParam();
  const Tensor scores = random_tensor(Shape(graph().num_edges(), 3, 1), dtype, 130);
  const Tensor grad = random_tensor(Shape(graph().num_edges(), 3, 1), dtype, 131);
  expect_plan_independent("edge_softmax", {OpKind::softmax, dtype, 3, 1, Reduce::sum, true},
                          [&](Context& context, const Plan& plan) {
                            Outputs outputs;
                            outputs.push_back(Tensor::empty(scores.shape(), dtype));
                            edge_softmax(context, plan, graph(), scores, outputs[0]);
                            return outputs;
                          });
  expect_repeatable("edge_softmax", [&](Context& context) {
    Outputs outputs;
    outputs.push_back(edge_softmax(context, graph(), scores));
    outputs.push_back(edge_softmax_backward(context, graph(), outputs[0], grad));
    return outputs;
  });
}

TEST_P(determinism, attention_forward_and_backward) {
  const Dtype dtype = GetParam();
  const Tensor value = random_tensor(Shape(graph().num_cols(), 2, 7), dtype, 132);
  const Tensor bias = random_tensor(Shape(graph().num_edges(), 2, 1), dtype, 133);
  const Tensor out_grad = random_tensor(Shape(graph().num_rows(), 2, 7), dtype, 134);
  for (const Score score : score_kinds) {
    const std::int64_t depth = score == Score::gat ? 1 : 5;
    const Tensor src = random_tensor(Shape(graph().num_cols(), 2, depth), dtype, 135);
    const Tensor dst = random_tensor(Shape(graph().num_rows(), 2, depth), dtype, 136);
    const Tensor attn = random_tensor(Shape(1, 2, depth), dtype, 137);
    AttentionInputs inputs;
    inputs.score = score;
    inputs.value = value;
    inputs.src = src;
    inputs.dst = dst;
    inputs.bias = bias;
    if (score == Score::gatv2) inputs.attn = attn;
    const Dtype statistics = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    expect_plan_independent(fmt::format("attention {}", name(score)),
                            {OpKind::attention, dtype, 2, 7, Reduce::sum, true},
                            [&](Context& context, const Plan& plan) {
                              Outputs outputs;
                              outputs.push_back(Tensor::empty(out_grad.shape(), dtype));
                              outputs.push_back(Tensor::empty(Shape(graph().num_rows(), 2, 1), statistics));
                              outputs.push_back(Tensor::empty(Shape(graph().num_rows(), 2, 1), statistics));
                              attention(context, plan, graph(), inputs, outputs[0], outputs[1], outputs[2]);
                              return outputs;
                            });
    expect_repeatable(fmt::format("attention {}", name(score)), [&](Context& context) {
      AttentionResult result = attention(context, graph(), inputs);
      AttentionGradients gradients = attention_backward(context, graph(), inputs, result, out_grad);
      Outputs outputs;
      outputs.push_back(attention_weights(context, graph(), inputs, result));
      for (Tensor* tensor : {&result.out, &result.row_max, &result.row_sum, &gradients.value, &gradients.src,
                             &gradients.dst, &gradients.attn, &gradients.bias})
        outputs.push_back(std::move(*tensor));
      return outputs;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(storage, determinism, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace
}  // namespace weft::test
