#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "plan/partition.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/small_graphs.hpp"
#include "weft/ops.hpp"
#include "weft/plan.hpp"

namespace weft::test {
namespace {

const OpDesc usual{OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum, true};

TEST(plan, prints_everything_it_decided) {
  const Graph graph = skewed_graph(100, 9000, 201);
  const Context context = Context::cpu(3);
  const Plan plan = make_plan(context, graph, {OpKind::spmm, Dtype::bf16, 2, 40, Reduce::max, true},
                              parse_policy("schedule=rows,tasks=12,prefetch=5,assignment=round_robin"));
  const std::string text = to_string(plan);
  for (const std::string_view part : {"spmm", "bf16", "40", "max", "cpu", "3", "rows", "12", "round_robin", "5"})
    EXPECT_TRUE(names(text, part) || text.find(part) != text.npos) << text << " does not say " << part;
  EXPECT_NE(text.find(std::to_string(plan.workspace_bytes)), text.npos) << text;
}

TEST(plan, keeps_what_the_policy_fixes) {
  const Graph graph = skewed_graph(100, 9000, 202);
  const Context context = Context::cpu(2);
  const Plan plan =
      make_plan(context, graph, usual, parse_policy("schedule=rows,tasks=12,prefetch=5,assignment=round_robin"));
  EXPECT_EQ(plan.schedule, ScheduleKind::rows);
  EXPECT_EQ(plan.tasks, 12);
  EXPECT_EQ(plan.cpu().prefetch_edges, 5);
  EXPECT_EQ(plan.assignment, Assignment::round_robin);
  EXPECT_EQ(plan.cpu().threads, 2);
  EXPECT_EQ(plan.backing.graph, graph.identity());
}

TEST(plan, is_equal_to_another_with_the_same_choices_and_to_no_other) {
  const Graph graph = skewed_graph(100, 9000, 203);
  const Context context = Context::cpu(2);
  const Plan plan = make_plan(context, graph, usual);
  EXPECT_EQ(plan, make_plan(context, graph, usual));
  EXPECT_FALSE(plan == make_plan(context, graph, usual, parse_policy("tasks=7")));
  EXPECT_FALSE(plan == make_plan(context, graph, usual, parse_policy("prefetch=3")));
  OpDesc other = usual;
  other.width = 65;
  EXPECT_FALSE(plan == make_plan(context, graph, other));
  other = usual;
  other.dtype = Dtype::f16;
  EXPECT_FALSE(plan == make_plan(context, graph, other));
  other = usual;
  other.reduce = Reduce::max;
  EXPECT_FALSE(plan == make_plan(context, graph, other));
}

TEST(plan, counts_long_rows_and_their_pieces) {
  const Context context = Context::cpu(2);
  const Plan none = make_plan(context, tangled_graph(), usual);
  EXPECT_EQ(none.cpu().long_rows, 0);
  EXPECT_EQ(none.cpu().pieces, 0);
  const Plan one = make_plan(context, hub_graph(10'000), usual);
  EXPECT_EQ(one.cpu().long_rows, 1);
  EXPECT_EQ(one.cpu().pieces, (10'000 + one.cpu().piece_edges - 1) / one.cpu().piece_edges);
}

TEST(plan, is_made_for_every_operator_on_every_graph) {
  const Context context = Context::cpu(2);
  for (const BatteryGraph& battery : battery_graphs())
    for (const OpKind kind :
         {OpKind::spmm, OpKind::sddmm, OpKind::spmv, OpKind::softmax, OpKind::attention, OpKind::segment}) {
      const OpDesc desc{kind,        Dtype::f32, 1, kind == OpKind::spmv || kind == OpKind::softmax ? 1 : 16,
                        Reduce::sum, true};
      const Plan plan = make_plan(context, battery.graph, desc);
      EXPECT_GE(plan.tasks, 1) << battery.name << " " << name(kind);
      EXPECT_GE(plan.backing.modelled_us, 0) << battery.name << " " << name(kind);
    }
}

TEST(plan, explains_its_candidates_and_chooses_the_cheapest) {
  const Graph graph = skewed_graph(2000, 90'000, 204);
  const Context context = Context::cpu(4);
  const PlanReport report = explain_plan(context, graph, usual);
  ASSERT_GE(report.candidates.size(), 2u);
  EXPECT_FALSE(report.reason.empty());
  const auto chosen = std::count_if(report.candidates.begin(), report.candidates.end(),
                                    [](const PlanCandidate& c) { return c.chosen; });
  EXPECT_EQ(chosen, 1);
  double cheapest = report.candidates.front().total_us, picked = -1;
  for (const PlanCandidate& candidate : report.candidates) {
    cheapest = std::min(cheapest, candidate.total_us);
    if (candidate.chosen) picked = candidate.total_us;
    EXPECT_GE(candidate.imbalance, 1 - 1e-9);
  }
  EXPECT_EQ(picked, cheapest);
}

TEST(plan, models_tasks_handed_to_the_least_loaded_thread) {
  const Graph graph = skewed_graph(2000, 90'000, 205);
  for (const int threads : {1, 3, 8})
    for (const char* assignment : {"assignment=dynamic", "assignment=round_robin"})
      for (const PlanCandidate& c :
           explain_plan(Context::cpu(threads), graph, usual, parse_policy(assignment)).candidates) {
        std::vector<double> load(static_cast<std::size_t>(threads), 0.0);
        for (std::int64_t task = 0; task < c.plan.tasks; ++task)
          (c.plan.assignment == Assignment::round_robin ? load[static_cast<std::size_t>(task % threads)]
                                                        : *std::min_element(load.begin(), load.end())) +=
              static_cast<double>(c.plan.backing.partition->cost(task));
        const double most = *std::max_element(load.begin(), load.end());
        EXPECT_EQ(c.imbalance, most * threads / std::accumulate(load.begin(), load.end(), 0.0))
            << to_string(c.plan) << " " << assignment;
      }
}

TEST(plan, shares_a_hub_among_threads_instead_of_serialising_it) {
  const Context context = Context::cpu(4);
  const PlanReport report = explain_plan(context, hub_graph(200'000), usual);
  for (const PlanCandidate& candidate : report.candidates)
    if (candidate.chosen) {
      EXPECT_EQ(candidate.plan.schedule, ScheduleKind::edge_split);
      EXPECT_LE(candidate.imbalance, 1.1);
    }
}

TEST(plan, refuses_descriptions_that_describe_nothing) {
  const Graph graph = tangled_graph();
  const Context context = Context::cpu(1);
  const auto refused = [&](auto change, std::string_view argument, int line = __builtin_LINE()) {
    OpDesc desc = usual;
    change(desc);
    expect_refused([&] { make_plan(context, graph, desc); }, argument, ErrorCode::invalid_argument, __FILE__, line);
    expect_refused([&] { explain_plan(context, graph, desc); }, argument, ErrorCode::invalid_argument, __FILE__, line);
  };
  refused([](OpDesc& d) { d.dtype = Dtype::i32; }, "dtype");
  refused([](OpDesc& d) { d.dtype = Dtype::i64; }, "dtype");
  refused([](OpDesc& d) { d.dtype = static_cast<Dtype>(77); }, "dtype");
  refused([](OpDesc& d) { d.heads = 0; }, "heads");
  refused([](OpDesc& d) { d.heads = -4; }, "heads");
  refused([](OpDesc& d) { d.width = -1; }, "width");
  refused([](OpDesc& d) { d.width = std::int64_t{1} << 62; }, "width");
  refused([](OpDesc& d) { d.heads = std::int64_t{1} << 31, d.width = std::int64_t{1} << 31; }, "width");
  refused([](OpDesc& d) { d.kind = static_cast<OpKind>(17); }, "kind");
  refused([](OpDesc& d) { d.reduce = static_cast<Reduce>(17); }, "reduce");
}

TEST(plan, of_a_graph_that_is_gone_is_refused_by_the_next_one) {
  Context context = Context::cpu(1);
  const auto star = [](std::int64_t nodes) {  // every node but 0 points at node 0
    std::vector<EdgeId> offsets(static_cast<std::size_t>(nodes) + 1, nodes - 1);
    offsets[0] = 0;
    std::vector<NodeId> cols;
    for (NodeId u = 1; u < nodes; ++u) cols.push_back(u);
    return Graph::from_csr(nodes, nodes, offsets, cols);
  };
  const OpDesc desc{OpKind::spmm, Dtype::f32, 1, 4, Reduce::sum, false};
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  for (int round = 0; round < 50; ++round) {  // often enough for the allocator to hand out an address again
    const Plan stale = make_plan(context, star(50), desc);
    context.reserve(stale.workspace_bytes);
    const Graph next = star(3);
    const Tensor x = Tensor::zeros(Shape(3, 4), Dtype::f32);
    Tensor out = Tensor::zeros(Shape(3, 4), Dtype::f32);
    expect_refused([&] { spmm(context, stale, next, x, {}, out, options); }, "plan");
  }
}

TEST(plan, refuses_policies_outside_their_range) {
  const Graph graph = tangled_graph();
  const Context context = Context::cpu(1);
  const auto refused = [&](auto change, std::string_view argument, int line = __builtin_LINE()) {
    Policy policy;
    change(policy);
    expect_refused([&] { make_plan(context, graph, usual, policy); }, argument, ErrorCode::invalid_argument, __FILE__,
                   line);
  };
  refused([](Policy& p) { p.tasks = -1; }, "tasks");
  refused([](Policy& p) { p.tasks = std::int64_t{1} << 60; }, "tasks");
  refused([](Policy& p) { p.prefetch_edges = -2; }, "prefetch|prefetch_edges");
  refused([](Policy& p) { p.schedule = static_cast<ScheduleKind>(9); }, "schedule");
  refused([](Policy& p) { p.assignment = static_cast<Assignment>(9); }, "assignment");
  refused([](Policy& p) { p.assignment = Assignment::consecutive; }, "assignment");
  refused([](Policy& p) { p.vector = 3; }, "vector");
  refused([](Policy& p) { p.vector = -1; }, "vector");
  refused([](Policy& p) { p.lanes = 12; }, "lanes");
  refused([](Policy& p) { p.lanes = -1; }, "lanes");
  refused([](Policy& p) { p.loads = 3; }, "loads");
  refused([](Policy& p) { p.stage_edges = 48; }, "stage|stage_edges");
  refused([](Policy& p) { p.flush = static_cast<Flush>(9); }, "flush");
}

TEST(parse_policy, reads_every_key_and_nothing_at_all) {
  const Policy policy = parse_policy("schedule=edge_split,tasks=64,prefetch=16,assignment=round_robin");
  EXPECT_EQ(policy.schedule, ScheduleKind::edge_split);
  EXPECT_EQ(policy.tasks, 64);
  EXPECT_EQ(policy.prefetch_edges, 16);
  EXPECT_EQ(policy.assignment, Assignment::round_robin);
  EXPECT_FALSE(parse_policy("").schedule.has_value());
  const Policy other = parse_policy("stage=128,assignment=consecutive,flush=atomic,vector=2,waves=off");
  EXPECT_EQ(other.stage_edges, 128);
  EXPECT_EQ(other.assignment, Assignment::consecutive);
  EXPECT_EQ(other.flush, Flush::atomic);
  EXPECT_EQ(other.vector, 2);
  EXPECT_FALSE(other.waves);
  const Policy shape = parse_policy("lanes=8,loads=4");
  EXPECT_EQ(shape.lanes, 8);
  EXPECT_EQ(shape.loads, 4);
  EXPECT_EQ(parse_policy("stage=32").stage_edges, 32);
  EXPECT_EQ(parse_policy("stage=registers").stage_edges, 0);
  EXPECT_EQ(parse_policy("flush=ordered").flush, Flush::ordered);
  EXPECT_TRUE(parse_policy("waves=on").waves);
  const Policy nothing = parse_policy("");
  EXPECT_FALSE(nothing.stage_edges.has_value());
  EXPECT_EQ(nothing.assignment, Assignment::dynamic);
  EXPECT_EQ(nothing.flush, Flush::ordered);
  EXPECT_EQ(nothing.vector, 0);
  EXPECT_TRUE(nothing.waves);
}

TEST(parse_policy, refuses_what_it_does_not_know_and_lists_what_it_does) {
  for (const char* text : {"colour=red",
                           "tasks",
                           "=",
                           "tasks=",
                           "tasks=x",
                           "tasks=-3",
                           "tasks=1.5",
                           "tasks=7 ",
                           "prefetch=99999999999999999999",
                           "tasks=99999999999999",
                           "stage=48",
                           "stage=",
                           "stage=0",
                           "vector=0",
                           "vector=3",
                           "vector=x",
                           "lanes=3",
                           "lanes=64",
                           "loads=16",
                           "waves=no",
                           "waves=2",
                           "join=on"})
    expect_refused([&] { parse_policy(text); }, "policy");
  expect_refused([] { parse_policy("colour=red"); }, "schedule");
  expect_refused([] { parse_policy("schedule=columns"); }, "edge_split");
  expect_refused([] { parse_policy("assignment=random"); }, "round_robin");
  expect_refused([] { parse_policy("assignment=random"); }, "consecutive");
  expect_refused([] { parse_policy("stage=48"); }, "stage");
  expect_refused([] { parse_policy("flush=never"); }, "atomic");
  for (const char* key : {"vector", "lanes", "loads", "waves", "stage", "flush"})
    expect_refused([] { parse_policy("colour=red"); }, key);
}

TEST(parse_policy, names_of_kinds_and_schedules_are_read_back) {
  for (const OpKind kind :
       {OpKind::spmm, OpKind::sddmm, OpKind::spmv, OpKind::softmax, OpKind::attention, OpKind::segment})
    EXPECT_EQ(parse_op_kind(name(kind)), kind);
  for (const ScheduleKind schedule : {ScheduleKind::rows, ScheduleKind::edge_split})
    EXPECT_EQ(parse_schedule(name(schedule)), schedule);
  expect_refused([] { parse_op_kind("gemm"); }, "spmm");
  expect_refused([] { parse_schedule(""); }, "rows");
}

}  // namespace
}  // namespace weft::test
