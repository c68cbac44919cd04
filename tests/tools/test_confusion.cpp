// Which classes a model takes for which others, counted and shown.
#include "confusion.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "graph/dataset/tensor_of.hpp"
#include "markup.hpp"

namespace weft::test {
namespace {

using namespace weft::tool;

Dataset labelled(const std::vector<std::int32_t>& labels, std::int64_t classes) {
  Dataset dataset;
  const auto nodes = static_cast<std::int64_t>(labels.size());
  dataset.classes = classes;
  dataset.labels = Tensor::empty(Shape(nodes), Dtype::i32, "labels");
  dataset.test = Tensor::empty(Shape(nodes), Dtype::i32, "test");
  for (std::size_t i = 0; i < labels.size(); ++i) {
    dataset.labels.span<std::int32_t>()[i] = labels[i];
    dataset.test.span<NodeId>()[i] = static_cast<NodeId>(i);
  }
  return dataset;
}

Predictions predicted(const std::vector<std::int32_t>& classes) {
  Predictions p;
  p.classes = Tensor::empty(Shape(static_cast<std::int64_t>(classes.size())), Dtype::i32, "classes");
  std::copy(classes.begin(), classes.end(), p.classes.span<std::int32_t>().begin());
  return p;
}

TEST(confusion, counts_labels_and_predictions_of_nodes_with_a_label) {
  const Confusion c = confusion_of(labelled({0, 0, 1, 2, -1, 2}, 3), predicted({0, 1, 1, 0, 2, 2}));
  EXPECT_EQ(c.count(0, 0), 1);
  EXPECT_EQ(c.count(0, 1), 1);
  EXPECT_EQ(c.count(1, 1), 1);
  EXPECT_EQ(c.count(2, 0), 1);
  EXPECT_EQ(c.count(2, 2), 1);
  EXPECT_EQ(c.counts.size(), 5u);
  const std::string html = confusion_html(c);
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_EQ(count_of(html, "<tr>"), 4u);
  EXPECT_EQ(count_of(html, "<td>0.500</td>"), 2u) << html;
  EXPECT_EQ(confusion_html(confusion_of(labelled({-1}, 3), predicted({0}))), "");
}

TEST(confusion, calls_classes_by_their_names) {
  Dataset dataset = labelled({0, 1, 1}, 2);
  dataset.class_names = io::names_of(std::vector<std::string>{"a<b", "c"});
  const std::string html = confusion_html(confusion_of(dataset, predicted({0, 0, 1})));
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_NE(html.find("<th>label</th><th>a&lt;b</th><th>c</th>"), std::string::npos) << html;
  EXPECT_NE(html.find("<tr><th>c</th>"), std::string::npos) << html;
}

TEST(confusion, of_many_classes_shows_the_worst_pairs) {
  const Confusion c = confusion_of(labelled({40, 40, 40, 7, 7, 3}, 41), predicted({12, 12, 40, 8, 7, 3}));
  const std::string html = confusion_html(c);
  EXPECT_EQ(unbalanced(html), "");
  EXPECT_NE(html.find("41 classes"), std::string::npos);
  EXPECT_EQ(count_of(html, "<tr>"), 3u) << html;
  EXPECT_LT(html.find("<td>40</td><td>12</td><td>2</td><td>0.667</td>"), html.find("<td>7</td><td>8</td><td>1</td>"));
}

}  // namespace
}  // namespace weft::test
