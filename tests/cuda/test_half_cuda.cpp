// Two-byte storage on a GPU: values beside it that are wider, sums that pass its range, hubs.
#include <cmath>

#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "support/errors.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

class cuda_half : public GpuTest, public ::testing::WithParamInterface<Dtype> {};
INSTANTIATE_TEST_SUITE_P(storage, cuda_half, ::testing::Values(Dtype::f16, Dtype::bf16),
                         [](const auto& tested) { return std::string(name(tested.param)); });

TEST_P(cuda_half, edge_values_bias_and_output_may_be_f32) {
  Context context = Context::cuda();
  std::uint64_t seed = 400;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph& graph = battery.graph;
    const Graph there = graph.to(gpu);
    for (const std::int64_t width : {1, 3, 8, 41, 64, 100}) {
      const Tensor x = random_tensor(Shape(graph.num_cols(), width), GetParam(), ++seed), x_there = x.to(gpu);
      for (const Dtype edge_dtype : {GetParam(), Dtype::f32}) {
        const Tensor edge = random_tensor(Shape(graph.num_edges()), edge_dtype, ++seed), edge_there = edge.to(gpu);
        const Tensor bias = random_tensor(Shape(width), edge_dtype, ++seed), bias_there = bias.to(gpu);
        for (const Dtype out_dtype : {GetParam(), Dtype::f32}) {
          for (const bool biased : {false, true}) {
            SpmmOptions options, options_there;
            if (biased) {
              options.epilogue.bias = bias;
              options_there.epilogue.bias = bias_there;
            }
            const SpmmExpected expected = expected_spmm(graph, x, edge, options);
            const Plan plan = make_plan(context, there, {OpKind::spmm, GetParam(), 1, width, Reduce::sum, true});
            context.reserve(plan.workspace_bytes);
            Tensor out = constant(Shape(graph.num_rows(), width), out_dtype, std::nan("")).to(gpu);
            spmm(context, plan, there, x_there, edge_there, out, options_there);
            expect_within_bound(out.to(Device{}), expected,
                                fmt::format("{} width {} edge {} out {}{} seed {}", battery.name, width,
                                            name(edge_dtype), name(out_dtype), biased ? " with bias" : "", seed));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(cuda_half, one_f32_value_a_head_keeps_its_precision) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
  // Of one feature an edge's value looks like a vector of one, and still is no half.
  for (const auto& [heads, width] : {std::pair<std::int64_t, std::int64_t>{3, 8}, {3, 1}, {1, 1}, {1, 41}}) {
    const Tensor x = random_tensor(Shape(graph.num_cols(), heads, width), GetParam(), 501), x_there = x.to(gpu);
    const Tensor edge = random_tensor(Shape(graph.num_edges(), heads, 1), Dtype::f32, 502), edge_there = edge.to(gpu);
    for (const SpmmOp op : {SpmmOp::u_mul_e, SpmmOp::u_add_e, SpmmOp::u_sub_e}) {
      for (const Reduce reduce : {Reduce::sum, Reduce::max}) {
        SpmmOptions options;
        options.op = op;
        options.reduce = reduce;
        expect_within_bound(spmm(context, there, x_there, edge_there, options).to(Device{}),
                            expected_spmm(graph, x, edge, options),
                            fmt::format("{} {} {}x{}", name(op), name(reduce), heads, width));
      }
    }
  }
}

TEST_P(cuda_half, edges_may_come_through_shared_memory) {
  Context context = Context::cuda();
  std::vector<std::string> policies = {"stage=128", "stage=128,assignment=round_robin",
                                       "stage=128,assignment=round_robin,order=columns,edges=256"};
  if (GetParam() == Dtype::f16) policies.insert(policies.end(), {"stage=32", "stage=64,assignment=round_robin"});
  std::uint64_t seed = 520;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph& graph = battery.graph;
    const Graph there = graph.to(gpu);
    for (const std::int64_t width : {8, 16, 64, 256, 1032}) {
      const Tensor x = random_tensor(Shape(graph.num_cols(), width), GetParam(), ++seed), x_there = x.to(gpu);
      for (const Dtype edge_dtype : {GetParam(), Dtype::f32}) {
        const Tensor edge = random_tensor(Shape(graph.num_edges()), edge_dtype, ++seed), edge_there = edge.to(gpu);
        const SpmmExpected expected = expected_spmm(graph, x, edge, SpmmOptions{});
        for (const std::string& policy : policies) {
          const Plan plan =
              make_plan(context, there, {OpKind::spmm, GetParam(), 1, width, Reduce::sum, true}, parse_policy(policy));
          context.reserve(plan.workspace_bytes);
          Tensor out = constant(Shape(graph.num_rows(), width), GetParam(), std::nan("")).to(gpu);
          spmm(context, plan, there, x_there, edge_there, out);
          expect_within_bound(
              out.to(Device{}), expected,
              fmt::format("{} width {} edge {} {} seed {}", battery.name, width, name(edge_dtype), policy, seed));
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(cuda_half, batches_in_pairs_are_off_by_their_own_roundings_at_most_and_do_not_overflow) {
  Context context = Context::cuda();
  const Graph graph = in_stored_order(battery::power_law_graph()).graph, there = graph.to(gpu);
  const double unit = GetParam() == Dtype::f16 ? std::ldexp(1, -11) : std::ldexp(1, -8);
  for (const std::int64_t width : {8, 16, 64, 256, 512}) {
    for (const bool weighted : {true, false}) {
      const Tensor x = random_tensor(Shape(graph.num_cols(), width), GetParam(), 531), x_there = x.to(gpu);
      const Tensor edge = random_tensor(Shape(graph.num_edges()), GetParam(), 532), edge_there = edge.to(gpu);
      SpmmOptions options;
      options.op = weighted ? SpmmOp::u_mul_e : SpmmOp::copy_u;
      const ConstTensorView values = weighted ? ConstTensorView(edge) : ConstTensorView{};
      const SpmmExpected expected = expected_spmm(graph, x, values, options);
      const Plan plan = make_plan(context, there, {OpKind::spmm, GetParam(), 1, width, Reduce::sum, weighted},
                                  parse_policy("accumulate=half2"));
      context.reserve(plan.workspace_bytes);
      Tensor out = constant(Shape(graph.num_rows(), width), Dtype::f32, std::nan("")).to(gpu);
      spmm(context, plan, there, x_there, weighted ? ConstTensorView(edge_there) : ConstTensorView{}, out, options);
      const std::vector<double> actual = doubles(out.to(Device{}));
      int differ = 0;
      for (std::size_t i = 0; i < actual.size(); ++i)
        differ += std::fabs(actual[i] - expected.y[i]) > 1e-5 * expected.absolute[i] ? 1 : 0;
      EXPECT_GT(differ, 0) << "as close as float32: were there any pairs?";
      // A product, a weight's scaling and up to seven additions of a batch, each rounded to a half.
      for (std::size_t i = 0; i < actual.size(); ++i)
        ASSERT_NEAR(actual[i], expected.y[i], 9 * unit * expected.absolute[i] + 1e-6)
            << "width " << width << " element " << i;
    }
  }
  // Eight times 60000 is past what a half holds; their mean, and the sum in f32, are not.
  const Graph star = generate(StarSpec{1025}).to(gpu);
  const Tensor x = constant(Shape(1025, 8), GetParam(), 60000).to(gpu);
  const Plan plan =
      make_plan(context, star, {OpKind::spmm, GetParam(), 1, 8, Reduce::sum, false}, parse_policy("accumulate=half2"));
  context.reserve(plan.workspace_bytes);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  Tensor out = constant(Shape(1025, 8), Dtype::f32, std::nan("")).to(gpu);
  spmm(context, plan, star, x, {}, out, options);
  EXPECT_NEAR(doubles(out.to(Device{}))[0], 60000.0 * 1024, 60000.0 * 1024 * 9 * unit);
}

TEST_P(cuda_half, dot_products_may_be_kept_in_f32) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
  for (const std::int64_t width : {1, 7, 64, 100, 1032}) {
    const Tensor u = random_tensor(Shape(graph.num_cols(), width), GetParam(), 511), u_there = u.to(gpu);
    const Tensor v = random_tensor(Shape(graph.num_rows(), width), GetParam(), 512), v_there = v.to(gpu);
    const Plan plan = make_plan(context, there, {OpKind::sddmm, GetParam(), 1, width, Reduce::sum, false});
    context.reserve(plan.workspace_bytes);
    for (const Dtype out_dtype : {GetParam(), Dtype::f32}) {
      Tensor out = constant(Shape(graph.num_edges()), out_dtype, std::nan("")).to(gpu);
      sddmm(context, plan, there, u_there, v_there, out);
      expect_within_bound(out.to(Device{}), expected_sddmm(graph, u, v, SddmmOptions{}),
                          fmt::format("width {} out {}", width, name(out_dtype)));
    }
  }
}

TEST_P(cuda_half, a_hub_of_a_million_sums_past_the_range_only_where_the_sum_does) {
  Context context = Context::cuda();
  constexpr std::int64_t nodes = (1 << 20) + 1, width = 16;
  const Graph there = generate(StarSpec{nodes}).to(gpu);
  for (const double term : {1.0, 60000.0}) {
    const Tensor x = constant(Shape(nodes, width), GetParam(), term).to(gpu);
    const double stored = GetParam() == Dtype::bf16 && term > 1 ? 59904 : term;  // what bf16 makes of 60000
    SpmmOptions options;
    options.op = SpmmOp::copy_u;
    const auto hub = [&](Reduce reduce, Dtype out_dtype) {
      options.reduce = reduce;
      const Plan plan = make_plan(context, there, {OpKind::spmm, GetParam(), 1, width, reduce, false});
      context.reserve(plan.workspace_bytes);
      Tensor out = constant(Shape(nodes, width), out_dtype, std::nan("")).to(gpu);
      spmm(context, plan, there, x, {}, out, options);
      return doubles(out.to(Device{}))[0];
    };
    EXPECT_EQ(hub(Reduce::mean, GetParam()), stored);
    EXPECT_EQ(hub(Reduce::max, GetParam()), stored);
    EXPECT_NEAR(hub(Reduce::sum, Dtype::f32), stored * (nodes - 1), stored * 4);
    const double sum = hub(Reduce::sum, GetParam());
    if (GetParam() == Dtype::f16) {
      EXPECT_EQ(sum, INFINITY);  // a sum past 65504
      options.epilogue.saturate = true;
      EXPECT_EQ(hub(Reduce::sum, GetParam()), 65504);
      options.epilogue.saturate = false;
    } else {
      EXPECT_NEAR(sum, stored * (nodes - 1), stored * (nodes - 1) / 256);
    }
  }
}

TEST_P(cuda_half, a_hub_that_sends_to_a_million_gets_its_gradient_in_one_rounding) {
  Context context = Context::cuda();
  constexpr std::int64_t nodes = (1 << 20) + 1, width = 8;
  const Graph there = generate(StarSpec{nodes}).transpose().to(gpu);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  const Tensor x = constant(Shape(nodes, width), GetParam(), 1).to(gpu);
  for (const double term : {1.0, 60000.0}) {
    const double stored = GetParam() == Dtype::bf16 && term > 1 ? 59904 : term;
    const Tensor grad = constant(Shape(nodes, width), GetParam(), term).to(gpu);
    const auto hub = [&] {
      return doubles(spmm_backward(context, there, x, {}, grad, options, {true, false}).x.to(Device{}))[0];
    };
    options.reduce = Reduce::sum;
    options.epilogue = {};
    if (GetParam() == Dtype::f16) {
      EXPECT_EQ(hub(), INFINITY);
    } else {
      EXPECT_NEAR(hub(), stored * (nodes - 1), stored * (nodes - 1) / 256);
    }
    // Every destination's mean is over one edge; the hub's own scale brings its gradient back into the range.
    const Tensor scale = constant(Shape(nodes), Dtype::f32, 1.0 / (nodes - 1)).to(gpu);
    options.epilogue.col_scale = scale;
    EXPECT_EQ(hub(), stored);
    options.reduce = Reduce::mean;
    EXPECT_EQ(hub(), stored);
  }
}

TEST_P(cuda_half, a_hub_of_a_million_in_pairs_keeps_to_the_range_as_well) {
  Context context = Context::cuda();
  constexpr std::int64_t nodes = (1 << 20) + 1, width = 8;
  const Graph there = generate(StarSpec{nodes}).to(gpu);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  const Plan plan = make_plan(context, there, {OpKind::spmm, GetParam(), 1, width, Reduce::sum, false},
                              parse_policy("accumulate=half2"));
  context.reserve(plan.workspace_bytes);
  for (const double term : {1.0, 60000.0}) {
    const double stored = GetParam() == Dtype::bf16 && term > 1 ? 59904 : term;
    const Tensor x = constant(Shape(nodes, width), GetParam(), term).to(gpu);
    Tensor wide = constant(Shape(nodes, width), Dtype::f32, std::nan("")).to(gpu);
    spmm(context, plan, there, x, {}, wide, options);
    EXPECT_NEAR(doubles(wide.to(Device{}))[0], stored * (nodes - 1), stored * (nodes - 1) / 100);
    Tensor out = constant(Shape(nodes, width), GetParam(), std::nan("")).to(gpu);
    spmm(context, plan, there, x, {}, out, options);
    EXPECT_EQ(std::isinf(doubles(out.to(Device{}))[0]), GetParam() == Dtype::f16);
  }
}

TEST_P(cuda_half, results_past_the_range_saturate_on_both_sides_and_nan_stays) {
  Context context = Context::cuda();
  const Graph there = Graph::from_csr(2, 1, std::vector<EdgeId>{0, 2, 72}, std::vector<NodeId>(72, 0)).to(gpu);
  const double most = largest_value(GetParam());
  const Tensor x = tensor_of(Shape(1, 4), {most, -most, std::nan(""), 1}, GetParam()).to(gpu);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  expect_values(spmm(context, there, x, {}, options).to(Device{}),
                {INFINITY, -INFINITY, std::nan(""), 2, INFINITY, -INFINITY, std::nan(""), 70});
  options.epilogue.saturate = true;
  expect_values(spmm(context, there, x, {}, options).to(Device{}),
                {most, -most, std::nan(""), 2, most, -most, std::nan(""), 70});
}

TEST_P(cuda_half, a_check_names_the_row_whose_sum_passed_the_range) {
  Context context = Context::cuda();
  const Graph there = Graph::from_csr(2, 1, std::vector<EdgeId>{0, 2, 72}, std::vector<NodeId>(72, 0)).to(gpu);
  const Tensor x = constant(Shape(1, 5), GetParam(), largest_value(GetParam()) / 4).to(gpu);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  const Tensor out = spmm(context, there, x, {}, options);
  expect_refused([&] { check_finite(context, out, "h"); }, "h[1, 0] is infinite");
  ConstTensorView first = out;
  first.shape = Shape(1, 5);
  EXPECT_NO_THROW(check_finite(context, first));
}

TEST_P(cuda_half, gradients_are_those_of_the_cpu_to_a_rounding) {
  Context context = Context::cuda(), cpu = Context::cpu();
  const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
  const double unit = GetParam() == Dtype::f16 ? std::ldexp(1, -10) : std::ldexp(1, -7);
  for (const std::int64_t width : {7, 16, 64}) {
    const Tensor x = random_tensor(Shape(graph.num_cols(), width), GetParam(), 541);
    const Tensor edge = random_tensor(Shape(graph.num_edges()), GetParam(), 542);
    const Tensor grad = random_tensor(Shape(graph.num_rows(), width), GetParam(), 543);
    const Tensor x_there = x.to(gpu), edge_there = edge.to(gpu), grad_there = grad.to(gpu);
    for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max}) {
      SpmmOptions options;
      options.reduce = reduce;
      const auto gradients = [&](Context& where, const Graph& g, const Tensor& features, const Tensor& values,
                                 const Tensor& out_grad) {
        Tensor winners;
        if (reduce == Reduce::max) {
          winners = Tensor::empty(Shape(g.num_rows(), width), Dtype::i64, "arg_e", where.device());
          options.arg_e = winners;
          spmm(where, g, features, values, options);
        }
        return spmm_backward(where, g, features, values, out_grad, options);
      };
      const SpmmGradients here = gradients(cpu, graph, x, edge, grad);
      const SpmmGradients away = gradients(context, there, x_there, edge_there, grad_there);
      const auto alike = [&](const Tensor& a, const Tensor& b, const char* what) {
        const std::vector<double> wanted = doubles(a), got = doubles(b.to(Device{}));
        ASSERT_EQ(wanted.size(), got.size());
        for (std::size_t i = 0; i < wanted.size(); ++i)
          ASSERT_NEAR(got[i], wanted[i], unit * std::fabs(wanted[i]) + 1e-3)
              << what << " width " << width << " " << name(reduce) << " element " << i;
      };
      alike(here.x, away.x, "x");
      alike(here.edge, away.edge, "edge");
    }
  }
}

TEST_P(cuda_half, atomics_add_whole_numbers_exactly) {
  Context context = Context::cuda();
  const Graph graph = in_stored_order(generate(UniformSpec{300, 4000})).graph, there = graph.to(gpu);
  for (const std::int64_t width : {8, 64, 256}) {
    const Tensor x = constant(Shape(graph.num_cols(), width + 8), GetParam(), 1), x_there = x.to(gpu);
    const Tensor edge = constant(Shape(graph.num_edges()), GetParam(), 2).to(gpu);
    for (const char* policy : {"flush=atomic", "flush=atomic,assignment=round_robin"}) {
      const Plan plan =
          make_plan(context, there, {OpKind::spmm, GetParam(), 1, width, Reduce::sum, true}, parse_policy(policy));
      context.reserve(plan.workspace_bytes);
      Tensor out = constant(Shape(graph.num_rows(), width + 8), GetParam(), 5).to(gpu);
      spmm(context, plan, there, columns(x_there.view(), 8, width), edge, columns(out.view(), 8, width));
      const std::vector<double> got = doubles(out.to(Device{}));
      for (std::size_t i = 0; i < got.size(); ++i) {
        const std::size_t row = i / static_cast<std::size_t>(width + 8),
                          column = i % static_cast<std::size_t>(width + 8);
        const auto degree = static_cast<double>(graph.offsets()[row + 1] - graph.offsets()[row]);
        ASSERT_EQ(got[i], column < 8 ? 5 : 2 * degree) << policy << " width " << width << " row " << row;
      }
      Tensor wide = constant(Shape(graph.num_rows(), width), Dtype::f32, 0).to(gpu);
      expect_refused([&] { spmm(context, plan, there, columns(x_there.view(), 8, width), edge, wide); }, "flush",
                     ErrorCode::unsupported);
    }
  }
}

TEST_P(cuda_half, pairs_are_refused_where_a_call_has_none) {
  Context context = Context::cuda();
  const Graph graph = in_stored_order(battery::power_law_graph()).graph, there = graph.to(gpu);
  const Tensor x = constant(Shape(graph.num_cols(), 17), GetParam(), 1).to(gpu);
  const Plan plan =
      make_plan(context, there, {OpKind::spmm, GetParam(), 1, 16, Reduce::sum, true}, parse_policy("accumulate=half2"));
  context.reserve(plan.workspace_bytes);
  Tensor out = constant(Shape(graph.num_rows(), 16), GetParam(), 0).to(gpu);
  const Tensor wide = constant(Shape(graph.num_edges()), Dtype::f32, 1).to(gpu);
  const Tensor same = constant(Shape(graph.num_edges()), GetParam(), 1).to(gpu);
  const Tensor aligned = constant(Shape(graph.num_cols(), 16), GetParam(), 1).to(gpu);
  const auto refused = [&](ConstTensorView features, ConstTensorView edge, const SpmmOptions& options = {}) {
    expect_refused([&] { spmm(context, plan, there, features, edge, out, options); }, "accumulate",
                   ErrorCode::unsupported);
  };
  EXPECT_NO_THROW(spmm(context, plan, there, aligned, same, out));
  refused(aligned, wide);
  refused(columns(ConstTensorView(x), 1, 16), same);
  SpmmOptions relu;
  relu.epilogue.relu = true;
  refused(aligned, same, relu);
}

TEST_P(cuda_half, a_check_finds_the_first_of_several_in_any_shape) {
  const Context context = Context::cuda();
  std::vector<double> values(60, 1.0);
  values[47] = INFINITY;
  values[58] = std::nan("");
  const auto found = [&](Shape shape, const char* what) {
    expect_refused([&] { check_finite(context, Tensor::from(values, shape, GetParam()).to(gpu), "h"); }, what);
  };
  found(Shape(60), "h[47] is infinite");
  found(Shape(10, 6), "h[7, 5] is infinite");
  found(Shape(5, 4, 3), "h[3, 3, 2] is infinite");
  values[2] = std::nan("");
  found(Shape(10, 6), "h[0, 2] is nan");
  const Tensor wide = tensor_of(Shape(2, 3), {1, 2, INFINITY, 1, std::nan(""), INFINITY}, GetParam()).to(gpu);
  ConstTensorView slice = columns(ConstTensorView(wide), 0, 2);
  expect_refused([&] { check_finite(context, slice, "h"); }, "h[1, 1] is nan");
}

}  // namespace
}  // namespace weft::test
