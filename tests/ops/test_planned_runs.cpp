#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>

#include "support/allocations.hpp"
#include "support/compare.hpp"
#include "support/errors.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

/// One planned operator with everything it needs; `run` only runs.
struct PlannedOp {
  std::string text;
  OpDesc desc;
  std::function<void(Context&, const Plan&)> run;
};

/// Every planned form of ops.hpp over tensors that live as long as the list.
class PlannedOps {
 public:
  PlannedOps(const Graph& graph, Dtype dtype) : graph_(graph), dtype_(dtype) {
    const std::int64_t n = graph.num_cols(), v = graph.num_rows(), e = graph.num_edges();
    x_ = random_tensor(Shape(n, 2, 9), dtype, 141);
    y_ = random_tensor(Shape(v, 2, 9), dtype, 142);
    edge_ = random_tensor(Shape(e, 2, 1), dtype, 143);
    scalar_x_ = random_tensor(Shape(n), dtype, 144);
    scalar_edge_ = random_tensor(Shape(e), dtype, 145);
    src_ = random_tensor(Shape(n, 2, 1), dtype, 146);
    dst_ = random_tensor(Shape(v, 2, 1), dtype, 147);
    attn_ = random_tensor(Shape(1, 2, 9), dtype, 148);
    out_ = Tensor::empty(Shape(v, 2, 9), dtype);
    out_v_ = Tensor::empty(Shape(v), dtype);
    out_e_ = Tensor::empty(Shape(e, 2, 1), dtype);
    grad_e_ = random_tensor(Shape(e, 2, 1), dtype, 152);
    const Dtype statistics = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    row_max_ = Tensor::empty(Shape(v, 2, 1), statistics);
    row_sum_ = Tensor::empty(Shape(v, 2, 1), statistics);
    arg_u_ = Tensor::empty(Shape(v, 2, 9), Dtype::i32);
    arg_e_ = Tensor::empty(Shape(v, 2, 9), Dtype::i64);
    add_spmm();
    add_others();
  }
  const std::vector<PlannedOp>& all() const { return all_; }

 private:
  void add_spmm() {
    for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min}) {
      SpmmOptions options;
      options.reduce = reduce;
      if (reduce == Reduce::max || reduce == Reduce::min) {
        options.arg_u = arg_u_;
        options.arg_e = arg_e_;
      }
      all_.push_back({fmt::format("spmm {}", name(reduce)), desc(OpKind::spmm, 2, 9, reduce),
                      [this, options](Context& context, const Plan& plan) {
                        spmm(context, plan, graph_, x_, edge_, out_, options);
                      }});
    }
    all_.push_back({"spmv", desc(OpKind::spmv, 1, 1, Reduce::sum), [this](Context& context, const Plan& plan) {
                      spmv(context, plan, graph_, scalar_x_, scalar_edge_, out_v_);
                    }});
  }
  void add_others() {
    all_.push_back({"sddmm", desc(OpKind::sddmm, 2, 9, Reduce::sum),
                    [this](Context& context, const Plan& plan) { sddmm(context, plan, graph_, x_, y_, out_e_); }});
    all_.push_back(
        {"edge_softmax", desc(OpKind::softmax, 2, 1, Reduce::sum),
         [this](Context& context, const Plan& plan) { edge_softmax(context, plan, graph_, edge_, out_e_); }});
    all_.push_back(
        {"edge_softmax_backward", desc(OpKind::softmax, 2, 1, Reduce::sum), [this](Context& context, const Plan& plan) {
           edge_softmax_backward(context, plan, graph_, edge_, grad_e_, out_e_);
         }});
    for (const Score score : {Score::gat, Score::gatv2, Score::dot}) {
      AttentionInputs inputs;
      inputs.score = score;
      inputs.value = x_;
      inputs.src = score == Score::gat ? src_ : x_;
      inputs.dst = score == Score::gat ? dst_ : y_;
      if (score == Score::gatv2) inputs.attn = attn_;
      inputs.bias = edge_;
      all_.push_back({fmt::format("attention {}", name(score)), desc(OpKind::attention, 2, 9, Reduce::sum),
                      [this, inputs](Context& context, const Plan& plan) {
                        attention(context, plan, graph_, inputs, out_, row_max_, row_sum_);
                      }});
      all_.push_back({fmt::format("attention_weights {}", name(score)), desc(OpKind::attention, 2, 9, Reduce::sum),
                      [this, inputs](Context& context, const Plan& plan) {
                        attention_weights(context, plan, graph_, inputs, {out_, row_max_, row_sum_}, out_e_);
                      }});
    }
  }
  OpDesc desc(OpKind kind, std::int64_t heads, std::int64_t width, Reduce reduce) const {
    return {kind, dtype_, heads, width, reduce, true};
  }

  Graph graph_;
  Dtype dtype_;
  Tensor x_, y_, edge_, scalar_x_, scalar_edge_, src_, dst_, attn_, grad_e_, out_, out_v_, out_e_, row_max_, row_sum_,
      arg_u_, arg_e_;
  std::vector<PlannedOp> all_;
};

TEST(planned_run, works_with_exactly_the_planned_workspace_and_not_with_less) {
  for (const Graph& graph : {tangled_graph(), skewed_graph(70, 9000, 149)}) {
    for (const Dtype dtype : floating_dtypes) {
      const PlannedOps ops(graph, dtype);
      for (const PlannedOp& op : ops.all()) {
        for (const int threads : {1, 2, 4}) {
          SCOPED_TRACE(fmt::format("{} {} {} threads", op.text, name(dtype), threads));
          Context exact = Context::cpu(threads);
          const Plan plan = make_plan(exact, graph, op.desc);
          exact.reserve(plan.workspace_bytes);
          EXPECT_EQ(exact.workspace_bytes(), plan.workspace_bytes);
          EXPECT_NO_THROW(op.run(exact, plan));
          if (plan.workspace_bytes == 0) continue;
          Context small = Context::cpu(threads);
          small.reserve(plan.workspace_bytes - 1);
          expect_refused([&] { op.run(small, plan); }, "workspace");
          Context none = Context::cpu(threads);
          expect_refused([&] { op.run(none, plan); }, "workspace");
        }
      }
    }
  }
}

TEST(planned_run, allocates_nothing) {
  const Graph graph = skewed_graph(70, 9000, 150);
  for (const Dtype dtype : floating_dtypes) {
    const PlannedOps ops(graph, dtype);
    for (const PlannedOp& op : ops.all()) {
      for (const int threads : {1, 2}) {
        Context context = Context::cpu(threads);
        const Plan plan = make_plan(context, graph, op.desc);
        context.reserve(plan.workspace_bytes);
        op.run(context, plan);  // whatever is set up once a process
        const std::size_t allocations = memory_stats().allocations, live = memory_stats().live_bytes;
        const std::size_t news = operator_new_calls();
        op.run(context, plan);
        if (!starting_threads_allocates) {
          EXPECT_EQ(operator_new_calls(), news) << op.text << " " << name(dtype) << " " << threads << " threads";
        }
        EXPECT_EQ(memory_stats().allocations, allocations) << op.text << " " << name(dtype);
        EXPECT_EQ(memory_stats().live_bytes, live) << op.text << " " << name(dtype);
      }
    }
  }
}

TEST(planned_run, counts_what_it_is_told_to_count) {
  const std::size_t news = operator_new_calls();
  std::vector<int> probe(100);
  EXPECT_GT(operator_new_calls(), news);
  const std::size_t allocations = memory_stats().allocations;
  Tensor tensor = Tensor::empty(Shape(5), Dtype::f32);
  EXPECT_GT(memory_stats().allocations, allocations);
}

TEST(planned_run, refuses_the_plan_of_another_graph_and_takes_that_of_a_copy) {
  const Graph graph = skewed_graph(70, 9000, 151), other = skewed_graph(70, 9000, 151), copy = graph;
  const PlannedOps ops(graph, Dtype::f32);
  for (const PlannedOp& op : ops.all()) {
    SCOPED_TRACE(op.text);
    Context context = Context::cpu(2);
    const Plan foreign = make_plan(context, other, op.desc), own = make_plan(context, copy, op.desc);
    context.reserve(std::max(foreign.workspace_bytes, own.workspace_bytes));
    expect_refused([&] { op.run(context, foreign); }, "plan");
    EXPECT_NO_THROW(op.run(context, own));
  }
}

TEST(planned_run, of_a_sum_with_values_of_edges_refuses_the_plan_of_one_without_and_not_the_reverse) {
  const Graph graph = skewed_graph(70, 9000, 155);
  const Tensor x = random_tensor(Shape(graph.num_cols(), 9), Dtype::f32, 156);
  const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 157);
  Tensor out = Tensor::empty(Shape(graph.num_rows(), 9), Dtype::f32);
  Context context = Context::cpu(2);
  OpDesc desc{OpKind::spmm, Dtype::f32, 1, 9, Reduce::sum, true};
  const Plan weighted = make_plan(context, graph, desc);
  desc.weighted = false;
  const Plan plain = make_plan(context, graph, desc);
  context.reserve(std::max(weighted.workspace_bytes, plain.workspace_bytes));
  expect_refused([&] { spmm(context, plain, graph, x, edge, out, {}); }, "weighted");
  SpmmOptions copies;
  copies.op = SpmmOp::copy_u;
  EXPECT_NO_THROW(spmm(context, weighted, graph, x, {}, out, copies));
}

TEST(planned_run, refuses_the_plan_of_another_operator_type_or_size) {
  const Graph graph = skewed_graph(70, 9000, 152);
  const PlannedOps ops(graph, Dtype::f32);
  for (const PlannedOp& op : ops.all()) {
    SCOPED_TRACE(op.text);
    Context context = Context::cpu(2);
    context.reserve(std::size_t{64} << 20);
    const auto refused = [&](auto change) {
      OpDesc desc = op.desc;
      change(desc);
      const Plan plan = make_plan(context, graph, desc);
      expect_refused([&] { op.run(context, plan); }, "plan");
    };
    refused([](OpDesc& d) { d.kind = d.kind == OpKind::softmax ? OpKind::sddmm : OpKind::softmax; });
    refused([](OpDesc& d) { d.dtype = Dtype::f64; });
    refused([](OpDesc& d) { d.heads += 1; });
    if (op.desc.kind != OpKind::softmax) refused([](OpDesc& d) { d.width += 1; });
    if (op.desc.kind == OpKind::spmm && op.desc.reduce == Reduce::max)
      refused([](OpDesc& d) { d.reduce = Reduce::sum; });
  }
}

TEST(planned_run, refuses_a_plan_that_was_never_made) {
  const Graph graph = tangled_graph();
  const PlannedOps ops(graph, Dtype::f32);
  for (const PlannedOp& op : ops.all()) {
    SCOPED_TRACE(op.text);
    Context context = Context::cpu(1);
    expect_refused([&] { op.run(context, Plan()); }, "plan");
    Plan hollow = make_plan(context, graph, op.desc);
    context.reserve(hollow.workspace_bytes);
    hollow.backing.partition = nullptr;
    expect_refused([&] { op.run(context, hollow); }, "plan");
  }
}

TEST(planned_run, refuses_the_plan_of_another_number_of_threads) {
  const Graph graph = skewed_graph(70, 9000, 153);
  const PlannedOps ops(graph, Dtype::f32);
  for (const PlannedOp& op : ops.all()) {
    SCOPED_TRACE(op.text);
    Context two = Context::cpu(2), four = Context::cpu(4);
    const Plan plan = make_plan(two, graph, op.desc);
    four.reserve(plan.workspace_bytes);
    expect_refused([&] { op.run(four, plan); }, "plan");  // its workspace is for two
  }
}

TEST(planned_run, a_larger_workspace_than_needed_changes_nothing) {
  const Graph graph = skewed_graph(70, 9000, 154);
  const Tensor x = random_tensor(Shape(70, 8), Dtype::f32, 155), edge = random_tensor(Shape(9000), Dtype::f32, 156);
  Context context = Context::cpu(2);
  const Plan plan = make_plan(context, graph, {OpKind::spmm, Dtype::f32, 1, 8, Reduce::sum, true});
  context.reserve(plan.workspace_bytes);
  Tensor exact = Tensor::empty(Shape(70, 8), Dtype::f32), roomy = Tensor::empty(Shape(70, 8), Dtype::f32);
  spmm(context, plan, graph, x, edge, exact);
  context.reserve(plan.workspace_bytes * 3 + 4096);
  spmm(context, plan, graph, x, edge, roomy);
  EXPECT_TRUE(bitwise_equal(exact, roomy));
}

}  // namespace
}  // namespace weft::test
