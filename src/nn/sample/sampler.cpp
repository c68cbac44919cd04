#include "core/check.hpp"
#include "nn/sample/batch.hpp"
#include "nn/sample/passes.hpp"

namespace weft::nn {

SampleOptions completed(SampleOptions o, const ModelSpec& spec) {
  // What the papers' own programs take for graphs of their size.
  constexpr std::int64_t drawn_nodes = 6000, drawn_edges = 4000, roots = 3000, learned_nodes = 512;
  if (o.batch == 0)
    o.batch = o.method == Sampling::node   ? drawn_nodes
              : o.method == Sampling::edge ? drawn_edges
              : o.method == Sampling::walk ? roots
                                           : learned_nodes;
  if (o.method != Sampling::neighbour) return o;
  const auto layers = static_cast<std::size_t>(spec.layers);
  if (o.fanouts.empty()) o.fanouts = {25, 10};
  o.fanouts.resize(layers, o.fanouts.back());
  return o;
}

void check_sampling(const SampleOptions& o, const ModelSpec& spec) {
  const auto check = [](bool right, const char* name, std::int64_t value, const char* expected) {
    WEFT_CHECK(right, invalid_argument, "{} is {}: expected {}", name, value, expected);
  };
  constexpr std::int64_t most = 1 << 30;
  check(o.batch >= 0 && o.batch <= most, "sample.batch", o.batch, "1 to 2^30, or 0 for the default");
  check(o.walk_length >= 1 && o.walk_length <= 1000, "sample.walk_length", o.walk_length, "1 to 1000 steps");
  check(o.batches >= 0 && o.batches <= most, "sample.batches", o.batches, "1 to 2^30 per epoch, or 0 for the default");
  check(o.coverage >= 0 && o.coverage <= 100'000, "sample.coverage", o.coverage, "0 to 100000");
  WEFT_CHECK(static_cast<std::int64_t>(o.fanouts.size()) <= spec.layers, invalid_argument,
             "fanouts has {} numbers and the model {} layers: expected one per layer at most", o.fanouts.size(),
             spec.layers);
  if (o.edges.width != 0) {
    validate(o.edges);
    WEFT_CHECK(o.method == Sampling::none, invalid_argument,
               "edges are sampled ({} of a row), and batches are drawn by {}: expected one of the two", o.edges.width,
               name(o.method));
  }
  for (const std::int64_t fanout : o.fanouts)
    check(fanout == all_neighbours || (fanout >= 1 && fanout <= most_fanout), "a number of sample.fanouts", fanout,
          "1 to 4096 neighbours, or -1 for all");
}

std::unique_ptr<Sampler> make_sampler(const SamplerInputs& inputs, const SampleOptions& options) {
  if (options.edges.width > 0) return make_edge_sampler(inputs, options.edges);
  if (options.method == Sampling::none) return nullptr;
  const SampleOptions whole = completed(options, inputs.spec);
  return options.method == Sampling::neighbour ? make_neighbour_sampler(inputs, whole)
                                               : make_subgraph_sampler(inputs, whole);
}

}  // namespace weft::nn
