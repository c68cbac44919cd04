#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "graph/generate/datasets.hpp"
#include "graph/generate/powerlaw.hpp"
#include "graph/generate/properties.hpp"
#include "support/errors.hpp"
#include "weft/generate.hpp"

namespace weft {
namespace {

KnownDataset dataset(std::string_view name) {
  for (const KnownDataset& known : known_datasets())
    if (known.name == name) return known;
  ADD_FAILURE() << name << " is missing";
  return {};
}

TEST(generate_like, knows_every_dataset_of_the_five_tables) {
  for (const char* name : {"flickr",
                           "yelp",
                           "amazon-saint",
                           "corafull",
                           "aifb",
                           "mutag",
                           "bgs",
                           "am",
                           "reddit",
                           "arxiv",
                           "proteins",
                           "products",
                           "collab",
                           "ddi",
                           "ppa",
                           "coauthor-cs",
                           "amazon-photo",
                           "amazon-computer",
                           "coauthor-physics",
                           "cora",
                           "citeseer",
                           "pubmed",
                           "amazon-0312",
                           "wiki-talk",
                           "roadnet-ca",
                           "web-berkstan",
                           "as-skitter",
                           "cit-patents",
                           "sx-stackoverflow",
                           "kron-21",
                           "hollywood-09",
                           "livejournal",
                           "orkut",
                           "kmer-p1a",
                           "uk-2002",
                           "uk-2005",
                           "proteins-tu",
                           "dd",
                           "amazon-0505",
                           "yeast",
                           "ovcar",
                           "github",
                           "yeasth",
                           "reddit-threads",
                           "twitch",
                           "dbpedia"})
    dataset(name);
  EXPECT_EQ(known_datasets().size(), 46u);
}

TEST(generate_like, counts_are_those_of_the_named_table) {
  EXPECT_EQ(dataset("reddit").nodes, 232'965);
  EXPECT_EQ(dataset("reddit").edges, 114'848'857);
  EXPECT_EQ(dataset("arxiv").edges, 2'484'941);
  EXPECT_EQ(dataset("products").edges, 123'718'280);
  EXPECT_EQ(dataset("products").source, "GNNOne, Table 1");
  EXPECT_EQ(dataset("yeast").source, "HC-SpMM, Table II");
}

TEST(generate_like, names_are_sorted_distinct_and_lower_case) {
  std::string_view before;
  for (const KnownDataset& known : known_datasets()) {
    EXPECT_LT(before, known.name);
    before = known.name;
    EXPECT_TRUE(std::all_of(known.name.begin(), known.name.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    })) << known.name;
    EXPECT_FALSE(known.source.empty());
  }
}

TEST(generate_like, every_shape_can_be_generated_from_valid_values) {
  for (const KnownDataset& known : known_datasets()) {
    SCOPED_TRACE(known.name);
    const generator::StandIn shape = generator::stand_in(known.name, 1);
    if (const auto* powerlaw = std::get_if<PowerlawSpec>(&shape)) {
      EXPECT_NO_THROW(generator::resolved(*powerlaw));
      // Collections of small graphs: no edge leaves its block only if every row fits into it.
      if (powerlaw->inside == 1) {
        EXPECT_LT(powerlaw->max_degree, powerlaw->nodes / powerlaw->communities);
      }
    }
  }
}

TEST(generate_like, small_stand_ins_have_the_published_counts) {
  int generated = 0;
  for (const KnownDataset& known : known_datasets()) {
    if (known.edges >= 4'000'000) continue;
    SCOPED_TRACE(known.name);
    const Generated made = generate("like:" + std::string(known.name));
    EXPECT_EQ(made.graph.num_rows(), known.nodes);
    EXPECT_NEAR(static_cast<double>(made.graph.num_edges()), static_cast<double>(known.edges),
                0.03 * static_cast<double>(known.edges));
    test::expect_simple(made.graph);
    ++generated;
  }
  EXPECT_GE(generated, 18);
}

TEST(generate_like, arxiv_is_skewed_as_the_published_one_is) {
  const DegreeStats stats = generate("like:arxiv").graph.degree_stats();
  EXPECT_NEAR(static_cast<double>(stats.max), 13'000, 500);
  EXPECT_LT(stats.median, 10);
  EXPECT_NEAR(stats.mean, 14.67, 0.05);
}

TEST(generate_like, kron_is_an_rmat_of_its_scale) {
  const generator::StandIn shape = generator::stand_in("kron-21", 9);
  const auto* rmat = std::get_if<RmatSpec>(&shape);
  ASSERT_NE(rmat, nullptr);
  EXPECT_EQ(rmat->scale, 21);
  EXPECT_EQ(rmat->seed, 9u);
}

TEST(generate_like, says_that_it_is_a_stand_in) {
  EXPECT_EQ(generate("like:cora,seed=3").description,
            "synthetic stand-in for cora (published counts: 2,708 nodes, 10,858 edges, GNNOne, Table 1); degrees and "
            "communities are made up; like:cora,seed=3");
  EXPECT_EQ(test::fingerprint(generate("like:cora").graph), test::fingerprint(generate("like:cora,seed=1").graph));
}

TEST(generate_like, the_documentation_lists_every_dataset_with_its_counts) {
  const std::filesystem::path page = WEFT_GENERATORS_PAGE;
  std::ifstream file(page);
  ASSERT_TRUE(file) << page;
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    line.erase(std::remove(line.begin(), line.end(), ','), line.end());  // digit groups, and in "Paper, Table 1"
    if (line.starts_with("| `")) rows.push_back(line);
  }
  for (const KnownDataset& known : known_datasets()) {
    std::string source(known.source);
    source.erase(std::remove(source.begin(), source.end(), ','), source.end());
    const std::string start = "| `" + std::string(known.name) + "` | " + std::to_string(known.nodes) + " | " +
                              std::to_string(known.edges) + " | " + source + " |";
    EXPECT_EQ(std::count_if(rows.begin(), rows.end(), [&](const std::string& row) { return row.starts_with(start); }),
              1)
        << start;
  }
}

TEST(generate_like, refuses_unknown_names_and_options_and_lists_what_exists) {
  test::expect_refused([] { generate("like:nowhere"); }, "nowhere");
  test::expect_refused([] { generate("like:nowhere"); }, "web-berkstan");
  test::expect_refused([] { generate("like:"); }, "cora");
  test::expect_refused([] { generate("like:Cora"); }, "Cora");
  test::expect_refused([] { generate("like:cora,"); }, "seed");
  test::expect_refused([] { generate("like:cora,nodes=3"); }, "seed");
  test::expect_refused([] { generate("like:cora,seed=x"); }, "seed");
  test::expect_refused([] { generate("like:cora,seed=1,seed=2"); }, "seed");
  test::expect_refused([] { generate("like:seed=1"); }, "seed");
}

}  // namespace
}  // namespace weft
