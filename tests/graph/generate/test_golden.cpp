// Small instances whose fingerprints are committed: a change here is a change of every benchmark
// graph, and a difference between two machines is a broken promise.
#include <gtest/gtest.h>

#include <string_view>

#include "graph/generate/properties.hpp"
#include "weft/generate.hpp"

namespace weft {
namespace {

struct Golden {
  std::string_view spec;
  std::int64_t nodes, edges;
  std::uint64_t fingerprint;
};

constexpr Golden golden[] = {
    {"rmat:scale=10,edge_factor=8,seed=1", 1'024, 6'670, 0xdba4c9a64b2355a1},
    {"rmat:scale=13,edge_factor=16,a=0.45,b=0.25,c=0.15,seed=42", 8'192, 128'999, 0x7c2a5cea7a342e49},
    {"powerlaw:nodes=5000,edges=60000,exponent=2.1,seed=1", 5'000, 60'000, 0xf434a24acc453501},
    {"powerlaw:nodes=20000,edges=150000,exponent=1.8,max_degree=900,communities=30,inside=0.8,shuffled=0,seed=5",
     20'000, 150'000, 0x484e4bd71a7e9b5a},
    {"powerlaw:nodes=3000,edges=4000,exponent=2.7,communities=1500,inside=1,seed=9", 3'000, 4'000, 0x229d6dddff73158f},
    {"powerlaw:nodes=400,edges=120000,exponent=3,communities=3,inside=0.5,seed=2", 400, 120'000, 0x6dd468c82879dbf2},
    {"grid:side=37", 1'369, 5'328, 0xf65171648dbc04c9},
    {"molecules:nodes=10000,seed=3", 10'000, 20'872, 0x674087c42bf5c5bf},
    {"uniform:nodes=3000,edges=50000,seed=8", 3'000, 50'000, 0x252a825ed0bc2891},
    {"uniform:nodes=60,edges=3500,seed=8", 60, 3'500, 0x84c48eef4cd3ee8c},
    {"star:nodes=1000", 1'000, 999, 0xb1ac3eaa26fd7175},
    {"like:cora", 2'708, 10'858, 0x7032a2bfb69035af},
    {"like:pubmed,seed=2", 19'717, 88'648, 0x51e1bf4b2954a7ca},
    {"like:proteins-tu", 43'471, 162'088, 0x8fd7377466149159},
    {"like:aifb", 7'262, 44'298, 0x429eded4b1816dda},
    {"like:arxiv", 169'343, 2'484'941, 0xf70722beef6adb1c},
};

TEST(generate_golden, every_machine_and_thread_count_makes_the_committed_graphs) {
  for (const Golden& wanted : golden) {
    for (int threads = 1; threads <= 5; ++threads) {
      SCOPED_TRACE(std::string(wanted.spec) + " on " + std::to_string(threads) + " threads");
      const test::WithThreads scope(threads);
      const Graph graph = generate(wanted.spec).graph;
      EXPECT_EQ(graph.num_rows(), wanted.nodes);
      EXPECT_EQ(graph.num_edges(), wanted.edges);
      EXPECT_EQ(test::fingerprint(graph), wanted.fingerprint) << std::hex << "0x" << test::fingerprint(graph);
    }
  }
}

TEST(generate_golden, another_seed_makes_another_graph) {
  for (const std::string kind :
       {"rmat:scale=8", "powerlaw:nodes=500,edges=3000", "molecules:nodes=500", "uniform:nodes=500,edges=3000"})
    EXPECT_NE(test::fingerprint(generate(kind + ",seed=1").graph), test::fingerprint(generate(kind + ",seed=2").graph))
        << kind;
  EXPECT_NE(test::fingerprint(generate("like:cora,seed=1").graph),
            test::fingerprint(generate("like:cora,seed=2").graph));
}

}  // namespace
}  // namespace weft
