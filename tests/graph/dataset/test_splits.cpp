// Splits drawn from a dataset's labelled nodes.
#include <algorithm>
#include <cmath>
#include <set>

#include "graph/dataset/tensor_of.hpp"
#include "graph/io/files.hpp"
#include "weft/context.hpp"
#include "weft/dataset.hpp"

namespace weft::test {
namespace {

using Nodes = std::vector<NodeId>;

Dataset labelled(const std::vector<std::int32_t>& labels) {
  const auto nodes = static_cast<std::int64_t>(labels.size());
  Dataset data;
  data.graph = Graph::from_edges(nodes, {});
  data.name = "sample";
  data.labels = io::tensor_of(labels, "labels");
  data.classes = io::classes_in(data.labels);
  return data;
}

/// Class node % classes.
Dataset in_turn(int nodes, int classes) {
  std::vector<std::int32_t> labels;
  for (int i = 0; i < nodes; ++i) labels.push_back(i % classes);
  return labelled(labels);
}

Nodes nodes_of(const Tensor& split) { return split ? list(split.span<NodeId>()) : Nodes{}; }

void expect_disjoint_and_labelled(const Dataset& data) {
  validate(data);  // each node once at most
  for (const Tensor* split : {&data.train, &data.val, &data.test}) {
    const Nodes nodes = nodes_of(*split);
    EXPECT_TRUE(std::ranges::is_sorted(nodes));
    for (const NodeId node : nodes) EXPECT_GE(data.labels.span<std::int32_t>()[static_cast<std::size_t>(node)], 0);
  }
}

void expect_refused(const std::function<void()>& call, const std::vector<std::string>& parts) {
  expect_file_error(call, "", ErrorCode::invalid_argument, parts);
}

TEST(splits, are_written_as_a_method_and_three_numbers) {
  EXPECT_EQ(to_string(parse_split("random:0.7,0.1,0.2")), "random:0.7,0.1,0.2");
  EXPECT_EQ(to_string(parse_split("stratified:5,30,40")), "stratified:5,30,40");
  EXPECT_EQ(to_string(parse_split("random")), "random:0.6,0.2,0.2");
  EXPECT_EQ(to_string(parse_split("Random:0.5,0.2,0.2")), "random:0.5,0.2,0.2") << "as all names, in any case";
  EXPECT_EQ(to_string(parse_split("stratified")), "stratified:20,500,1000");
}

TEST(splits, that_cannot_be_meant_are_refused_with_the_two_forms) {
  for (const char* text :
       {"random:", "random:0.6", "random:0.6,0.2", "random:0.6,0.2,0.2,0.1", "random:a,b,c", "random:0.6,0.2,0.2 ",
        "random:0.6;0.2;0.2", "stratified:20,500", "stratified:2.5,5,5", "stratified:1,2,99999999999999999999"})
    expect_refused([&] { parse_split(text); },
                   {std::string("'") + text + "'", "random:TRAIN,VAL,TEST", "stratified:TRAIN_PER_CLASS,VAL,TEST"});
  for (const char* text : {"", "kfold:5", ":1,2,3"})
    expect_refused([&] { parse_split(text); }, {"random", "stratified"});
}

TEST(splits, with_numbers_out_of_range_are_refused) {
  expect_refused([] { parse_split("random:0.8,0.2,0.2"); }, {"random:0.8,0.2,0.2", "1.2", "at most 1"});
  expect_refused([] { parse_split("random:1.5,0,0"); }, {"1.5", "0 to 1"});
  expect_refused([] { parse_split("random:0.5,-0.1,0.2"); }, {"-0.1", "0 to 1"});
  expect_refused([] { parse_split("random:nan,0.1,0.2"); }, {"nan", "0 to 1"});
  expect_refused([] { parse_split("random:0,0.5,0.5"); }, {"nothing to train on"});
  expect_refused([] { parse_split("stratified:0,5,5"); }, {"nothing to train on"});
  expect_refused([] { parse_split("stratified:-1,5,5"); }, {"-1", "0 to"});
  expect_refused([] { parse_split("stratified:1,5,3000000000"); }, {"3000000000", "0 to"});
}

TEST(random_splits, have_the_fractions_asked_for_and_every_labelled_node) {
  Dataset data = in_turn(100, 3);
  split_nodes(data, parse_split("random:0.6,0.2,0.2"), 1);
  expect_disjoint_and_labelled(data);
  EXPECT_EQ(data.train.shape().rows, 60);
  EXPECT_EQ(data.val.shape().rows, 20);
  EXPECT_EQ(data.test.shape().rows, 20);
}

TEST(random_splits, whose_fractions_add_up_to_1_leave_no_node_out) {
  for (const int nodes : {3, 7, 10, 11, 97, 1001}) {
    Dataset data = in_turn(nodes, 1);
    split_nodes(data, parse_split("random:0.4,0.3,0.3"), 0);
    EXPECT_EQ(data.train.shape().rows + data.val.shape().rows + data.test.shape().rows, nodes);
  }
}

TEST(random_splits, may_leave_nodes_out_and_be_without_a_part) {
  Dataset data = in_turn(50, 2);
  split_nodes(data, parse_split("random:0.5,0,0.1"), 0);
  EXPECT_EQ(data.train.shape().rows, 25);
  EXPECT_FALSE(data.val);
  EXPECT_EQ(data.test.shape().rows, 5);
}

TEST(random_splits, draw_no_node_without_a_label) {
  Dataset data = labelled({0, -1, 1, -1, -1, 2, 0, -1});
  split_nodes(data, parse_split("random:0.5,0.25,0.25"), 3);
  expect_disjoint_and_labelled(data);
  EXPECT_EQ(data.train.shape().rows, 2);
  EXPECT_EQ(data.val.shape().rows, 1);
  EXPECT_EQ(data.test.shape().rows, 1);
}

TEST(random_splits, of_nodes_with_several_labels_draw_those_of_which_any_is_known) {
  Dataset data = in_turn(4, 1);
  const float nan = std::nanf("");
  data.labels = Tensor::from(std::vector<float>{0, 1, nan, nan, 1, nan, 0, 0}, Shape(4, 2));
  data.classes = 2;
  split_nodes(data, parse_split("random:1,0,0"), 0);
  EXPECT_EQ(nodes_of(data.train), (Nodes{0, 2, 3}));
  expect_refused([&] { split_nodes(data, parse_split("stratified:1,1,1"), 0); }, {"sample", "several", "at random"});
}

TEST(random_splits, are_the_same_for_a_seed_and_others_for_another) {
  std::set<Nodes> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Dataset data = in_turn(200, 4), again = in_turn(200, 4);
    split_nodes(data, parse_split("random"), seed);
    split_nodes(again, parse_split("random"), seed);
    EXPECT_EQ(nodes_of(data.train), nodes_of(again.train));
    EXPECT_EQ(nodes_of(data.test), nodes_of(again.test));
    seen.insert(nodes_of(data.train));
  }
  EXPECT_EQ(seen.size(), 20u);
}

TEST(random_splits, draw_these_nodes_on_every_machine) {
  Dataset data = in_turn(20, 2);
  split_nodes(data, parse_split("random:0.3,0.2,0.2"), 7);
  EXPECT_EQ(nodes_of(data.train), (Nodes{0, 3, 9, 11, 13, 15}));
  EXPECT_EQ(nodes_of(data.val), (Nodes{4, 6, 16, 19}));
  EXPECT_EQ(nodes_of(data.test), (Nodes{1, 5, 10, 17}));
}

TEST(random_splits, draw_every_node_about_equally_often) {
  std::vector<int> drawn(40);
  constexpr int draws = 2000;
  for (std::uint64_t seed = 0; seed < draws; ++seed) {
    Dataset data = in_turn(40, 2);
    split_nodes(data, parse_split("random:0.25,0,0"), seed);
    for (const NodeId node : nodes_of(data.train)) ++drawn[static_cast<std::size_t>(node)];
  }
  // Binomial of mean 500 and deviation 19.4: 6 deviations either way.
  for (const int times : drawn) EXPECT_NEAR(times, draws / 4, 117);
}

TEST(stratified_splits, take_as_many_nodes_of_each_class_and_val_and_test_from_the_rest) {
  Dataset data = in_turn(300, 3);
  split_nodes(data, parse_split("stratified:20,50,100"), 2);
  expect_disjoint_and_labelled(data);
  std::vector<int> of_class(3);
  for (const NodeId node : nodes_of(data.train)) ++of_class[static_cast<std::size_t>(node % 3)];
  EXPECT_EQ(of_class, (std::vector<int>{20, 20, 20}));
  EXPECT_EQ(data.val.shape().rows, 50);
  EXPECT_EQ(data.test.shape().rows, 100);
}

TEST(stratified_splits, pass_over_classes_that_no_node_has) {
  Dataset data = labelled({0, 0, 0, 3, 3, 3});
  split_nodes(data, parse_split("stratified:1,2,2"), 0);
  EXPECT_EQ(data.classes, 4);
  EXPECT_EQ(data.train.shape().rows, 2);
}

TEST(stratified_splits, name_the_class_that_has_too_few_nodes) {
  Dataset data = labelled({0, 0, 0, 1, 1, 2, 2, 2});
  expect_refused([&] { split_nodes(data, parse_split("stratified:3,0,0"), 0); },
                 {"stratified:3,0,0", "class 1", "sample", "only 2"});
  EXPECT_FALSE(data.train);
}

TEST(stratified_splits, say_how_many_nodes_are_left_for_val_and_test) {
  Dataset data = in_turn(30, 3);
  expect_refused([&] { split_nodes(data, parse_split("stratified:5,10,6"), 0); }, {"16 nodes", "15 of the 30"});
  split_nodes(data, parse_split("stratified:5,10,5"), 0);
  EXPECT_EQ(data.test.shape().rows, 5);
}

TEST(splits, replace_those_that_a_dataset_has) {
  Dataset data = open_dataset("karate");
  split_nodes(data, parse_split("stratified:4,6,20"), 0);
  validate(data);
  EXPECT_EQ(data.train.shape().rows, 8);
  EXPECT_EQ(data.val.shape().rows, 6);
  EXPECT_EQ(data.test.shape().rows, 20);
}

TEST(splits, need_labels) {
  Dataset data = in_turn(5, 1);
  data.labels = {};
  expect_refused([&] { split_nodes(data, {}, 0); }, {"sample", "no labels"});
  data = labelled({-1, -1});
  expect_refused([&] { split_nodes(data, {}, 0); }, {"sample", "no node", "known label"});
}

TEST(splits, that_a_small_dataset_cannot_have_name_the_part_that_stays_empty) {
  Dataset data = in_turn(4, 1);
  expect_refused([&] { split_nodes(data, parse_split("random:0.9,0.05,0.05"), 0); }, {"4 labelled", "none for val"});
  expect_refused([&] { split_nodes(data, parse_split("random:0.1,0.5,0.4"), 0); }, {"none for train"});
}

TEST(splits, that_nobody_parsed_are_checked_all_the_same) {
  Dataset data = in_turn(4, 1);
  SplitSpec split;
  split.train = 2;
  expect_refused([&] { split_nodes(data, split, 0); }, {"fraction 2"});
  split.method = static_cast<SplitSpec::Method>(9);
  expect_refused([&] { split_nodes(data, split, 0); }, {"method is 9"});
}

}  // namespace
}  // namespace weft::test
