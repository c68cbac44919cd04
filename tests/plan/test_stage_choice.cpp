#include <gtest/gtest.h>

#include <functional>

#include "plan/cuda/stage_choice.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

const OpDesc usual{OpKind::spmm, Dtype::f32, 1, 64, Reduce::sum, true};

GraphView graph_of(NodeId rows, EdgeId edges) {
  GraphView view;
  view.num_rows = view.num_cols = rows;
  view.num_edges = edges;
  return view;
}

/// What a GPU's plan takes from a policy for the usual call, with a change to it.
Plan staged(
    std::string_view policy, const std::function<void(OpDesc&)>& change = [](OpDesc&) {},
    const GraphView& graph = graph_of(1000, 10000)) {
  Plan plan;
  plan.how.emplace<CudaPlan>();
  plan.device = {DeviceKind::cuda, 0};
  plan.desc = usual;
  change(plan.desc);
  choose_stage(plan, parse_policy(policy), graph);
  return plan;
}

TEST(stage_choice, keeps_edges_in_registers_unless_the_policy_needs_tiles) {
  for (const char* policy : {"", "stage=registers", "flush=ordered", "assignment=dynamic", "vector=1,waves=off",
                             "stage=registers,assignment=consecutive,flush=ordered"}) {
    const Plan plan = staged(policy);
    EXPECT_EQ(plan.cuda().stage_edges, 0) << policy;
    EXPECT_EQ(plan.cuda().flush, Flush::ordered) << policy;
    EXPECT_EQ(to_string(plan).find("stage="), std::string::npos) << to_string(plan);
  }
}

TEST(stage_choice, takes_what_is_asked_for_and_shows_it) {
  const Plan plain = staged("stage=32");
  EXPECT_EQ(plain.cuda().stage_edges, 32);
  EXPECT_EQ(plain.assignment, Assignment::consecutive);
  EXPECT_EQ(plain.cuda().flush, Flush::ordered);
  const Plan both = staged("stage=32,assignment=round_robin,flush=atomic");
  EXPECT_EQ(both.assignment, Assignment::round_robin);
  EXPECT_EQ(both.cuda().flush, Flush::atomic);
  EXPECT_FALSE(plain == both);
  EXPECT_NE(to_string(both).find("stage=32,assignment=round_robin,flush=atomic"), std::string::npos) << to_string(both);
  EXPECT_FALSE(staged("stage=128") == plain);
  EXPECT_FALSE(staged("stage=32,flush=atomic") == plain);
  EXPECT_FALSE(staged("") == plain);
  // What implies tiles takes those of 128 edges.
  EXPECT_EQ(staged("flush=atomic"), staged("stage=128,assignment=consecutive,flush=atomic"));
  EXPECT_EQ(staged("assignment=round_robin"), staged("stage=128,assignment=round_robin"));
}

TEST(stage_choice, refuses_what_has_no_kernel_and_names_the_key) {
  const auto half = [](OpDesc& d) { d.dtype = Dtype::f16, d.width = 12; };
  const auto doubled = [](OpDesc& d) { d.dtype = Dtype::f64; };
  const auto largest = [](OpDesc& d) { d.reduce = Reduce::max; };
  const auto mean = [](OpDesc& d) { d.reduce = Reduce::mean; };
  const auto sddmm = [](OpDesc& d) { d.kind = OpKind::sddmm; };
  for (const std::function<void(OpDesc&)>& change :
       {std::function<void(OpDesc&)>(half), {doubled}, {largest}, {mean}, {sddmm}}) {
    expect_refused([&] { staged("stage=32", change); }, "stage", ErrorCode::unsupported);
    expect_refused([&] { staged("flush=atomic", change); }, "flush", ErrorCode::unsupported);
    expect_refused([&] { staged("assignment=round_robin", change); }, "assignment", ErrorCode::unsupported);
    EXPECT_EQ(staged("vector=1", change).cuda().stage_edges, 0);
  }
  EXPECT_EQ(staged("stage=32", [](OpDesc& d) { d.kind = OpKind::spmv; }).cuda().stage_edges, 32);
  EXPECT_EQ(staged("stage=32", [](OpDesc& d) { d.weighted = false; }).cuda().stage_edges, 32);
  expect_refused([] { staged("stage=registers,flush=atomic"); }, "flush");
  expect_refused([] { staged("stage=registers,assignment=round_robin"); }, "assignment");
  expect_refused([] { staged("stage=32,join=yes"); }, "join");
}

TEST(stage_choice, has_tiles_for_halves_in_whole_packs) {
  const auto f16 = [](OpDesc& d) { d.dtype = Dtype::f16; };
  const auto bf16 = [](OpDesc& d) { d.dtype = Dtype::bf16; };
  for (const char* policy : {"stage=32", "stage=64", "stage=128"}) EXPECT_GT(staged(policy, f16).cuda().stage_edges, 0);
  EXPECT_EQ(staged("stage=128", bf16).cuda().stage_edges, 128);
  expect_refused([&] { staged("stage=32", bf16); }, "stage", ErrorCode::unsupported);
  expect_refused([&] { staged("stage=64"); }, "stage", ErrorCode::unsupported);
  expect_refused([&] { staged("stage=128,vector=4", f16); }, "vector", ErrorCode::unsupported);
  EXPECT_EQ(staged("stage=128,vector=8", f16).cuda().stage_edges, 128);
  const GraphView many = graph_of(230'000, 110'000'000);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    EXPECT_EQ(staged(
                  "", [&](OpDesc& d) { d.dtype = dtype, d.width = 16; }, many)
                  .cuda()
                  .stage_edges,
              128);
    EXPECT_EQ(staged(
                  "", [&](OpDesc& d) { d.dtype = dtype, d.width = 32; }, many)
                  .cuda()
                  .stage_edges,
              0);
    EXPECT_EQ(staged(
                  "", [&](OpDesc& d) { d.dtype = dtype, d.width = 12; }, many)
                  .cuda()
                  .stage_edges,
              0);
  }
}

TEST(stage_choice, takes_tiles_by_itself_for_few_features_of_many_long_rows) {
  const GraphView many = graph_of(230'000, 110'000'000);
  const auto narrow = [](OpDesc& d) { d.width = 16; };
  const Plan plan = staged("", narrow, many);
  EXPECT_EQ(plan.cuda().stage_edges, 128);
  EXPECT_EQ(plan.assignment, Assignment::round_robin);
  EXPECT_EQ(plan.cuda().flush, Flush::ordered);
  EXPECT_EQ(staged("order=columns", narrow, many).cuda().stage_edges, 128);
  EXPECT_EQ(staged(
                "", [](OpDesc& d) { d.width = 8, d.weighted = false; }, many)
                .cuda()
                .stage_edges,
            128);

  EXPECT_EQ(staged(
                "", [](OpDesc& d) { d.width = 32; }, many)
                .cuda()
                .stage_edges,
            0)
      << "wide rows";
  EXPECT_EQ(staged(
                "", [](OpDesc& d) { d.width = 1; }, many)
                .cuda()
                .stage_edges,
            0)
      << "lanes along the edges";
  EXPECT_EQ(staged(
                "", [](OpDesc& d) { d.width = 16, d.reduce = Reduce::max; }, many)
                .cuda()
                .stage_edges,
            0)
      << "no kernel";
  EXPECT_EQ(staged("", narrow, graph_of(10'000'000, 110'000'000)).cuda().stage_edges, 0) << "short rows";
  EXPECT_EQ(staged("", narrow, graph_of(1000, 500'000)).cuda().stage_edges, 0) << "few tasks";
  for (const char* policy : {"stage=registers", "join=yes", "join=no", "edges=64", "vector=4", "loads=4", "lanes=2",
                             "schedule=edge_split", "waves=off"})
    EXPECT_EQ(staged(policy, narrow, many).cuda().stage_edges, 0) << policy;
}

}  // namespace
}  // namespace weft::test
