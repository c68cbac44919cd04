// Names of classes: kept with a model, and what labels are compared with predictions by.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/dataset/tensor_of.hpp"
#include "graph/io/files.hpp"
#include "nn/class_names.hpp"
#include "nn/label_map.hpp"
#include "nn/network_case.hpp"
#include "nn/safetensors.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

using Texts = std::vector<std::string>;

NodeNames names(const Texts& texts) { return io::names_of(texts); }

Texts texts_of(const NodeNames& names) {
  Texts texts;
  for (std::int64_t i = 0; i < names.count(); ++i) texts.emplace_back(names.at(i));
  return texts;
}

TEST(class_names, of_any_bytes_come_back_from_their_text) {
  for (const Texts& texts :
       {Texts{"theory"}, Texts{""}, Texts{"", ""}, Texts{"a b", "M\xc3\xbcller", "x\\ny", "\n\r\t"},
        Texts{"\xff\x80", std::string("a\0b", 3), "\x7f", "\\x41"}}) {
    const std::string text = nn::class_names_to_text(names(texts));
    EXPECT_TRUE(std::ranges::none_of(text, [](char c) { return c == '\0' || c == '\r' || c == '\x7f'; })) << text;
    EXPECT_EQ(texts_of(nn::class_names_from_text(text, static_cast<std::int64_t>(texts.size()))), texts);
  }
  EXPECT_EQ(nn::class_names_to_text(names({"M\xc3\xbcller", "b"})), "M\xc3\xbcller\nb") << "other tools split lines";
}

class named_models : public ::testing::Test {
 protected:
  named_models() {
    data_ = open_dataset("citations:nodes=240,classes=3,words=60,seed=2");
    data_.class_names = names({"theory", "systems", "networks"});
    spec_.inputs = data_.num_features();
    spec_.classes = 3;
    spec_.dropout = 0;
    options_.epochs = 60;
    options_.lr = 0.05;
    options_.weight_decay = 0;
  }
  Model trained() { return train(context_, data_, make_model(spec_, 1), options_).model; }
  double accuracy_of(const Dataset& data, const Model& model) { return infer(context_, data, model).accuracy; }
  /// The labels with class i as class to[i].
  void renumber(const std::vector<std::int32_t>& to) {
    for (std::int32_t& label : data_.labels.span<std::int32_t>())
      if (label >= 0) label = to[static_cast<std::size_t>(label)];
  }

  TempFolder folder_;
  std::string file_ = folder_ / "model.safetensors";
  Context context_ = Context::cpu(1);
  Dataset data_;
  ModelSpec spec_;
  TrainOptions options_;
};

TEST_F(named_models, have_the_names_of_their_data_and_keep_them_in_files) {
  const Model model = trained();
  EXPECT_EQ(texts_of(model.class_names), (Texts{"theory", "systems", "networks"}));
  EXPECT_EQ(texts_of(model.clone().class_names), texts_of(model.class_names));
  save_model(file_, model);
  EXPECT_EQ(texts_of(load_model(file_).class_names), texts_of(model.class_names));
  nn::TensorFile file = nn::read_tensors(file_);
  EXPECT_EQ(file.metadata["weft.class_names"], "theory\nsystems\nnetworks");
  file.metadata.erase("weft.class_names");
  nn::write_tensors(file_, file);
  EXPECT_FALSE(load_model(file_).class_names) << "files from before there were names";
}

TEST_F(named_models, are_refused_where_the_names_are_not_one_for_each_output) {
  save_model(file_, trained());
  const auto refused = [&](const std::string& text, const char* part) {
    SCOPED_TRACE(part);
    nn::TensorFile file = nn::read_tensors(file_);
    file.metadata["weft.class_names"] = text;
    nn::write_tensors(folder_ / "bad", file);
    expect_file_error([&] { load_model(folder_ / "bad"); }, folder_ / "bad", ErrorCode::invalid_file,
                      {"weft.class_names", part});
  };
  refused("", "the names of 1 classes: expected 3");
  refused("a\nb", "the names of 2 classes: expected 3");
  refused("a\nb\nc\n", "the names of 4 classes: expected 3");
  refused("a\nb\nc\x1b[2J", "'c\\x1b[2J' holds a control character");
  refused("a\nb\nc\\", "holds a backslash");
  refused("a\nb\nc\\x4", "holds a backslash");
  refused("a\nb\nc\\n41", "holds a backslash");
  refused("a\nb\n\\xg1", "holds a backslash");
  refused("a\nb\n" + std::string(nn::longest_class_name + 1, 'c'), "the name of class 2");
  EXPECT_NO_THROW(nn::class_names_from_text("a\n" + std::string(nn::longest_class_name, 'c'), 2));
}

TEST_F(named_models, are_neither_trained_nor_saved_with_names_that_a_file_cannot_keep) {
  Model model = trained();
  model.class_names = names({"theory", "systems"});
  expect_refused([&] { save_model(file_, model); }, "class_names");
  expect_refused([&] { infer(context_, data_, model); }, "class_names");
  data_.class_names = names({"a", std::string(nn::longest_class_name + 1, 'b'), "c"});
  expect_refused([&] { trained(); }, "class 1");
  data_.class_names = names({"a", "b"});
  expect_refused([&] { trained(); }, "names for 2 classes: expected one for each of 3");
}

TEST_F(named_models, compare_labels_by_name_in_whatever_order_the_data_has_them) {
  const Model model = trained();
  const double before = accuracy_of(data_, model);
  EXPECT_GT(before, 0.5);  // by chance 0.33
  renumber({2, 0, 1});
  data_.class_names = names({"systems", "networks", "theory"});
  EXPECT_EQ(accuracy_of(data_, model), before);
  EXPECT_EQ(nn::label_map_of(data_, model), (std::vector<std::int32_t>{1, 2, 0}));
  Model nameless = model.clone();
  nameless.class_names = {};
  EXPECT_NE(accuracy_of(data_, nameless), before) << "by number, as there is nothing else to go by";
}

TEST_F(named_models, compare_labels_of_data_that_has_some_of_their_classes) {
  const Model model = trained();
  std::int64_t right = 0, all = 0;
  const Predictions p = infer(context_, data_, model);
  const auto labels = data_.labels.span<std::int32_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] == 0) labels[i] = -1;
    all += labels[i] > 0 ? 1 : 0;
    right += labels[i] > 0 && p.classes.span<std::int32_t>()[i] == labels[i] ? 1 : 0;
  }
  for (std::int32_t& label : labels) label -= label > 0 ? 1 : 0;
  data_.classes = 2;
  data_.class_names = names({"systems", "networks"});
  EXPECT_DOUBLE_EQ(accuracy_of(data_, model), static_cast<double>(right) / static_cast<double>(all));
}

TEST_F(named_models, refuse_the_first_class_that_they_do_not_have) {
  const Model model = trained();
  data_.class_names = names({"theory", "bio\x1blogy", "art"});
  expect_refused([&] { infer(context_, data_, model); },
                 "'bio\\x1blogy' is none of the model's 3 ('theory', 'systems'");
  data_.labels = {};
  data_.class_names = {};
  data_.classes = 0;
  EXPECT_TRUE(std::isnan(accuracy_of(data_, model)));
}

TEST_F(named_models, take_numbers_of_data_without_names_for_their_classes) {
  const Model model = trained();
  const double before = accuracy_of(data_, model);
  data_.class_names = {};
  EXPECT_EQ(accuracy_of(data_, model), before);
}

TEST_F(named_models, of_numbers_are_compared_with_data_by_number_and_not_by_place) {
  data_.class_names = names({"1", "2", "3"});
  const Model from_one = trained();
  data_.class_names = {};  // 0, 1, 2
  expect_refused([&] { infer(context_, data_, from_one); }, "'0' is none of the model's 3 ('1', '2', '3')");

  const Model counted = trained();
  const Predictions p = infer(context_, data_, counted);
  std::int64_t kept = 0, right = 0;
  const auto labels = data_.labels.span<std::int32_t>();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    labels[i] = labels[i] > 0 ? labels[i] - 1 : -1;  // classes 1 and 2, as a file with these numbers alone has them
    kept += labels[i] >= 0 ? 1 : 0;
    right += labels[i] >= 0 && p.classes.span<std::int32_t>()[i] == labels[i] + 1 ? 1 : 0;
  }
  data_.classes = 2;
  data_.class_names = names({"1", "2"});
  EXPECT_EQ(nn::label_map_of(data_, counted), (std::vector<std::int32_t>{1, 2}));
  EXPECT_DOUBLE_EQ(accuracy_of(data_, counted), static_cast<double>(right) / static_cast<double>(kept));
  data_.class_names = names({"1", "3"});
  expect_refused([&] { infer(context_, data_, counted); }, "'3' is none of the model's 3 ('0', '1', '2')");
}

TEST_F(named_models, whose_names_repeat_are_only_compared_with_the_very_same) {
  data_.class_names = names({"x", "x", "y"});
  const Model model = trained();
  EXPECT_NO_THROW(infer(context_, data_, model));
  data_.class_names = names({"x", "y", "x"});
  expect_refused([&] { infer(context_, data_, model); }, "two of the model's classes are called 'x'");
}

TEST_F(named_models, compare_several_labels_a_node_column_by_column) {
  const std::int64_t nodes = data_.num_nodes();
  Tensor several = Tensor::zeros(Shape(nodes, 3), Dtype::f32, "labels"), turned = several.clone();
  for (std::int64_t v = 0; v < nodes; ++v) {
    const std::int32_t label = data_.labels.span<std::int32_t>()[static_cast<std::size_t>(v)];
    several.span<float>()[static_cast<std::size_t>(3 * v + label)] = 1;
    turned.span<float>()[static_cast<std::size_t>(3 * v + (label + 1) % 3)] = 1;
  }
  data_.labels = std::move(several);
  const Model model = trained();
  const double before = accuracy_of(data_, model);
  EXPECT_GT(before, 0.3);
  data_.labels = std::move(turned);
  EXPECT_NE(accuracy_of(data_, model), before);
  data_.class_names = names({"networks", "theory", "systems"});
  EXPECT_EQ(accuracy_of(data_, model), before);
}

TEST_F(named_models, go_on_from_a_checkpoint_of_the_same_names_only) {
  options_.checkpoint = file_;
  options_.checkpoint_every = 60;
  trained();
  options_.resume = true;
  options_.epochs = 62;
  EXPECT_EQ(texts_of(nn::class_names_from_text(nn::read_tensors(file_).metadata["weft.class_names"], 3)),
            (Texts{"theory", "systems", "networks"}));
  const std::string before = get(file_);
  data_.class_names = names({"theory", "networks", "systems"});
  expect_refused([&] { trained(); }, "class 1 is 'systems' where this run has 'networks'");
  data_.class_names = {};
  expect_refused([&] { trained(); }, "class 0 is 'theory'), and this run's data has none");
  data_.class_names = names({"theory", "networks", "systems"});
  nn::TensorFile file = nn::read_tensors(file_);
  file.metadata.erase("weft.class_names");
  nn::write_tensors(file_, file);
  EXPECT_EQ(texts_of(trained().class_names)[1], "networks") << "checkpoints from before there were names";
  put(file_, before);
  data_.class_names = names({"theory", "systems", "networks"});
  EXPECT_EQ(texts_of(trained().class_names)[1], "systems");
}

}  // namespace
}  // namespace weft::test
