// Building graphs: the steps a reader or a sampler pays for.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "weft/generate.hpp"
#include "weft/graph.hpp"

namespace {

using namespace weft;

struct RandomEdges {
  std::vector<NodeId> sources, destinations;
};

RandomEdges random_edges(std::int64_t nodes, std::int64_t edges) {
  std::mt19937 random(7);
  std::uniform_int_distribution<NodeId> node(0, static_cast<NodeId>(nodes - 1));
  RandomEdges list{std::vector<NodeId>(static_cast<std::size_t>(edges)),
                   std::vector<NodeId>(static_cast<std::size_t>(edges))};
  for (auto& u : list.sources) u = node(random);
  for (auto& v : list.destinations) v = node(random);
  return list;
}

void from_edges(benchmark::State& state) {
  const std::int64_t edges = state.range(0), nodes = edges / 20;
  const RandomEdges list = random_edges(nodes, edges);
  for (auto _ : state)
    benchmark::DoNotOptimize(Graph::from_edges(nodes, {.sources = list.sources, .destinations = list.destinations}));
  state.SetItemsProcessed(state.iterations() * edges);
}
BENCHMARK(from_edges)->Arg(1 << 20)->Arg(1 << 24)->Unit(benchmark::kMillisecond)->UseRealTime();

void transpose(benchmark::State& state) {
  const Graph source = generate(PowerlawSpec{.nodes = state.range(0) / 20, .edges = state.range(0)});
  for (auto _ : state) {
    state.PauseTiming();
    const Graph fresh = Graph::from_csr(source.num_rows(), source.num_cols(), source.offsets(), source.cols());
    state.ResumeTiming();
    benchmark::DoNotOptimize(fresh.transpose().num_edges());
  }
  state.SetItemsProcessed(state.iterations() * source.num_edges());
}
BENCHMARK(transpose)->Arg(1 << 20)->Arg(1 << 23)->Unit(benchmark::kMillisecond)->UseRealTime();

void powerlaw(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(generate(PowerlawSpec{.nodes = state.range(0) / 15, .edges = state.range(0)}));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(powerlaw)->Arg(1 << 20)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
