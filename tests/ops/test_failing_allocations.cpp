// Memory that runs out, wherever in an operator: the n-th allocation fails, for every n until the operator gets
// through. Tensors and workspaces come from weft's own allocate, plans and the like from operator new.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/memory.hpp"
#include "support/allocations.hpp"
#include "support/compare.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

using Outputs = std::vector<Tensor>;

struct Op {
  std::string text;
  std::function<void(Context&, const Graph&, Outputs&)> run;
};

/// Room for what any operator gives: a run allocates nothing but what weft allocates.
Outputs no_outputs() {
  Outputs outputs;
  outputs.reserve(16);
  return outputs;
}

template <class... Tensors>
void keep(Outputs& outputs, Tensors&&... tensors) {
  (outputs.push_back(std::move(tensors)), ...);
}

/// Every public operator over one set of tensors.
class Ops {
 public:
  Ops() {
    for (Tensor* tensor : {&x_, &y_, &edge_, &src_, &dst_, &attn_, &scalar_x_, &scalar_edge_, &out_grad_, &args_})
      before_.push_back(tensor->clone());
    add_spmm();
    add_sddmm();
    add_attention();
    add_segments();
  }

  /// A new one each time: no transpose has been built yet.
  static Graph graph() { return skewed_graph(30, 6000, 331); }

  const std::vector<Op>& all() const { return all_; }

  bool inputs_unchanged() const {
    std::size_t i = 0;
    for (const Tensor* tensor : {&x_, &y_, &edge_, &src_, &dst_, &attn_, &scalar_x_, &scalar_edge_, &out_grad_, &args_})
      if (!bitwise_equal(*tensor, before_[i++])) return false;
    return true;
  }

 private:
  void add(std::string text, std::function<void(Context&, const Graph&, Outputs&)> run) {
    all_.push_back({std::move(text), std::move(run)});
  }

  void add_spmm() {
    for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max}) {
      SpmmOptions options;
      options.reduce = reduce;
      add(fmt::format("spmm {}", name(reduce)), [this, options](Context& context, const Graph& graph, Outputs& to) {
        keep(to, spmm(context, graph, x_, edge_, options));
      });
      if (reduce == Reduce::max) options.arg_e = args_;
      for (const SpmmOp op : {SpmmOp::u_add_e, SpmmOp::u_div_e}) {
        options.op = op;
        add(fmt::format("spmm_backward {} {}", name(op), name(reduce)),
            [this, options](Context& context, const Graph& graph, Outputs& to) {
              SpmmGradients g = spmm_backward(context, graph, x_, edge_, out_grad_, options);
              keep(to, g.x, g.edge);
            });
      }
    }
    add("spmv", [this](Context& context, const Graph& graph, Outputs& to) {
      keep(to, spmv(context, graph, scalar_x_, scalar_edge_));
    });
  }

  void add_sddmm() {
    add("sddmm",
        [this](Context& context, const Graph& graph, Outputs& to) { keep(to, sddmm(context, graph, x_, y_)); });
    for (const SddmmOp op : {SddmmOp::dot, SddmmOp::div}) {
      const SddmmOptions options{op, Target::u, Target::v};
      add(fmt::format("sddmm_backward {}", name(op)), [this, options](Context& context, const Graph& graph,
                                                                      Outputs& to) {
        const Tensor grad = Tensor::zeros(Shape(graph.num_edges(), 2, options.op == SddmmOp::dot ? 1 : 5), Dtype::f32);
        SddmmGradients g = sddmm_backward(context, graph, x_, y_, grad, options);
        keep(to, g.lhs, g.rhs);
      });
    }
  }

  void add_attention() {
    add("edge_softmax",
        [this](Context& context, const Graph& graph, Outputs& to) { keep(to, edge_softmax(context, graph, edge_)); });
    add("edge_softmax_backward", [this](Context& context, const Graph& graph, Outputs& to) {
      keep(to, edge_softmax_backward(context, graph, edge_, edge_));
    });
    for (const Score score : {Score::gat, Score::gatv2, Score::dot}) {
      AttentionInputs inputs;
      inputs.score = score;
      inputs.value = x_;
      inputs.src = score == Score::gat ? src_ : x_;
      inputs.dst = score == Score::gat ? dst_ : y_;
      if (score == Score::gatv2) inputs.attn = attn_;
      inputs.bias = edge_;
      add(fmt::format("attention, its weights and its backward, {}", name(score)),
          [this, inputs](Context& context, const Graph& graph, Outputs& to) {
            AttentionResult result = attention(context, graph, inputs);
            Tensor weights = attention_weights(context, graph, inputs, result);
            AttentionGradients g = attention_backward(context, graph, inputs, result, out_grad_);
            keep(to, result.out, result.row_max, result.row_sum, weights, g.value, g.src, g.dst, g.attn, g.bias);
          });
    }
  }

  void add_segments() {
    for (const Reduce reduce : {Reduce::mean, Reduce::max}) {
      add(fmt::format("segment_reduce {}", name(reduce)),
          [this, reduce](Context& context, const Graph& graph, Outputs& to) {
            keep(to, segment_reduce(context, graph.offsets(), edge_, reduce));
          });
      add(fmt::format("segment_reduce_backward {}", name(reduce)),
          [this, reduce](Context& context, const Graph& graph, Outputs& to) {
            keep(to, segment_reduce_backward(context, graph.offsets(), edge_, dst_, reduce));
          });
    }
  }

  static constexpr std::int64_t nodes = 30, edges = 6000;
  Tensor x_ = random_tensor(Shape(nodes, 2, 5), Dtype::f32, 332), y_ = random_divisors(x_.shape(), Dtype::f32, 333);
  Tensor edge_ = random_divisors(Shape(edges, 2, 1), Dtype::f32, 334);
  Tensor src_ = random_tensor(Shape(nodes, 2, 1), Dtype::f32, 335), dst_ = random_tensor(src_.shape(), Dtype::f32, 336);
  Tensor attn_ = random_tensor(Shape(1, 2, 5), Dtype::f32, 337);
  Tensor scalar_x_ = random_tensor(Shape(nodes), Dtype::f32, 338);
  Tensor scalar_edge_ = random_tensor(Shape(edges), Dtype::f32, 339);
  Tensor out_grad_ = random_tensor(x_.shape(), Dtype::f32, 340);
  Tensor args_ = Tensor::zeros(x_.shape(), Dtype::i64);  // winners of a max: an edge of some row
  std::vector<Tensor> before_;
  std::vector<Op> all_;
};

/// `fail` makes the n-th allocation fail; `least`: how many an operator makes at least.
void expect_every_failure_survived(void (*fail)(std::size_t), std::size_t least) {
  const Ops ops;
  for (const Op& op : ops.all()) {
    SCOPED_TRACE(op.text);
    Context context = Context::cpu(2);
    Outputs expected = no_outputs();
    op.run(context, Ops::graph(), expected);
    const std::size_t before = memory_stats().live_bytes;
    bool through = false;
    std::size_t nth = 0;
    while (!through && ++nth < 5000 && !::testing::Test::HasFailure()) {
      SCOPED_TRACE(fmt::format("allocation {}", nth));
      {
        const Graph graph = Ops::graph();
        Context fresh = Context::cpu(2);
        Outputs dropped = no_outputs(), after = no_outputs();
        fail(nth);
        try {
          op.run(fresh, graph, dropped);
          through = true;
        } catch (const Error& error) {
          EXPECT_EQ(name(error.code()), name(ErrorCode::out_of_memory)) << error.what();
        } catch (const std::exception& error) {
          ADD_FAILURE() << "expected a weft::Error, got " << error.what();
        }
        fail(0);
        EXPECT_TRUE(ops.inputs_unchanged());
        op.run(fresh, graph, after);
        ASSERT_EQ(after.size(), expected.size());
        for (std::size_t i = 0; i < after.size(); ++i) EXPECT_TRUE(bitwise_equal(after[i], expected[i])) << i;
      }
      EXPECT_EQ(memory_stats().live_bytes, before);
    }
    EXPECT_TRUE(through);
    EXPECT_GT(nth, least);
  }
}

TEST(failing_allocations, of_tensors_and_workspaces_are_errors_after_which_everything_works) {
  expect_every_failure_survived(fail_allocation, 1);
}

TEST(failing_allocations, say_which_gradient_of_a_max_found_no_memory) {
  const Graph graph = tangled_graph();
  const Tensor x = random_tensor(Shape(5, 4), Dtype::f32, 341), edge = random_tensor(Shape(14), Dtype::f32, 342);
  const Tensor out_grad = random_tensor(Shape(6, 4), Dtype::f32, 343);
  Tensor args = Tensor::zeros(out_grad.shape(), Dtype::i64);
  SpmmOptions options;
  options.reduce = Reduce::max;
  options.arg_e = args;
  graph.transpose();  // or most of what fails would be its building
  std::string messages;
  for (std::size_t nth = 1; nth < 10; ++nth) {  // more than the call makes: both gradients are among them
    Context context = Context::cpu(1);
    fail_allocation(nth);
    try {
      spmm_backward(context, graph, x, edge, out_grad, options);
    } catch (const Error& error) {
      messages += fmt::format("{}\n", error.what());
    }
    fail_allocation(0);
  }
  for (const char* gradient : {"asked for the gradient of x\n", "asked for the gradient of edge\n"})
    EXPECT_NE(messages.find(gradient), messages.npos) << messages;
}

TEST(failing_allocations, of_plans_and_transposes_are_errors_after_which_everything_works) {
  if (starting_threads_allocates) GTEST_SKIP() << "starting a thread allocates here, and is not weft's to survive";
  expect_every_failure_survived(fail_operator_new, 5);
}

}  // namespace
}  // namespace weft::test
