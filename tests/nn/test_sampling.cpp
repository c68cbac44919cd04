// Batches: what is drawn, and how it is weighed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/draws.hpp"
#include "core/memory.hpp"
#include "nn/network_case.hpp"
#include "nn/sample/batch.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

/// A sampler over a dataset's graph.
struct Sampled {
  Context context = Context::cpu(2);
  ModelSpec spec;
  nn::ModelGraph whole;
  Graph graph;
  std::unique_ptr<nn::Sampler> sampler;
  Sampled(const Dataset& dataset, Architecture a, const SampleOptions& options, std::uint64_t seed = 3,
          const std::function<void(ModelSpec&)>& change = {})
      : spec(spec_for(dataset, a)) {
    if (change) change(spec);
    whole = nn::graph_for(context, dataset, spec, Dtype::f64);
    graph = whole.graph;
    sampler = nn::make_sampler({context, whole, spec, Dtype::f64, seed, nn::learned_nodes(dataset)}, options);
  }
};

TEST(nn_sampling, shuffles_every_item_to_a_place_of_its_own) {
  for (const std::int64_t count : {1, 2, 3, 17, 64, 1000, 4097}) {
    std::vector<bool> taken(static_cast<std::size_t>(count), false);
    std::int64_t fixed = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t place = shuffled(i, count, {7, 2, Purpose::shuffling});
      ASSERT_TRUE(place >= 0 && place < count);
      ASSERT_FALSE(taken[static_cast<std::size_t>(place)]) << count;
      taken[static_cast<std::size_t>(place)] = true;
      fixed += place == i ? 1 : 0;
    }
    if (count >= 1000) {
      EXPECT_LT(fixed, 12) << "of " << count;  // one is expected
    }
  }
}

TEST(nn_sampling, draws_numbers_below_a_bound_equally_often) {
  std::vector<int> counts(7, 0);
  for (std::int64_t i = 0; i < 70'000; ++i) ++counts[static_cast<std::size_t>(Draws{5, 1}.below(i, 0, 7))];
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 400);  // four deviations
  EXPECT_EQ(below(~0u, ~0u, std::int64_t{1} << 40), (std::int64_t{1} << 40) - 1);
  EXPECT_EQ(below(0, 0, 5), 0);
}

TEST(nn_sampling, of_subgraphs_takes_all_edges_between_the_nodes_drawn) {
  const Dataset dataset = small_dataset(500, 4, 3, false, false, 71);
  for (const Sampling method : {Sampling::node, Sampling::edge, Sampling::walk}) {
    Sampled s(dataset, Architecture::sage, sampling(method, 60));
    std::set<std::vector<NodeId>> seen;
    for (std::int64_t b = 0; b < 5; ++b) {
      const nn::Batch batch = s.sampler->draw(0, b);
      const std::span<const NodeId> nodes = batch.nodes.span<NodeId>();
      ASSERT_TRUE(std::ranges::is_sorted(nodes));
      EXPECT_LE(nodes.size(), method == Sampling::node ? 60u : method == Sampling::edge ? 120u : 180u);
      EXPECT_GE(nodes.size(), 20u);
      const Graph expected = induced_subgraph(s.graph, nodes).graph, &got = batch.blocks.at(0).graph;
      EXPECT_TRUE(std::ranges::equal(got.offsets(), expected.offsets())) << name(method);
      EXPECT_TRUE(std::ranges::equal(got.cols(), expected.cols())) << name(method);
      seen.insert({nodes.begin(), nodes.end()});
      const nn::Batch again = s.sampler->draw(0, b);
      EXPECT_TRUE(std::ranges::equal(again.nodes.span<NodeId>(), nodes));
    }
    EXPECT_EQ(seen.size(), 5u) << name(method);
  }
}

TEST(nn_sampling, by_degree_by_edge_and_by_walk_draws_nodes_as_often_as_it_should) {
  const Dataset dataset = small_dataset(60, 4, 3, false, false, 72);
  const std::span<const EdgeId> offsets = dataset.graph.offsets();
  const Graph reversed = dataset.graph.transpose();
  const GraphView r = reversed.host_view();
  const auto degree = [&](std::span<const EdgeId> of, std::size_t v) { return static_cast<double>(of[v + 1] - of[v]); };
  const std::span<const NodeId> train = dataset.train.span<NodeId>();
  // The chance that one draw gives the node.
  const auto chance = [&](Sampling method, std::size_t v) {
    if (method == Sampling::node)
      return (degree(reversed.offsets(), v) + 1) / static_cast<double>(dataset.graph.num_edges() + 60);
    const auto is_root = [&](std::size_t u) {
      return method == Sampling::edge || std::ranges::count(train, static_cast<NodeId>(u)) > 0;
    };
    double by_edge = 0;  // from another node
    for (EdgeId k = r.offsets[v]; k < r.offsets[v + 1]; ++k) {
      const auto u = static_cast<std::size_t>(r.cols[k]);
      if (u != v && is_root(u)) by_edge += 1 / degree(offsets, u);
    }
    return ((is_root(v) ? 1 : 0) + by_edge) / static_cast<double>(method == Sampling::edge ? 60 : train.size());
  };
  constexpr int draws = 4000;
  for (const Sampling method : {Sampling::node, Sampling::edge, Sampling::walk}) {
    SampleOptions options = sampling(method, 1);
    options.coverage = 1;
    options.walk_length = 1;
    Sampled s(dataset, Architecture::sage, options);
    std::vector<double> counts(60, 0);
    for (int b = 0; b < draws; ++b) {
      const nn::Batch batch = s.sampler->draw(0, b);
      for (const NodeId node : batch.nodes.span<NodeId>()) ++counts[static_cast<std::size_t>(node)];
    }
    for (std::size_t v = 0; v < 60; ++v) {
      const double expected = draws * chance(method, v);
      EXPECT_NEAR(counts[v], expected, 5 * std::sqrt(expected) + 1) << name(method) << " node " << v;
    }
  }
}

TEST(nn_sampling, weighs_losses_fairly_however_few_subgraphs_were_counted) {
  const Dataset dataset = small_dataset(300, 4, 3, false, false, 78);
  for (const std::int64_t coverage : {5, 20}) {
    double sum = 0;
    constexpr int seeds = 20, batches = 40;
    for (int seed = 0; seed < seeds; ++seed) {
      SampleOptions options = sampling(Sampling::edge, 30);
      options.coverage = coverage;
      Sampled s(dataset, Architecture::gat, options, static_cast<std::uint64_t>(seed));
      for (int b = 0; b < batches; ++b) {
        const nn::Batch batch = s.sampler->draw(0, b);
        for (const float weight : batch.loss_weights.span<float>()) sum += static_cast<double>(weight);
      }
    }
    EXPECT_NEAR(sum / (300.0 * seeds * batches), 1, 0.03) << "coverage " << coverage;
  }
}

TEST(nn_sampling, draws_as_before_after_a_batch_that_there_was_no_memory_for) {
  const Dataset dataset = small_dataset(300, 4, 3, false, false, 80);
  for (const Sampling method : {Sampling::walk, Sampling::neighbour}) {
    Sampled s(dataset, Architecture::sage, sampling(method, 20));
    const nn::Batch expected = s.sampler->draw(0, 1);
    std::size_t failed = 0;
    for (std::size_t nth = 1; nth < 100; ++nth) {
      fail_allocation(nth);
      bool threw = false;
      try {
        s.sampler->draw(0, 0);
      } catch (const Error& error) {
        threw = error.code() == ErrorCode::out_of_memory;
      }
      fail_allocation(0);
      if (!threw) break;
      ++failed;
      const nn::Batch got = s.sampler->draw(0, 1);
      ASSERT_TRUE(std::ranges::equal(got.nodes.span<NodeId>(), expected.nodes.span<NodeId>())) << name(method) << nth;
      ASSERT_EQ(got.blocks[0].graph.num_edges(), expected.blocks[0].graph.num_edges()) << name(method) << nth;
    }
    EXPECT_GE(failed, 4u) << name(method);
  }
}

TEST(nn_sampling, without_counting_weighs_nothing_and_takes_degrees_as_they_are_in_the_batch) {
  const Dataset dataset = small_dataset(300, 4, 3, false, false, 79);
  SampleOptions options = sampling(Sampling::edge, 30);
  options.coverage = 0;
  Sampled s(dataset, Architecture::gcn, options);
  const nn::Batch batch = s.sampler->draw(0, 0);
  EXPECT_FALSE(batch.loss_weights);
  EXPECT_FALSE(batch.blocks.at(0).weights);
  EXPECT_DOUBLE_EQ(batch.weight, 300.0 / static_cast<double>(batch.nodes.shape().rows));
  options.batches = 17;
  EXPECT_EQ(Sampled(dataset, Architecture::gcn, options).sampler->batches(), 17);
}

/// Means over many batches of what losses and sums over neighbours are expected to be in the whole graph.
TEST(nn_sampling, weighs_losses_and_messages_so_that_their_means_are_those_of_the_graph) {
  const Dataset dataset = small_dataset(80, 4, 3, false, false, 73);
  struct Case {
    Architecture architecture;
    std::function<void(ModelSpec&)> change;
    std::function<double(double in, double out)> norm;
  };
  const Case cases[] = {{Architecture::gcn, {}, [](double in, double out) { return 1 / std::sqrt(in * out); }},
                        {Architecture::gcn, [](ModelSpec& m) { m.degree_norm = DegreeNorm::left; },
                         [](double, double out) { return 1 / out; }},
                        {Architecture::sage, {}, [](double in, double) { return 1 / in; }},
                        {Architecture::gin, {}, [](double, double) { return 1.0; }}};
  for (const Sampling method : {Sampling::node, Sampling::edge, Sampling::walk, Sampling::neighbour})
    for (const Case& c : cases) {
      SampleOptions options = sampling(method, method == Sampling::neighbour ? 1000 : 25);
      options.coverage = 400;
      options.fanouts = {2};
      Sampled s(dataset, c.architecture, options, 5, c.change);
      const GraphView g = s.graph.host_view();
      const Graph reversed = s.graph.transpose();
      const auto value = [](NodeId u) { return 1 + 0.1 * static_cast<double>(u % 7); };
      constexpr int batches = 4000;
      std::vector<double> losses(80, 0), sums(80, 0), times(80, 0);
      for (int b = 0; b < batches; ++b) {
        const nn::Batch batch = s.sampler->draw(b, 0);
        const nn::Block& block = batch.blocks.back();  // the last layer's
        const std::span<const NodeId> nodes = batch.nodes.span<NodeId>();
        const GraphView part = block.graph.host_view();
        for (std::int64_t i = 0; i < part.num_rows; ++i) {
          const auto v = static_cast<std::size_t>(nodes[static_cast<std::size_t>(i)]);
          ++times[v];
          losses[v] += batch.loss_weights
                           ? static_cast<double>(batch.loss_weights.span<float>()[static_cast<std::size_t>(i)])
                           : 1;
          for (EdgeId e = part.offsets[i]; e < part.offsets[i + 1]; ++e)
            sums[v] += block.weights.span<double>()[static_cast<std::size_t>(e)] *
                       value(nodes[static_cast<std::size_t>(part.cols[e])]);
        }
      }
      double off = 0, all = 0, loss = 0, learned = 0;
      for (std::size_t v = 0; v < 80; ++v) {
        if (times[v] < 200) continue;  // too seldom to speak of a mean
        double expected = 0;
        for (EdgeId k = g.offsets[v]; k < g.offsets[v + 1]; ++k) {
          const NodeId u = g.cols[k];
          const auto out =
              reversed.offsets()[static_cast<std::size_t>(u) + 1] - reversed.offsets()[static_cast<std::size_t>(u)];
          expected += value(u) * c.norm(static_cast<double>(g.offsets[v + 1] - g.offsets[v]), static_cast<double>(out));
        }
        off += std::fabs(sums[v] / times[v] - expected);
        all += expected;
        loss += losses[v] / batches;
        ++learned;
      }
      EXPECT_LT(off, 0.08 * all) << name(method) << " " << name(c.architecture);
      if (method != Sampling::neighbour) {
        EXPECT_NEAR(loss / learned, 1, 0.04) << name(method) << " " << name(c.architecture);
      }
    }
}

TEST(nn_sampling, of_neighbours_takes_each_training_node_once_an_epoch_and_no_edge_twice) {
  const Dataset dataset = small_dataset(300, 4, 3, false, false, 74);
  SampleOptions options = sampling(Sampling::neighbour, 16);
  options.fanouts = {4, 3};
  Sampled s(dataset, Architecture::gcn, options, 3, [](ModelSpec& m) { m.layers = 3; });
  const GraphView g = s.graph.host_view();
  EXPECT_EQ(s.sampler->batches(), 7);  // 100 training nodes
  std::vector<std::vector<NodeId>> orders;
  for (std::int64_t epoch = 0; epoch < 2; ++epoch) {
    std::vector<NodeId> order;
    double share = 0;
    for (std::int64_t b = 0; b < 7; ++b) {
      const nn::Batch batch = s.sampler->draw(epoch, b);
      ASSERT_EQ(batch.blocks.size(), 3u);
      const std::span<const NodeId> nodes = batch.nodes.span<NodeId>();
      EXPECT_EQ((std::set<NodeId>(nodes.begin(), nodes.end()).size()), nodes.size());
      const std::int64_t learned = batch.blocks.back().graph.num_rows();
      order.insert(order.end(), nodes.begin(), nodes.begin() + learned);
      share += batch.share;
      EXPECT_EQ(batch.blocks.front().graph.num_cols(), batch.nodes.shape().rows);
      for (std::size_t l = 0; l < 3; ++l) {
        const GraphView part = batch.blocks[l].graph.host_view();
        if (l > 0) {
          EXPECT_EQ(part.num_cols, batch.blocks[l - 1].graph.num_rows());
        }
        const EdgeId fanout = l == 2 ? 4 : 3;  // from the last layer to the first
        for (std::int64_t i = 0; i < part.num_rows; ++i) {
          const NodeId v = nodes[static_cast<std::size_t>(i)];
          const EdgeId others = g.offsets[v + 1] - g.offsets[v] - 1;  // besides the self-loop, which is always there
          ASSERT_EQ(part.offsets[i + 1] - part.offsets[i], std::min(others, fanout) + 1);
          std::map<NodeId, int> cols;
          for (EdgeId e = part.offsets[i]; e < part.offsets[i + 1]; ++e)
            ++cols[nodes[static_cast<std::size_t>(part.cols[e])]];
          EXPECT_EQ(cols[v], 1);
          for (const auto& [u, times] : cols)
            EXPECT_LE(times, std::count(g.cols + g.offsets[v], g.cols + g.offsets[v + 1], u)) << u << " of " << v;
        }
      }
    }
    EXPECT_NEAR(share, 1, 1e-12);
    orders.push_back(order);
    std::ranges::sort(order);
    EXPECT_TRUE(std::ranges::equal(order, dataset.train.span<NodeId>()));
  }
  EXPECT_NE(orders[0], orders[1]);
}

TEST(nn_sampling, of_all_neighbours_takes_every_edge_of_a_node_however_many_there_are) {
  constexpr std::int64_t nodes = 6000;  // more than the 4096 that may be drawn
  Dataset dataset = small_dataset(nodes, 4, 3, false, false, 79);
  dataset.graph = generate(StarSpec{nodes});
  dataset.train = Tensor::empty(Shape(2), Dtype::i32);
  dataset.train.span<NodeId>()[0] = 0;
  dataset.train.span<NodeId>()[1] = 5;
  SampleOptions options = sampling(Sampling::neighbour, 2);
  options.fanouts = {all_neighbours};
  Sampled s(dataset, Architecture::gcn, options);
  const nn::Batch batch = s.sampler->draw(0, 0);
  EXPECT_EQ(batch.nodes.shape().rows, nodes);
  const std::span<const NodeId> order = batch.nodes.span<NodeId>();
  const GraphView last = batch.blocks.back().graph.host_view();
  ASSERT_EQ(last.num_rows, 2);
  for (std::int64_t i = 0; i < 2; ++i) {
    const bool hub = order[static_cast<std::size_t>(i)] == 0;
    std::set<NodeId> sources;
    for (EdgeId e = last.offsets[i]; e < last.offsets[i + 1]; ++e)
      sources.insert(order[static_cast<std::size_t>(last.cols[e])]);
    EXPECT_EQ(static_cast<std::int64_t>(sources.size()), hub ? nodes : 1) << "with the self-loop";
    EXPECT_EQ(last.offsets[i + 1] - last.offsets[i], hub ? nodes : 1);
  }
}

}  // namespace
}  // namespace weft::test
