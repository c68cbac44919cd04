// What holds of every planned backward on the CPU.
#pragma once

#include <gtest/gtest.h>

#include "support/allocations.hpp"
#include "support/errors.hpp"
#include "weft/ops.hpp"

namespace weft::test {

/// A run allocates nothing, and takes what was planned of the workspace and no byte less. A Layer is made of a context,
/// a graph, a case and a storage type, and has plan(context), run(context, plan, into) and into().
template <class Layer, class Case>
void expect_exact_workspace(const Graph& graph, const Case& c, Dtype dtype) {
  Context context = Context::cpu(2), small = Context::cpu(2), other = Context::cpu(2);
  Layer layer(other, graph, c, dtype);
  const auto plan = layer.plan(context);
  context.reserve(plan.workspace_bytes);
  EXPECT_EQ(context.workspace_bytes(), plan.workspace_bytes);
  const std::size_t before = memory_stats().allocations;
  layer.run(context, plan, layer.into());
  EXPECT_EQ(memory_stats().allocations, before);
  if (plan.workspace_bytes == 0) return;
  small.reserve(plan.workspace_bytes - 1);
  expect_refused([&] { layer.run(small, plan, layer.into()); }, "workspace");
}

}  // namespace weft::test
