// Operators that sample edges as they run, against the float64 reference over the same edges written out as a graph.
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <tuple>
#include <vector>

#include "battery/sweep.hpp"
#include "support/attention_case.hpp"

namespace weft::test {
namespace {

constexpr EdgeSampling methods[] = {EdgeSampling::bucket, EdgeSampling::fastrand, EdgeSampling::strata,
                                    EdgeSampling::fresh};
constexpr std::int64_t sample_widths[] = {1, 3, 16, 40, 2000};

/// What sums are accumulated in.
Dtype summed_in(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

std::string text(const EdgeSample& sample) {
  return fmt::format("{} of {} step {}", name(sample.method), sample.width, sample.step);
}

/// What a seed says of the sample.
EdgeSample sample_for(std::uint64_t seed) {
  EdgeSample sample;
  sample.method = methods[(seed >> 48) % std::size(methods)];
  sample.width = sample_widths[(seed >> 8) % std::size(sample_widths)];
  sample.seed = seed >> 3;
  sample.step = static_cast<std::int64_t>(seed >> 16 & 7);
  sample.norm = (seed >> 24) % 2 == 0 ? SampleNorm::none : SampleNorm::scaled;
  return sample;
}

/// Columns are drawn by the run, so that no plan can put them in order.
Way without_columns(const Way& way) {
  Way same{way.name,
           way.context.device().kind == DeviceKind::cpu ? Context::cpu(way.context.threads())
                                                        : Context::on(way.context.device()),
           way.policy};
  if (same.policy.order == WorkOrder::columns) same.policy.order = WorkOrder::none;
  if (same.policy.order == WorkOrder::clusters_columns) same.policy.order = WorkOrder::clusters;
  return same;
}

/// How much larger sums over all edges are, times the rows' own scales where there are some.
Tensor row_factors(const Graph& graph, const Graph& kept, const Tensor& own, Dtype dtype) {
  const std::vector<std::int64_t> all = degrees_of(graph), left = degrees_of(kept);
  const std::vector<double> scales = own ? doubles(own) : std::vector<double>(all.size(), 1);
  Tensor factors = Tensor::zeros(Shape(graph.num_rows()), dtype, "factors");
  for (std::size_t v = 0; v < all.size(); ++v) {
    const double factor = scales[v] * (left[v] > 0 ? static_cast<double>(all[v]) / static_cast<double>(left[v]) : 1);
    if (dtype == Dtype::f64)
      factors.view().as<double>()[v] = factor;
    else
      factors.view().as<float>()[v] = static_cast<float>(factor);
  }
  return factors;
}

void run_spmm(const BatteryGraph& battery, const Graph& there, std::int64_t width, std::int64_t heads, Dtype dtype,
              SpmmOp op, Reduce reduce, bool vectors, std::uint64_t seed, const Way& given) {
  Way way = without_columns(given);
  const Graph& graph = battery.graph;
  const EdgeSample sample = sample_for(seed);
  const std::string context = fmt::format("{} {} {} {} {}x{} {} {} seed={}", battery.name, name(dtype), name(op),
                                          name(reduce), heads, width, text(sample), way.name, seed);
  const Shape nodes = heads > 1 ? Shape(graph.num_cols(), heads, width) : Shape(graph.num_cols(), width);
  const Shape edges = vectors ? (heads > 1 ? Shape(graph.num_edges(), heads, width) : Shape(graph.num_edges(), width))
                      : heads > 1 ? Shape(graph.num_edges(), heads, 1)
                                  : Shape(graph.num_edges());
  Tensor x, edge;
  if (uses_node(op)) x = random_tensor(nodes, dtype, seed);
  if (uses_edge(op))
    edge = op == SpmmOp::u_div_e ? random_divisors(edges, dtype, seed + 1) : random_tensor(edges, dtype, seed + 1);
  SpmmOptions options;
  options.op = op;
  options.reduce = reduce;

  const Derived kept = sample_edges(graph, sample);
  Tensor kept_edge, row_scale, col_scale, bias;
  if (edge) kept_edge = carry_values(kept.origin, edge);
  // Some calls with a whole epilogue: the norm of a sample is one more factor of a row.
  const bool epilogue = (seed >> 50) % 3 == 0, scaled = sample.norm == SampleNorm::scaled && reduce == Reduce::sum;
  if (epilogue) {
    row_scale = random_tensor(Shape(graph.num_rows()), summed_in(dtype), seed + 2, 0.5, 2);
    col_scale = random_tensor(Shape(graph.num_cols()), summed_in(dtype), seed + 3, 0.5, 2);
    bias = random_tensor(Shape(heads * (uses_node(op) || vectors ? width : 1)), dtype, seed + 4);
    options.epilogue.col_scale = col_scale;
    options.epilogue.bias = bias;
    options.epilogue.relu = true;
  }
  Tensor factors;
  if (scaled) factors = row_factors(graph, kept.graph, row_scale, summed_in(dtype));
  if (scaled || epilogue) options.epilogue.row_scale = scaled ? factors.view() : row_scale.view();
  const SpmmExpected expected = expected_spmm(kept.graph, x, kept_edge, options);
  options.epilogue.row_scale = {};

  const Device device = there.device();
  Tensor arg_u, arg_e;
  const bool extremum = reduce == Reduce::max || reduce == Reduce::min;
  const bool winners = extremum && (seed >> 52) % 3 != 0;  // others want none
  if (winners) {
    options.arg_u = arg_u = Tensor::empty(expected.shape, Dtype::i32, "arg_u", device);
    options.arg_e = arg_e = Tensor::empty(expected.shape, Dtype::i64, "arg_e", device);
  }
  options.sample = sample;
  const Tensor row_there = on(device, row_scale), col_there = on(device, col_scale), bias_there = on(device, bias);
  if (epilogue) {
    options.epilogue.row_scale = row_there;
    options.epilogue.col_scale = col_there;
    options.epilogue.bias = bias_there;
  }
  OpDesc desc{OpKind::spmm, dtype, expected.shape.heads, expected.shape.width, reduce, uses_edge(op)};
  desc.sample_width = sample.width;
  const Plan plan = planned(way, there, desc);
  Tensor out = on(device, constant(expected.shape, dtype, std::nan("")));
  spmm(way.context, plan, there, on(device, x), on(device, edge), out, options);
  expect_within_bound(on(Device{}, out), expected, context);
  if (!winners || ::testing::Test::HasFailure()) return;
  // Random values have no ties to speak of: the winner is the reference's, by the whole graph's ids.
  const Tensor us = on(Device{}, arg_u), es = on(Device{}, arg_e);
  std::size_t others = 0;
  for (std::size_t i = 0; i < expected.y.size(); ++i) {
    const EdgeId won = expected.arg_e[i] < 0 ? -1 : kept.origin.ids()[static_cast<std::size_t>(expected.arg_e[i])];
    others += es.span<EdgeId>()[i] != won || us.span<NodeId>()[i] != expected.arg_u[i];
  }
  const auto most = dtype == Dtype::f32 || dtype == Dtype::f64 ? expected.y.size() / 1000 : expected.y.size() / 5;
  EXPECT_LE(others, most) << context << ": winners that are not the reference's";
}

/// What the scores of all edges are added to so that only the kept ones count: dropout and biases go by the whole
/// graph's ids.
Tensor masked_bias(const Graph& graph, const Derived& kept, const AttentionCase& inputs) {
  const std::int64_t heads = inputs.value.shape().heads;
  Tensor masked = constant(Shape(graph.num_edges(), heads, 1), Dtype::f64, -std::numeric_limits<double>::infinity());
  const std::vector<double> bias = inputs.bias ? doubles(inputs.bias) : std::vector<double>{};
  for (const EdgeId id : kept.origin.ids())
    for (std::int64_t i = id * heads; i < (id + 1) * heads; ++i)
      masked.view().as<double>()[i] = inputs.bias ? bias[static_cast<std::size_t>(i)] : 0;
  return masked;
}

class sampled_battery : public Battery {};

TEST_P(sampled_battery, spmm_agrees_with_the_reference_over_the_kept_edges_for_every_op_and_reducer) {
  const auto [dtype, device] = GetParam();
  std::vector<Way> ways = ways_to_run(device);
  Sweep sweep(4096);
  std::set<std::tuple<SpmmOp, Reduce, std::int64_t>> seen;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = on(device, battery.graph);
    for (const std::int64_t width : battery_widths)
      for (const SpmmOp op : spmm_ops)
        for (const Reduce reduce : reducers)
          for (const int kind : {0, 1, 2}) {  // a value per edge, a vector per edge, heads
            if (op == SpmmOp::copy_u && kind == 1) continue;
            if (!sweep.next((battery.graph.num_edges() + battery.graph.num_rows()) * width * (kind == 2 ? 6 : 2)))
              continue;
            seen.insert({op, reduce, width});
            run_spmm(battery, there, width, kind == 2 ? 2 : 1, dtype, op, reduce, kind == 1, sweep.seed(),
                     way_for(ways, sweep.seed()));
            if (HasFailure()) return;
          }
  }
  EXPECT_EQ(seen.size(), std::size(spmm_ops) * std::size(reducers) * std::size(battery_widths));
}

TEST_P(sampled_battery, attention_agrees_with_the_reference_over_the_kept_edges_for_every_score) {
  const auto [dtype, device] = GetParam();
  std::vector<Way> ways = ways_to_run(device);
  Sweep sweep(2048);
  std::set<std::tuple<Score, std::int64_t, bool>> seen;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph& graph = battery.graph;
    const Graph there = on(device, graph);
    for (const Score score : score_kinds)
      for (const std::int64_t width : battery_widths)
        for (const std::int64_t heads : {1, 2, 4})
          for (const bool biased : {false, true}) {
            if (!sweep.next((graph.num_edges() + graph.num_rows()) * width * heads * 2)) continue;
            seen.insert({score, heads, biased});
            const EdgeSample sample = sample_for(sweep.seed());
            Way way = without_columns(way_for(ways, sweep.seed()));
            AttentionCase inputs(graph, score, dtype, heads, width, 5, biased ? std::optional(dtype) : std::nullopt,
                                 sweep.seed());
            if (sweep.seed() >> 40 & 1) inputs.dropout = 0.3f;
            const std::string context = fmt::format("{} {} {} {}x{} {} {} seed={}", battery.name, name(dtype),
                                                    name(score), heads, width, text(sample), way.name, sweep.seed());
            const Derived kept = sample_edges(graph, sample);
            const Tensor masks = masked_bias(graph, kept, inputs);
            AttentionInputs all = inputs.views();
            all.bias = masks;
            AttentionExpected expected = expected_attention(graph, all, inputs.largest_score);
            expected.out.terms = degrees_of(kept.graph);

            const AttentionCase moved = inputs.to(device);
            AttentionInputs views = moved.views();
            views.sample = sample;
            OpDesc desc{OpKind::attention, dtype, heads, width, Reduce::sum, true};
            desc.sample_width = sample.width;
            const Plan plan = planned(way, there, desc);
            const auto made = [&](const Shape& shape, Dtype of) {
              return on(device, constant(shape, of, std::nan("")));
            };
            Tensor out = made(expected.out.shape, dtype);
            Tensor row_max = made(Shape(graph.num_rows(), heads, 1), summed_in(dtype)),
                   row_sum = made(row_max.shape(), summed_in(dtype));
            attention(way.context, plan, there, views, out, row_max, row_sum);
            expect_within_bound(on(Device{}, out), expected.out, context);
            if (HasFailure()) return;
          }
  }
  EXPECT_EQ(seen.size(), std::size(score_kinds) * 3 * 2);
}

TEST_P(sampled_battery, a_plan_for_means_runs_scaled_sums) {
  const auto [dtype, device] = GetParam();
  Context context = Context::on(device);
  const Graph graph = battery::power_law_graph(), there = on(device, graph);
  const EdgeSample sample{EdgeSampling::strata, 8, 0, 0, SampleNorm::scaled};
  OpDesc desc{OpKind::spmm, dtype, 1, 33, Reduce::mean, false};
  desc.sample_width = sample.width;
  const Plan plan = make_plan(context, there, desc);
  context.reserve(plan.workspace_bytes);
  const Tensor x = random_tensor(Shape(graph.num_cols(), 33), dtype, 1);
  const Derived kept = sample_edges(graph, sample);
  const Tensor factors = row_factors(graph, kept.graph, {}, summed_in(dtype));
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  options.epilogue.row_scale = factors;
  const SpmmExpected expected = expected_spmm(kept.graph, x, {}, options);
  options.epilogue = {};
  options.sample = sample;
  Tensor out = on(device, constant(expected.shape, dtype, std::nan("")));
  spmm(context, plan, there, on(device, x), {}, out, options);
  expect_within_bound(on(Device{}, out), expected, "scaled sums by a plan for means");
}

TEST_P(sampled_battery, a_sample_that_keeps_every_edge_has_the_bits_of_all_edges_in_every_order) {
  const auto [dtype, device] = GetParam();
  const Graph graph = battery::power_law_graph(), there = on(device, graph);
  const Tensor x = on(device, random_tensor(Shape(graph.num_cols(), 64), dtype, 2));
  for (Way& way : ways_to_run(device)) {
    OpDesc desc{OpKind::spmm, dtype, 1, 64, Reduce::sum, false};
    const auto run = [&](std::optional<EdgeSample> sample) {
      desc.sample_width = sample ? sample->width : 0;
      const Plan plan = planned(way, there, desc);
      SpmmOptions options;
      options.op = SpmmOp::copy_u;
      options.sample = sample;
      Tensor out = on(device, constant(Shape(graph.num_rows(), 64), dtype, std::nan("")));
      spmm(way.context, plan, there, x, {}, out, options);
      return on(Device{}, out);
    };
    const Tensor all = run(std::nullopt);
    for (const SampleNorm norm : {SampleNorm::none, SampleNorm::scaled})
      EXPECT_TRUE(bitwise_equal(run(EdgeSample{EdgeSampling::fresh, graph.num_edges(), 1, 2, norm}), all)) << way.name;
  }
}

TEST_P(sampled_battery, the_kernel_of_es_spmm_agrees_with_the_reference_over_the_kept_edges) {
  const auto [dtype, device] = GetParam();
  if (device.kind != DeviceKind::cuda || dtype == Dtype::f64) GTEST_SKIP() << "a kernel of GPUs, in f32, f16 and bf16";
  Context context = Context::on(device);
  const Graph graph = battery::power_law_graph(), there = on(device, graph);
  std::uint64_t seed = 40;
  for (const std::int64_t width : {1, 30, 64, 200})
    for (const std::int64_t kept_a_row : {1, 16, 300})
      for (const Reduce reduce : {Reduce::sum, Reduce::mean})
        for (const bool weighted : {false, true}) {
          const EdgeSample sample{EdgeSampling::fastrand, kept_a_row};
          const Derived kept = sample_edges(graph, sample);
          OpDesc desc{OpKind::spmm, dtype, 1, width, reduce, weighted};
          desc.sample_width = kept_a_row;
          const Plan plan = make_plan(context, there, desc, parse_policy("sample_kernel=cache_first"));
          context.reserve(plan.workspace_bytes);
          const Tensor x = random_tensor(Shape(graph.num_cols(), width), dtype, ++seed);
          Tensor edge, kept_edge;
          if (weighted) edge = random_tensor(Shape(graph.num_edges()), dtype, ++seed);
          if (weighted) kept_edge = carry_values(kept.origin, edge);
          SpmmOptions options;
          options.op = weighted ? SpmmOp::u_mul_e : SpmmOp::copy_u;
          options.reduce = reduce;
          const SpmmExpected expected = expected_spmm(kept.graph, x, kept_edge, options);
          options.sample = sample;
          Tensor out = on(device, constant(expected.shape, dtype, std::nan("")));
          spmm(context, plan, there, on(device, x), on(device, edge), out, options);
          expect_within_bound(on(Device{}, out), expected, fmt::format("{} features, {}", width, text(sample)));
          if (HasFailure()) return;
        }
}

INSTANTIATE_TEST_SUITE_P(settings, sampled_battery, ::testing::ValuesIn(settings()), text_of);

}  // namespace
}  // namespace weft::test
