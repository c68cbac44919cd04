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
}

}  // namespace
}  // namespace weft::test
