// Planning against running: a plan must cost less than the operator it plans.
#include <benchmark/benchmark.h>

#include "weft/generate.hpp"
#include "weft/ops.hpp"

namespace {

using namespace weft;

const Graph& graph() {
  static const Graph g = generate("like:arxiv").graph;
  return g;
}

OpDesc spmm_desc(std::int64_t width) { return {OpKind::spmm, Dtype::f32, 1, width, Reduce::sum, false}; }

void plan_spmm(benchmark::State& state) {
  const Context context = Context::cpu();
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(context, graph(), spmm_desc(state.range(0))).tasks);
}
BENCHMARK(plan_spmm)->Arg(1)->Arg(64)->Unit(benchmark::kMicrosecond)->UseRealTime();

void run_spmm(benchmark::State& state) {
  Context context = Context::cpu();
  const std::int64_t width = state.range(0);
  const Tensor x = Tensor::zeros(Shape(graph().num_cols(), width), Dtype::f32);
  Tensor out = Tensor::zeros(Shape(graph().num_rows(), width), Dtype::f32);
  const Plan plan = make_plan(context, graph(), spmm_desc(width));
  context.reserve(plan.workspace_bytes);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  for (auto _ : state) spmm(context, plan, graph(), x, {}, out, options);
  state.SetItemsProcessed(state.iterations() * graph().num_edges() * width);
}
BENCHMARK(run_spmm)->Arg(1)->Arg(16)->Arg(64)->Arg(128)->Unit(benchmark::kMicrosecond)->UseRealTime();

}  // namespace
