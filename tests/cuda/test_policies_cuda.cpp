// The ways of HP-SpMM and GNNOne to sum a row, each against the float64 reference: edges staged in shared memory, runs
// or every n-th edge for a group of threads, ordered or atomic sums, wide or narrow loads, tasks by waves or not.
#include <algorithm>

#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "plan/tuning/cuda.hpp"
#include "support/errors.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

class cuda_policies : public GpuTest {};

constexpr std::int64_t policy_widths[] = {1, 3, 16, 33, 64, 100, 256};

/// Every combination of stage, assignment, flush and vector that has a kernel; edges=40 leaves tiles partly filled.
std::vector<std::string> staged_policies() {
  std::vector<std::string> all;
  for (const char* stage : {"32", "128"})
    for (const char* assignment : {"consecutive", "round_robin"})
      for (const char* flush : {"ordered", "atomic"})
        for (const char* vector : {"1", "2", "4"})
          for (const char* rest : {"", ",edges=40", ",edges=512"})
            all.push_back(
                fmt::format("stage={},assignment={},flush={},vector={}{}", stage, assignment, flush, vector, rest));
  return all;
}

/// What a plan promises: atomics add in any order, one after another, so every addition of a row may round its sum.
SpmmExpected promised(SpmmExpected expected, const Plan& plan) {
  if (plan.cuda().flush == Flush::atomic && !expected.terms.empty())
    expected.more = static_cast<double>(*std::max_element(expected.terms.begin(), expected.terms.end()));
  return expected;
}

/// A weighted sum on the GPU: graph, x and edge there; the output is of NaN before each run.
struct OnGpu {
  Context& context;
  Graph graph;
  Tensor x, edge;
  std::int64_t width;

  OnGpu(Context& where, const Graph& host, const Tensor& features, const Tensor& weights)
      : context(where),
        graph(host.to(gpu)),
        x(features.to(gpu)),
        edge(weights.to(gpu)),
        width(features.shape().row_size()) {}

  Plan plan(std::string_view policy) const {
    Plan made =
        make_plan(context, graph, {OpKind::spmm, Dtype::f32, 1, width, Reduce::sum, true}, parse_policy(policy));
    context.reserve(made.workspace_bytes);
    return made;
  }
  Tensor run(const Plan& plan) const {
    Tensor out = constant(Shape(graph.num_rows(), width), Dtype::f32, std::nan("")).to(gpu);
    spmm(context, plan, graph, x, edge, out);
    return out.to(Device{});
  }
};

TEST_F(cuda_policies, every_staged_way_agrees_with_the_reference_and_ordered_ones_repeat_to_the_bit) {
  Context context = Context::cuda();
  std::uint64_t seed = 5000;
  const std::vector<std::string> policies = staged_policies();
  for (const BatteryGraph& battery : battery_graphs()) {
    for (const std::int64_t width : policy_widths) {
      const Tensor x = random_tensor(Shape(battery.graph.num_cols(), width), Dtype::f32, ++seed);
      const Tensor edge = random_tensor(Shape(battery.graph.num_edges()), Dtype::f32, ++seed);
      const SpmmExpected expected = expected_spmm(battery.graph, x, edge, SpmmOptions{});
      const OnGpu there(context, battery.graph, x, edge);
      for (const std::string& policy : policies) {
        const std::string where = fmt::format("{} width {} policy '{}' seed {}", battery.name, width, policy, seed);
        const Plan plan = there.plan(policy);
        ASSERT_GT(plan.cuda().stage_edges, 0) << where;
        const Tensor first = there.run(plan);
        expect_within_bound(first, promised(expected, plan), where);
        if (plan.cuda().flush == Flush::ordered) {
          for (int again = 0; again < 2; ++again) EXPECT_TRUE(bitwise_equal(there.run(plan), first)) << where;
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(cuda_policies, usual_kernels_obey_vector_and_waves) {
  Context context = Context::cuda();
  for (const BatteryGraph& battery : battery_graphs()) {
    for (const std::int64_t width : policy_widths) {
      const Tensor x = random_tensor(Shape(battery.graph.num_cols(), width), Dtype::f32, 61);
      const Tensor edge = random_tensor(Shape(battery.graph.num_edges()), Dtype::f32, 62);
      const SpmmExpected expected = expected_spmm(battery.graph, x, edge, SpmmOptions{});
      const OnGpu there(context, battery.graph, x, edge);
      for (const int most : {1, 2, 4}) {
        const std::string policy = fmt::format("vector={},waves={}", most, most == 2 ? "on" : "off");
        const Plan plan = there.plan(policy);
        EXPECT_EQ(plan.cuda().stage_edges, 0);
        EXPECT_EQ(plan.cuda().vector, std::min<std::int64_t>(most, width % 4 == 0 ? 4 : width % 2 == 0 ? 2 : 1));
        expect_within_bound(there.run(plan), expected, fmt::format("{} width {} {}", battery.name, width, policy));
      }
    }
  }
}

TEST_F(cuda_policies, without_waves_no_group_takes_more_edges_than_a_sum_may_have_in_sequence) {
  Context context = Context::cuda();
  const Graph dense = generate("uniform:nodes=1600,edges=2400000").graph;
  const Tensor x = random_tensor(Shape(dense.num_cols(), 64), Dtype::f32, 63);
  const Tensor edge = random_tensor(Shape(dense.num_edges()), Dtype::f32, 64);
  const OnGpu there(context, dense, x, edge);
  const Plan plan = there.plan("waves=off,join=no");
  EXPECT_LE(plan.cuda().edges_a_task, 1024);
  expect_within_bound(there.run(plan), expected_spmm(dense, x, edge, SpmmOptions{}), "waves=off on rows of 1500 edges");
  EXPECT_EQ(there.plan("waves=off,stage=128,assignment=round_robin").cuda().edges_a_task % 128, 0);
}

TEST_F(cuda_policies, weighted_sums_of_every_other_shape_agree_with_the_reference) {
  Context context = Context::cuda();
  // Without ids, as those have no other shapes.
  for (const Graph& graph : {in_stored_order(battery::power_law_graph()).graph, generate(StarSpec{5000})}) {
    for (const std::int64_t width : {8, 12, 16, 32, 64, 100, 128}) {
      const Tensor x = random_tensor(Shape(graph.num_cols(), width), Dtype::f32, 71);
      const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 72);
      const SpmmExpected expected = expected_spmm(graph, x, edge, SpmmOptions{});
      const OnGpu there(context, graph, x, edge);
      const int half = there.plan("").cuda().lanes / 2;
      for (const std::string& policy :
           {fmt::format("lanes={}", half), fmt::format("lanes={},join=no", half), std::string("loads=2,edges=16"),
            std::string("loads=4"), std::string("loads=4,order=columns")}) {
        const Plan plan = there.plan(policy);
        EXPECT_TRUE(plan.cuda().shaped) << policy;
        expect_within_bound(there.run(plan), expected, fmt::format("width {} {}", width, policy));
      }
    }
  }
}

TEST_F(cuda_policies, whole_rows_are_a_groups_where_they_are_asked_for_or_alike) {
  Context context = Context::cuda();
  for (const BatteryGraph& battery : battery_graphs()) {
    if (battery.graph.degree_stats().max > tuning::most_edges_in_sequence) continue;
    for (const std::int64_t width : policy_widths) {
      const Tensor x = random_tensor(Shape(battery.graph.num_cols(), width), Dtype::f32, 81);
      const Tensor edge = random_tensor(Shape(battery.graph.num_edges()), Dtype::f32, 82);
      const SpmmExpected expected = expected_spmm(battery.graph, x, edge, SpmmOptions{});
      const OnGpu there(context, battery.graph, x, edge);
      for (const char* policy : {"schedule=rows", "schedule=rows,edges=8", "schedule=rows,edges=100"}) {
        const Plan plan = there.plan(policy);
        EXPECT_EQ(plan.schedule, ScheduleKind::rows);
        EXPECT_EQ(plan.cuda().staged_rows, 0);
        expect_within_bound(there.run(plan), expected, fmt::format("{} width {} {}", battery.name, width, policy));
      }
    }
  }
  const Graph alike = generate(MoleculesSpec{20'000}).to(gpu);
  EXPECT_EQ(make_plan(context, alike, {OpKind::spmm, Dtype::f32, 1, 64}).schedule, ScheduleKind::rows);
  EXPECT_EQ(make_plan(context, alike, {OpKind::spmm, Dtype::f32, 1, 8}).schedule, ScheduleKind::edge_split);
  expect_refused(
      [&] {
        make_plan(context, alike, {OpKind::spmm, Dtype::f32, 1, 64}, parse_policy("edges=2048"));
      },
      "edges");
}

TEST_F(cuda_policies, equal_terms_of_whole_rows_beside_short_ones_keep_to_the_bound) {
  Context context = Context::cuda();
  // A long row that begins in the middle of its share, and in the warp's other groups a row that ends in every batch.
  std::vector<NodeId> destinations, sources;
  NodeId row = 0;
  for (; row < 48; ++row) destinations.push_back(row);
  destinations.insert(destinations.end(), 1024, row++);
  for (; row < 600; ++row) destinations.insert(destinations.end(), 5, row);
  sources.assign(destinations.size(), 0);
  const Graph graph = Graph::from_edges({.num_sources = 1, .num_destinations = row},
                                        {.sources = sources, .destinations = destinations});
  for (const double term : {1.004137, 1.005743, 0.1, 3.3}) {
    const Tensor x = constant(Shape(1, 64), Dtype::f32, term);
    const Tensor edge = constant(Shape(graph.num_edges()), Dtype::f32, 1);
    const SpmmExpected expected = expected_spmm(graph, x, edge, SpmmOptions{});
    const OnGpu there(context, graph, x, edge);
    for (const char* policy :
         {"schedule=rows,edges=1024", "schedule=rows,edges=300", "edges=1024", "edges=1024,join=no"})
      expect_within_bound(there.run(there.plan(policy)), expected, fmt::format("{} of {}", policy, term));
  }
}

TEST_F(cuda_policies, few_features_of_many_long_rows_take_tiles_and_what_tiles_cannot_do_the_usual_kernel) {
  Context context = Context::cuda();
  const std::int64_t width = 8;
  const Graph graph = generate(UniformSpec{60'000, 4'200'000});
  const Graph there = graph.to(gpu);
  const Tensor x = random_tensor(Shape(graph.num_cols(), width), Dtype::f32, 91), x_there = x.to(gpu);
  const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 92), edge_there = edge.to(gpu);
  const Tensor bias = random_tensor(Shape(width), Dtype::f32, 93), bias_there = bias.to(gpu);
  for (const bool weighted : {true, false}) {
    const Plan plan = make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, width, Reduce::sum, weighted});
    EXPECT_EQ(plan.cuda().stage_edges, 128);
    context.reserve(plan.workspace_bytes);
    for (const bool biased : {false, true}) {
      SpmmOptions options, options_there;
      options.op = options_there.op = weighted ? SpmmOp::u_mul_e : SpmmOp::copy_u;
      if (biased) {
        options.epilogue.bias = bias;
        options_there.epilogue.bias = bias_there;
      }
      Tensor out = constant(Shape(graph.num_rows(), width), Dtype::f32, std::nan("")).to(gpu);
      spmm(context, plan, there, x_there, weighted ? ConstTensorView(edge_there) : ConstTensorView{}, out,
           options_there);
      expect_within_bound(out.to(Device{}),
                          expected_spmm(graph, x, weighted ? ConstTensorView(edge) : ConstTensorView{}, options),
                          fmt::format("{}{}", weighted ? "weighted" : "unweighted", biased ? " with bias" : ""));
    }
  }
}

TEST_F(cuda_policies, unweighted_tiles_agree_with_the_reference) {
  Context context = Context::cuda();
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = battery.graph.to(gpu);
    for (const std::int64_t width : policy_widths) {
      const Tensor x = random_tensor(Shape(battery.graph.num_cols(), width), Dtype::f32, 95), x_there = x.to(gpu);
      SpmmOptions options;
      options.op = SpmmOp::copy_u;
      const SpmmExpected expected = expected_spmm(battery.graph, x, {}, options);
      for (const char* policy :
           {"stage=32", "stage=128", "stage=128,assignment=round_robin", "stage=128,flush=atomic"}) {
        const Plan plan =
            make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, width, Reduce::sum, false}, parse_policy(policy));
        context.reserve(plan.workspace_bytes);
        Tensor out = constant(Shape(battery.graph.num_rows(), width), Dtype::f32, std::nan("")).to(gpu);
        spmm(context, plan, there, x_there, {}, out, options);
        expect_within_bound(out.to(Device{}), promised(expected, plan),
                            fmt::format("{} width {} {}", battery.name, width, policy));
      }
    }
  }
}

TEST_F(cuda_policies, join_is_refused_where_no_rows_are_reduced) {
  const Context context = Context::cuda();
  const Graph there = battery::power_law_graph().to(gpu);
  expect_refused(
      [&] {
        make_plan(context, there, {OpKind::sddmm, Dtype::f32, 1, 64, Reduce::sum, false}, parse_policy("join=yes"));
      },
      "join");
}

TEST_F(cuda_policies, sddmm_obeys_vector) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph();
  const Graph there = graph.to(gpu);
  for (const std::int64_t width : policy_widths) {
    const Tensor lhs = random_tensor(Shape(graph.num_cols(), width), Dtype::f32, 71);
    const Tensor rhs = random_tensor(Shape(graph.num_rows(), width), Dtype::f32, 72);
    const Tensor lhs_there = lhs.to(gpu), rhs_there = rhs.to(gpu);
    for (const SddmmOp op : {SddmmOp::dot, SddmmOp::mul}) {
      SddmmOptions options;
      options.op = op;
      const Expected expected = expected_sddmm(graph, lhs, rhs, options);
      for (const char* policy : {"vector=1", "vector=2", "vector=4"}) {
        const Plan plan =
            make_plan(context, there, {OpKind::sddmm, Dtype::f32, 1, width, Reduce::sum, false}, parse_policy(policy));
        context.reserve(plan.workspace_bytes);
        Tensor out = constant(expected.shape, Dtype::f32, std::nan("")).to(gpu);
        sddmm(context, plan, there, lhs_there, rhs_there, out, options);
        expect_within_bound(out.to(Device{}), expected, fmt::format("{} width {} {}", name(op), width, policy));
      }
    }
  }
}

TEST_F(cuda_policies, tiles_follow_the_order_of_the_work) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph();
  for (const std::int64_t width : {16, 64}) {
    const Tensor x = random_tensor(Shape(graph.num_cols(), width), Dtype::f32, 81);
    const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 82);
    const SpmmExpected expected = expected_spmm(graph, x, edge, SpmmOptions{});
    const OnGpu there(context, graph, x, edge);
    for (const char* order : {"columns", "clusters", "clusters+columns"})
      for (const char* rest : {"stage=32", "stage=128", "stage=128,assignment=round_robin", "stage=32,flush=atomic"}) {
        const std::string policy = fmt::format("edges=64,order={},{}", order, rest);
        const Plan plan = there.plan(policy);
        expect_within_bound(there.run(plan), promised(expected, plan), policy);
      }
  }
}

TEST_F(cuda_policies, values_of_any_alignment_and_columns_of_wider_tensors_are_staged) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph();
  const Graph there = graph.to(gpu);
  const std::int64_t width = 24;
  const Tensor wide_x = random_tensor(Shape(graph.num_cols(), width + 8), Dtype::f32, 91);
  const Tensor wide_edge = random_tensor(Shape(graph.num_edges(), 3), Dtype::f32, 92);
  const Tensor line = random_tensor(Shape(graph.num_edges() + 5), Dtype::f32, 93);
  const Tensor x_there = wide_x.to(gpu), edge_there = wide_edge.to(gpu), line_there = line.to(gpu);
  const auto from_second = [&](const Tensor& tensor) {  // one value further on: four bytes from any alignment
    ConstTensorView view = tensor.view();
    view.data = static_cast<const float*>(view.data) + 1;
    view.shape = Shape(graph.num_edges());
    return view;
  };
  const OpDesc desc{OpKind::spmm, Dtype::f32, 1, width, Reduce::sum, true};
  for (const std::string& policy : staged_policies()) {
    const Plan plan = make_plan(context, there, desc, parse_policy(policy));
    context.reserve(plan.workspace_bytes);
    const auto run = [&](ConstTensorView host_edge, ConstTensorView edge) {
      Tensor out = constant(Shape(graph.num_rows(), width + 4), Dtype::f32, 5.0).to(gpu);
      spmm(context, plan, there, columns(x_there.view(), 4, width), edge, columns(out.view(), 4, width));
      const Tensor back = out.to(Device{});
      const SpmmExpected expected = expected_spmm(graph, columns(wide_x.view(), 4, width), host_edge, SpmmOptions{});
      expect_within_bound(columns(back.view(), 4, width), promised(expected, plan), policy);
      for (std::int64_t row = 0; row < graph.num_rows(); ++row)
        for (std::int64_t c = 0; c < 4; ++c)
          ASSERT_EQ(back.span<float>()[static_cast<std::size_t>(row * (width + 4) + c)], 5.0f) << policy << " " << row;
    };
    run(columns(wide_edge.view(), 1, 1), columns(edge_there.view(), 1, 1));
    run(from_second(line), from_second(line_there));
    if (HasFailure()) return;
  }
}

TEST_F(cuda_policies, a_source_without_edges_does_not_reach_the_padding_of_tiles) {
  Context context = Context::cuda();
  // Edges past the end of a tile are ones of source 0 and weight 0, and NaN times 0 is NaN.
  const std::vector<EdgeId> offsets = {0, 3, 3, 5, 5};
  const std::vector<NodeId> cols = {1, 2, 3, 3, 1};
  const Graph graph = Graph::from_csr(4, 4, offsets, cols);
  Tensor x = random_tensor(Shape(4, 8), Dtype::f32, 95);
  for (std::size_t f = 0; f < 8; ++f) x.span<float>()[f] = std::nanf("");
  const Tensor edge = random_tensor(Shape(5), Dtype::f32, 96);
  const SpmmExpected expected = expected_spmm(graph, x, edge, SpmmOptions{});
  const OnGpu there(context, graph, x, edge);
  for (const std::string& policy : staged_policies())
    expect_within_bound(there.run(there.plan(policy)), expected, policy);
}

TEST_F(cuda_policies, a_hub_of_equal_terms_stays_within_the_bound_where_sums_are_ordered) {
  Context context = Context::cuda();
  const Graph graph = battery::bipartite_one_row(1 << 20);
  const Tensor x = constant(Shape(graph.num_cols(), 8), Dtype::f32, 0.1);
  const Tensor edge = constant(Shape(graph.num_edges()), Dtype::f32, 1.0);
  const SpmmExpected expected = expected_spmm(graph, x, edge, SpmmOptions{});
  const OnGpu there(context, graph, x, edge);
  for (const char* policy : {"stage=32", "stage=128", "stage=32,assignment=round_robin",
                             "stage=128,assignment=round_robin", "stage=128,edges=512,vector=1"})
    expect_within_bound(there.run(there.plan(policy)), expected, policy);
}

TEST_F(cuda_policies, what_tiles_cannot_do_is_refused_with_the_policy_named) {
  Context context = Context::cuda();
  const Graph there = battery::power_law_graph().to(gpu);
  const std::int64_t width = 8;
  const Tensor x = Tensor::zeros(Shape(there.num_cols(), width), Dtype::f32, "x", gpu);
  const Tensor edge = Tensor::zeros(Shape(there.num_edges()), Dtype::f32, "edge", gpu);
  const Tensor bias = Tensor::zeros(Shape(width), Dtype::f32, "bias", gpu);
  Tensor out = Tensor::zeros(Shape(there.num_rows(), width), Dtype::f32, "out", gpu);
  const Plan plan =
      make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, width, Reduce::sum, true}, parse_policy("flush=atomic"));
  context.reserve(plan.workspace_bytes);
  SpmmOptions with_bias, sum;
  with_bias.epilogue.bias = bias;
  sum.op = SpmmOp::u_add_e;
  expect_refused([&] { spmm(context, plan, there, x, edge, out, with_bias); }, "flush", ErrorCode::unsupported);
  expect_refused([&] { spmm(context, plan, there, x, edge, out, sum); }, "flush", ErrorCode::unsupported);
  expect_refused(
      [&] {
        make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, width, Reduce::max, true}, parse_policy("stage=32"));
      },
      "stage", ErrorCode::unsupported);
}

TEST_F(cuda_policies, of_clusters_without_ids_of_edges_are_for_sums_without_their_values) {
  Context context = Context::cuda();
  PowerlawSpec spec;
  spec.nodes = 4000;
  spec.edges = 40'000;
  spec.seed = 7;
  const Graph host = generate(spec);
  // Over the transpose, whose ids are not the order of its edges.
  const Graph graph = host.transpose().to(gpu);
  const Tensor x = random_tensor(Shape(4000, 16), Dtype::f32, 8), weights = random_tensor(Shape(40'000), Dtype::f32, 9);
  const Tensor there = x.to(gpu), edge = weights.to(gpu);
  const auto plan_for = [&](bool weighted) {
    const Plan plan = make_plan(context, graph, {OpKind::spmm, Dtype::f32, 1, 16, Reduce::sum, weighted},
                                parse_policy("order=clusters"));
    context.reserve(plan.workspace_bytes);
    return plan;
  };
  Tensor out = constant(Shape(4000, 16), Dtype::f32, 0).to(gpu);
  SpmmOptions plain;
  plain.op = SpmmOp::copy_u;
  const Plan without = plan_for(false);
  const std::size_t before = graph.bytes();
  spmm(context, without, graph, there, {}, out, plain);
  expect_within_bound(out.to(Device{}), expected_spmm(host.transpose(), x, {}, plain), "without values");
  expect_refused([&] { spmm(context, without, graph, there, edge, out); }, "weighted");
  const Plan with = plan_for(true);
  EXPECT_EQ(graph.bytes(), before + 4 * 40'000);
  spmm(context, with, graph, there, edge, out);
  expect_within_bound(out.to(Device{}), expected_spmm(host.transpose(), x, weights, SpmmOptions{}), "with values");
}

}  // namespace
}  // namespace weft::test
