#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "graph/dataset/builtin.hpp"
#include "graph/generate/properties.hpp"
#include "graph/io/files.hpp"
#include "support/errors.hpp"
#include "weft/dataset.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

std::vector<std::int32_t> numbers(const Tensor& tensor) { return list(tensor.span<std::int32_t>()); }

/// FNV-1a over everything a dataset has.
std::uint64_t fingerprint_of(const Dataset& data) {
  std::uint64_t hash = fingerprint(data.graph);
  const auto add = [&](auto values) {
    for (const auto value : values) hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x100000001b3;
  };
  add(data.sparse_features.offsets.span<std::int64_t>());
  for (const Tensor* each : {&data.sparse_features.columns, &data.labels, &data.train, &data.val, &data.test})
    add(each->span<std::int32_t>());
  return hash;
}

TEST(karate, is_the_club_zachary_watched) {
  const Dataset data = open_dataset("karate");
  ASSERT_NO_THROW(validate(data));
  EXPECT_EQ(data.num_nodes(), 34);
  EXPECT_EQ(data.graph.num_edges(), 156);
  expect_simple(data.graph);
  EXPECT_TRUE(is_symmetric(data.graph));
  const std::vector<std::int64_t> degrees = in_degrees(data.graph);
  EXPECT_EQ(degrees, (std::vector<std::int64_t>{16, 9, 10, 6, 3, 4, 4, 4, 5, 2, 3, 1, 2, 5, 2, 2,  2,
                                                2,  2, 3,  2, 2, 2, 5, 3, 3, 2, 4, 3, 4, 4, 6, 12, 17}));
  EXPECT_EQ(data.format, "built in");
  EXPECT_EQ(data.name, "karate");
  EXPECT_NE(data.source.find("Zachary 1977"), data.source.npos);
}

TEST(karate, has_as_many_triangles_as_the_published_graph) {
  const Graph graph = open_graph("karate").graph;
  const GraphView g = graph.view();
  int corners = 0;
  for (std::int64_t v = 0; v < g.num_rows; ++v)
    for (EdgeId k = g.offsets[v]; k < g.offsets[v + 1]; ++k)
      for (EdgeId l = g.offsets[v]; l < k; ++l)
        corners += std::binary_search(g.cols + g.offsets[g.cols[k]], g.cols + g.offsets[g.cols[k] + 1], g.cols[l]);
  EXPECT_EQ(corners, 3 * 45);
}

TEST(karate, labels_are_the_two_clubs_after_the_split) {
  const Dataset data = open_dataset("karate");
  EXPECT_EQ(data.classes, 2);
  std::vector<NodeId> with_mr_hi;
  for (NodeId v = 0; v < 34; ++v)
    if (numbers(data.labels)[static_cast<std::size_t>(v)] == 0) with_mr_hi.push_back(v);
  EXPECT_EQ(with_mr_hi, (std::vector<NodeId>{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 16, 17, 19, 21}));
  EXPECT_DOUBLE_EQ(homophily(data), 67.0 / 78.0);
}

TEST(karate, is_trained_on_its_leaders_and_says_so) {
  const Dataset data = open_dataset("karate");
  EXPECT_EQ(numbers(data.train), (std::vector<std::int32_t>{0, 33}));
  EXPECT_FALSE(data.val);
  std::vector<std::int32_t> others(32);
  std::iota(others.begin(), others.end(), 1);
  EXPECT_EQ(numbers(data.test), others);
  EXPECT_NE(data.note.find("nodes 0 and 33"), data.note.npos);
  EXPECT_FALSE(data.has_features());
}

TEST(karate, takes_no_options) {
  EXPECT_EQ(open_dataset("karate:").num_nodes(), 34);
  expect_refused([] { open_dataset("karate:seed=1"); }, "no options");
}

TEST(citations, are_a_simple_symmetric_graph_of_the_size_asked_for) {
  const Dataset data = open_dataset("citations");
  ASSERT_NO_THROW(validate(data));
  expect_simple(data.graph);
  EXPECT_TRUE(is_symmetric(data.graph));
  EXPECT_EQ(data.num_nodes(), 3'000);
  EXPECT_EQ(data.classes, 6);
  EXPECT_EQ(data.num_features(), 1'000);
  EXPECT_NEAR(static_cast<double>(data.graph.num_edges()), 12'000, 60);
  EXPECT_EQ(data.graph.degree_stats().empty, 0);
  EXPECT_NEAR(homophily(data), 0.8, 0.02);
  EXPECT_NEAR(homophily(open_dataset("citations:classes=2,nodes=20000")), 0.8, 0.01);
}

TEST(citations, stay_within_their_field_as_often_as_asked_for) {
  EXPECT_NEAR(homophily(open_dataset("citations:nodes=20000,own=30")), 0.3, 0.01);
  EXPECT_EQ(homophily(open_dataset("citations:own=100")), 1);
  EXPECT_EQ(homophily(open_dataset("citations:own=0,skew=2")), 0);
}

/// The mean degree of some nodes.
double mean_degree(const Graph& graph, const Tensor& nodes) {
  const std::vector<std::int64_t> degrees = in_degrees(graph);
  double sum = 0;
  for (const std::int32_t v : nodes.span<std::int32_t>())
    sum += static_cast<double>(degrees[static_cast<std::size_t>(v)]);
  return sum / static_cast<double>(nodes.shape().rows);
}

TEST(citations, of_skewed_degrees_have_hubs_in_every_split_and_many_papers_below_the_mean) {
  const Dataset data = open_dataset("citations:nodes=20000,classes=7,degree=40,own=30,skew=2");  // 7 does not divide it
  ASSERT_NO_THROW(validate(data));
  expect_simple(data.graph);
  EXPECT_TRUE(is_symmetric(data.graph));
  std::vector<std::int64_t> degrees = in_degrees(data.graph);
  std::ranges::sort(degrees);
  const double mean = static_cast<double>(data.graph.num_edges()) / 20'000;
  EXPECT_NEAR(mean, 40, 6);  // hubs lose citations that were drawn twice
  EXPECT_GT(static_cast<double>(degrees.back()), 30 * mean);
  // A third of the mean is the expectation of the last ranks, 1 / (skew + 1), and 0.53 of it that of the middle one.
  EXPECT_NEAR(static_cast<double>(degrees[10'000]), 0.53 * 40, 2);
  EXPECT_GT(degrees.front(), 0);
  for (const Tensor* split : {&data.val, &data.test}) {
    EXPECT_GT(mean_degree(data.graph, *split), 0.7 * mean);
    EXPECT_LT(mean_degree(data.graph, *split), 1.5 * mean);
  }
}

TEST(citations, have_bags_of_words_without_values) {
  const Dataset data = open_dataset("citations:words=200");
  EXPECT_FALSE(data.features);
  EXPECT_FALSE(data.sparse_features.values);
  EXPECT_EQ(data.sparse_features.cols, 200);
  const auto offsets = data.sparse_features.offsets.span<std::int64_t>();
  std::int64_t fewest = 1'000, most = 0;
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    fewest = std::min(fewest, offsets[v + 1] - offsets[v]);
    most = std::max(most, offsets[v + 1] - offsets[v]);
  }
  EXPECT_GE(fewest, 8);  // of twelve drawn some are the same
  EXPECT_EQ(most, 28);
  EXPECT_NEAR(static_cast<double>(offsets.back()) / 3'000, 19, 1);
}

/// How many of `nodes` are in each class.
std::vector<int> classes_of(const Dataset& data, const Tensor& nodes) {
  std::vector<int> counts(static_cast<std::size_t>(data.classes));
  for (const std::int32_t v : nodes.span<std::int32_t>())
    ++counts[static_cast<std::size_t>(data.labels.span<std::int32_t>()[static_cast<std::size_t>(v)])];
  return counts;
}

TEST(citations, have_planetoids_splits) {
  const Dataset data = open_dataset("citations:classes=7");
  EXPECT_EQ(classes_of(data, data.train), std::vector<int>(7, 20));
  EXPECT_EQ(data.val.shape().rows, 500);
  EXPECT_EQ(data.test.shape().rows, 1'000);
  const std::vector<std::int32_t> train = numbers(data.train);
  EXPECT_TRUE(std::ranges::is_sorted(train));
  EXPECT_GT(train.back(), 2'500);  // spread over all ids
}

TEST(citations, split_up_all_of_a_small_graph_in_about_the_same_proportions) {
  const Dataset data = open_dataset("citations:nodes=300");
  EXPECT_EQ(classes_of(data, data.train), std::vector<int>(6, 3));
  EXPECT_EQ(data.val.shape().rows, 94);
  EXPECT_EQ(data.test.shape().rows, 188);
  const Dataset least = open_dataset("citations:nodes=8,classes=2,words=2,degree=1");
  EXPECT_EQ(classes_of(least, least.train), std::vector<int>(2, 1));
  EXPECT_EQ(least.val.shape().rows, 2);
  EXPECT_EQ(least.test.shape().rows, 4);
}

using Rows = std::vector<std::vector<double>>;

Rows words_of(const Dataset& data) {
  Rows rows(static_cast<std::size_t>(data.num_nodes()),
            std::vector<double>(static_cast<std::size_t>(data.num_features())));
  const auto offsets = data.sparse_features.offsets.span<std::int64_t>();
  const auto columns = data.sparse_features.columns.span<std::int32_t>();
  for (std::size_t v = 0; v < rows.size(); ++v)
    for (auto k = static_cast<std::size_t>(offsets[v]); k < static_cast<std::size_t>(offsets[v + 1]); ++k)
      rows[v][static_cast<std::size_t>(columns[k])] = 1;
  return rows;
}

/// Each row becomes the mean of its own and its neighbours'.
Rows averaged(const Graph& graph, const Rows& rows) {
  const GraphView g = graph.view();
  Rows result = rows;
  for (std::size_t v = 0; v < rows.size(); ++v) {
    for (EdgeId k = g.offsets[v]; k < g.offsets[v + 1]; ++k)
      for (std::size_t j = 0; j < result[v].size(); ++j) result[v][j] += rows[static_cast<std::size_t>(g.cols[k])][j];
    for (double& value : result[v]) value /= static_cast<double>(g.offsets[v + 1] - g.offsets[v] + 1);
  }
  return result;
}

/// Share of the test nodes whose class's mean over the training nodes is the nearest.
double accuracy(const Dataset& data, const Rows& rows) {
  const auto label = data.labels.span<std::int32_t>();
  Rows means(static_cast<std::size_t>(data.classes), std::vector<double>(rows.front().size()));
  const std::vector<int> sizes = classes_of(data, data.train);
  for (const std::int32_t v : data.train.span<std::int32_t>()) {
    const auto c = static_cast<std::size_t>(label[static_cast<std::size_t>(v)]);
    for (std::size_t j = 0; j < means[c].size(); ++j) means[c][j] += rows[static_cast<std::size_t>(v)][j] / sizes[c];
  }
  int right = 0;
  for (const std::int32_t v : data.test.span<std::int32_t>()) {
    const std::vector<double>& row = rows[static_cast<std::size_t>(v)];
    std::vector<double> distances;
    for (const std::vector<double>& mean : means) {
      double sum = 0;
      for (std::size_t j = 0; j < row.size(); ++j) sum += (row[j] - mean[j]) * (row[j] - mean[j]);
      distances.push_back(sum);
    }
    right += std::ranges::min_element(distances) - distances.begin() == label[static_cast<std::size_t>(v)];
  }
  return right / static_cast<double>(data.test.shape().rows);
}

TEST(citations, tell_a_papers_class_far_better_through_its_neighbours) {
  for (const char* seed : {"1", "2", "3"}) {
    SCOPED_TRACE(seed);
    const Dataset data = open_dataset(std::string("citations:seed=") + seed);
    const Rows words = words_of(data);
    const double alone = accuracy(data, words);
    const double together = accuracy(data, averaged(data.graph, averaged(data.graph, words)));
    EXPECT_GT(alone, 0.25);  // 1/6 by chance: words alone are worth something
    EXPECT_GT(together, 0.75);
    EXPECT_GE(together - alone, 0.12) << alone << " against " << together;
  }
}

TEST(citations, are_the_same_for_any_number_of_threads) {
  const std::uint64_t wanted = fingerprint_of(open_dataset("citations:nodes=20000"));
  const std::uint64_t skewed = fingerprint_of(open_dataset("citations:nodes=20000,skew=1"));
  EXPECT_NE(wanted, skewed);
  for (const int threads : {1, 2, 7}) {
    const WithThreads set(threads);
    EXPECT_EQ(fingerprint_of(open_dataset("citations:nodes=20000")), wanted) << threads;
    EXPECT_EQ(fingerprint_of(open_dataset("citations:nodes=20000,skew=1")), skewed) << threads;
  }
}

TEST(citations, never_change_for_a_seed) {
  EXPECT_EQ(fingerprint_of(open_dataset("citations")), 10182402503286280222u);
  EXPECT_EQ(fingerprint_of(open_dataset("citations:nodes=500,classes=3,words=80,degree=2.5,seed=42")),
            17221189834249500984u);
  EXPECT_EQ(fingerprint_of(open_dataset("citations:nodes=2000,degree=20,own=25,skew=2")), 3069076170780654153u);
  EXPECT_NE(fingerprint_of(open_dataset("citations:seed=1")), fingerprint_of(open_dataset("citations:seed=2")));
}

TEST(citations, spell_what_made_them) {
  const Dataset data = open_dataset("citations:seed=7,nodes=1e3");
  EXPECT_EQ(data.source, "citations:nodes=1000,classes=6,words=1000,degree=4,own=80,skew=0,seed=7");
  EXPECT_EQ(data.name, "citations:seed=7,nodes=1e3");
  EXPECT_EQ(data.format, "built in");
  EXPECT_NE(data.note.find("synthetic"), data.note.npos);
  EXPECT_NE(data.note.find(data.source), data.note.npos);
  EXPECT_EQ(fingerprint_of(open_dataset(data.source)), fingerprint_of(data));
}

TEST(citations, refuse_options_as_generators_do) {
  for (const char* given : {"nodes", "nodes=1e3,", "scale=4", "Nodes=9", ","})
    expect_refused([=] { open_dataset("citations:" + std::string(given)); }, "nodes");
  for (const char* given : {"nodes=", "nodes=7", "nodes=-1", "nodes=2147483648", "nodes=x", "nodes=99,nodes=99"})
    expect_refused([=] { open_dataset("citations:" + std::string(given)); }, "nodes");
  for (const char* given : {"classes=1", "classes=0", "classes=751", "classes=nan"})
    expect_refused([=] { open_dataset("citations:" + std::string(given)); }, "classes");
  for (const char* given : {"words=5", "words=-9", "words=2147483648"})
    expect_refused([=] { open_dataset("citations:" + std::string(given)); }, "words");
  for (const char* given : {"degree=-1", "degree=nan", "degree=1001"})
    expect_refused([=] { open_dataset("citations:" + std::string(given)); }, "degree");
  for (const char* given : {"own=101", "own=-1", "own=0.5"})
    expect_refused([=] { open_dataset("citations:" + std::string(given)); }, "own");
  for (const char* given : {"skew=9", "skew=-1", "skew=1.5"})
    expect_refused([=] { open_dataset("citations:" + std::string(given)); }, "skew");
  expect_refused([] { open_dataset("citations:seed=-1"); }, "seed");
}

TEST(builtin, graphs_alone_leave_out_the_rest) {
  for (const std::string name : {"karate", "citations"}) {
    ReadOptions options;
    options.graph_only = true;
    const Dataset data = open_dataset(name, options);
    EXPECT_FALSE(data.has_more_than_graph()) << name;
    EXPECT_EQ(fingerprint(data.graph), fingerprint(open_dataset(name).graph)) << name;
  }
}

TEST(builtin, is_recognised_by_its_name) {
  for (const char* text : {"karate", "karate:", "citations", "citations:nodes=9", "citations:nonsense"})
    EXPECT_TRUE(is_builtin_dataset(text)) << text;
  for (const char* text : {"", "karat", "karate.mtx", "./karate", "citations/", "cora", ":", "grid:side=3"})
    EXPECT_FALSE(is_builtin_dataset(text)) << text;
  expect_refused([] { builtin::make("cora"); }, "karate");
}

TEST(builtin, forms_can_be_listed_and_opened) {
  std::vector<std::string> forms;
  for (const BuiltinDataset& form : builtin_datasets()) {
    EXPECT_TRUE(is_builtin_dataset(form.form));
    EXPECT_FALSE(is_generator_spec(form.form));
    EXPECT_FALSE(form.description.empty());
    EXPECT_EQ(fingerprint(open_graph(form.form).graph), fingerprint(open_graph(std::string(form.name)).graph));
    forms.push_back(form.form);
  }
  EXPECT_EQ(forms, (std::vector<std::string>{
                       "karate", "citations:nodes=3000,classes=6,words=1000,degree=4,own=80,skew=0,seed=1"}));
}

TEST(builtin, is_kept_whole_by_a_weft_file) {
  const TempFolder folder;
  const Dataset data = open_dataset("citations:nodes=200");
  write_dataset(folder / "c.weft", data);
  const Dataset back = read_dataset(folder / "c.weft");
  EXPECT_EQ(fingerprint_of(back), fingerprint_of(data));
  EXPECT_EQ(back.note, data.note);
}

}  // namespace
}  // namespace weft::test
