#include "plan/policy_keys.hpp"

#include "support/errors.hpp"
#include "weft/plan.hpp"

namespace weft::test {
namespace {

TEST(policy_keys, of_the_other_device_are_refused_with_those_there_are) {
  expect_refused(
      [] { check_policy_keys("tasks=3,order=columns", DeviceKind::cpu); },
      "policy key order applies to --device cuda only: keys of the CPU are schedule, tasks, prefetch, assignment");
  expect_refused(
      [] { check_policy_keys("edges=64,prefetch=4", DeviceKind::cuda); },
      "policy key prefetch applies to --device cpu only: keys of the GPU are schedule, assignment, edges, order");
}

TEST(policy_keys, of_a_device_and_of_both_are_taken) {
  EXPECT_NO_THROW(check_policy_keys("", DeviceKind::cpu));
  EXPECT_NO_THROW(check_policy_keys("schedule=rows,tasks=3,prefetch=4,assignment=round_robin", DeviceKind::cpu));
  EXPECT_NO_THROW(check_policy_keys(
      "schedule=rows,assignment=consecutive,edges=64,order=none,join=no,whole=4,vector=4,lanes=8,loads=4,waves=off,"
      "stage=64,flush=atomic,accumulate=half2",
      DeviceKind::cuda));
  EXPECT_NO_THROW(
      check_policy_keys("core=tensor,window=16,threshold=1,layout=none,select=model,tf32=yes", DeviceKind::cuda));
}

TEST(policy_keys, of_windows_are_read) {
  for (const WindowSelect select : {WindowSelect::all, WindowSelect::none, WindowSelect::model}) {
    const std::string text = "core=tensor,window=16,threshold=1,layout=none,select=" + std::string(name(select));
    const Policy policy = parse_policy(text);
    EXPECT_EQ(policy.core, Core::tensor);
    EXPECT_EQ(policy.select, select) << text;
  }
  EXPECT_EQ(parse_policy("core=tensor").select, std::nullopt);
  EXPECT_FALSE(parse_policy("core=tensor").tf32);
  EXPECT_FALSE(parse_policy("core=tensor,tf32=no").tf32);
  EXPECT_TRUE(parse_policy("core=tensor,tf32=yes").tf32);
  expect_refused([] { parse_policy("core=tensor,tf32=on"); }, "tf32");
  expect_refused([] { parse_policy("core=tensor,select=some"); },
                 "select 'some' is not known: did you mean none? expected one of all, none, model");
}

TEST(policy_keys, of_the_rows_of_windows_are_read) {
  for (const WindowLayout layout : {WindowLayout::none, WindowLayout::clusters, WindowLayout::loa})
    EXPECT_EQ(parse_policy("core=tensor,layout=" + std::string(name(layout))).layout, layout) << name(layout);
  EXPECT_EQ(parse_policy("core=tensor").layout, std::nullopt);
  expect_refused([] { parse_policy("core=tensor,layout=lao"); },
                 "layout 'lao' is not known: did you mean loa? expected one of none, clusters, loa");
  Policy policy = parse_policy("core=tensor");
  policy.layout = static_cast<WindowLayout>(3);
  const Context context = Context::cpu(1);
  const Graph graph = Graph::from_csr(1, 1, std::vector<EdgeId>{0, 1}, std::vector<NodeId>{0});
  expect_refused([&] { make_plan(context, graph, {}, policy); },
                 "policy layout is 3, which is no enumerator: expected 0 to 2");
}

TEST(policy_keys, of_windows_need_tensor_cores) {
  const Context context = Context::cpu(1);
  const Graph graph = Graph::from_csr(1, 1, std::vector<EdgeId>{0, 1}, std::vector<NodeId>{0});
  for (const std::string_view text :
       {"select=model", "core=cuda,select=all", "window=16", "layout=none", "layout=loa", "tf32=yes"})
    expect_refused([&] { make_plan(context, graph, {}, parse_policy(text)); }, "core=tensor");
}

}  // namespace
}  // namespace weft::test
