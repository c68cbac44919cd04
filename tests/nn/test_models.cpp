// Models as values: made, printed, saved, loaded, and run on graphs they have not seen.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nn/layers/definition.hpp"
#include "nn/network_case.hpp"
#include "nn/safetensors.hpp"
#include "support/errors.hpp"
#include "support/oracle.hpp"

namespace weft::test {
namespace {

constexpr Architecture all_architectures[] = {Architecture::gcn, Architecture::sage, Architecture::gin,
                                              Architecture::gat, Architecture::gatv2};

class nn_models : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("weft-models-{}", static_cast<int>(::getpid()));
};

ModelSpec odd_spec(Architecture a) {
  ModelSpec spec = ModelSpec::of(a);
  spec.inputs = 11;
  spec.classes = 3;
  spec.layers = 3;
  spec.norm = LayerNorm::batch;
  spec.residual = true;
  spec.dropout = 0.3f;
  spec.mean_heads = nn::attends(a);
  spec.edge_weights = !nn::attends(a);
  return spec;
}

TEST_F(nn_models, have_a_layer_for_every_architecture_in_the_order_of_the_enumerators) {
  const auto layers = nn::layer_definitions();
  ASSERT_EQ(layers.size(), std::size(all_architectures));
  for (std::size_t i = 0; i < layers.size(); ++i) {
    EXPECT_EQ(layers[i]->architecture, all_architectures[i]);
    EXPECT_EQ(parse_architecture(layers[i]->name), all_architectures[i]);
    EXPECT_EQ(layers[i], &nn::definition_of(all_architectures[i]));
    EXPECT_NE(layers[i]->list_parameters, nullptr);
    EXPECT_NE(layers[i]->make, nullptr);
  }
  EXPECT_EQ(parse_architecture("GraphSAGE"), Architecture::sage);
  EXPECT_EQ(nn::names_of_layers(nn::takes_weights, "or"), "gcn, sage or gin");
  EXPECT_EQ(nn::names_of_layers(nn::attends, "and"), "gat and gatv2");
  expect_refused([] { nn::definition_of(static_cast<Architecture>(9)); }, "architecture");
}

TEST_F(nn_models, come_back_from_a_file_as_they_were) {
  for (const Architecture a : all_architectures) {
    const Model model = make_model(odd_spec(a), 7);
    save_model(file("model"), model);
    const Model loaded = load_model(file("model"));
    EXPECT_EQ(loaded.spec, model.spec) << name(a);
    EXPECT_EQ(to_string(loaded), to_string(model));
    ASSERT_EQ(loaded.parameters.size(), model.parameters.size());
    ASSERT_EQ(loaded.statistics.size(), model.statistics.size());
    for (std::size_t i = 0; i < model.parameters.size(); ++i) {
      EXPECT_EQ(loaded.parameters[i].name, model.parameters[i].name);
      EXPECT_TRUE(bitwise_equal(loaded.parameters[i].value, model.parameters[i].value));
    }
  }
}

TEST_F(nn_models, of_files_from_before_heads_could_be_averaged_have_them_side_by_side) {
  ModelSpec spec = odd_spec(Architecture::gat);
  spec.mean_heads = false;
  const Model model = make_model(spec, 7);
  save_model(file("model"), model);
  nn::TensorFile f = nn::read_tensors(file("model"));
  std::string& text = f.metadata["weft.spec"];
  const std::string key = "\"mean_heads\":false,";
  ASSERT_NE(text.find(key), std::string::npos) << text;
  text.erase(text.find(key), key.size());
  nn::write_tensors(file("model"), f);
  EXPECT_EQ(load_model(file("model")).spec, spec);
}

TEST_F(nn_models, of_one_seed_are_equal_and_of_two_are_not) {
  const ModelSpec spec = odd_spec(Architecture::gat);
  const Model a = make_model(spec, 1), b = make_model(spec, 1), c = make_model(spec, 2);
  EXPECT_TRUE(bitwise_equal(a.parameters[0].value, b.parameters[0].value));
  EXPECT_FALSE(bitwise_equal(a.parameters[0].value, c.parameters[0].value));
}

TEST_F(nn_models, say_what_is_wrong_with_a_file) {
  const Model model = make_model(odd_spec(Architecture::gcn), 7);
  const auto refused = [&](const std::function<void(nn::TensorFile&)>& change, const char* word) {
    save_model(file("good"), model);
    nn::TensorFile changed = nn::read_tensors(file("good"));
    change(changed);
    nn::write_tensors(file("bad"), changed);
    expect_refused([&] { load_model(file("bad")); }, word, ErrorCode::invalid_file);
  };
  refused([](nn::TensorFile& f) { f.metadata["weft.version"] = "2"; }, "weft.version");
  refused([](nn::TensorFile& f) { f.metadata["weft.kind"] = "checkpoint"; }, "weft.kind");
  refused([](nn::TensorFile& f) { f.metadata.erase("weft.kind"); }, "weft train");
  refused([](nn::TensorFile& f) { f.metadata.erase("weft.spec"); }, "weft.spec");
  refused([](nn::TensorFile& f) { f.metadata["weft.spec"] = "[]"; }, "spec");
  refused([](nn::TensorFile& f) { f.metadata["weft.spec"] = "{\"architecture\": \"gcn\"}"; }, "inputs");
  refused(
      [](nn::TensorFile& f) {
        std::string& spec = f.metadata["weft.spec"];
        spec.replace(spec.find("\"gcn\""), 5, "\"gnc\"");
      },
      "gnc");
  refused(
      [](nn::TensorFile& f) {
        std::string& spec = f.metadata["weft.spec"];
        spec.replace(spec.find("\"hidden\":16"), 11, "\"hidden\":17");
      },
      "expected f32 [11, 17]");
  refused([](nn::TensorFile& f) { f.tensors.erase(f.tensors.begin()); }, "layers.0");
}

TEST_F(nn_models, with_a_weight_that_is_no_number_are_refused_and_it_is_named) {
  const Dataset dataset = small_dataset(20, 11, 3, false, false, 3);
  Context context = Context::cpu();
  for (const float odd : {std::nanf(""), INFINITY}) {
    Model model = make_model(odd_spec(Architecture::gcn), 7);
    model.parameters[1].value.span<float>()[2] = odd;
    expect_refused([&] { infer(context, dataset, model); }, model.parameters[1].name);
    expect_refused([&] { train(context, dataset, model.clone(), {}); }, "at 2");
  }
}

TEST_F(nn_models, run_on_a_graph_they_have_not_seen_and_refuse_other_widths) {
  const Dataset seen = open_dataset("citations:nodes=600,seed=8"), unseen = open_dataset("citations:nodes=900,seed=9");
  Context context = Context::cpu();
  for (const Architecture a : all_architectures) {
    ModelSpec spec = ModelSpec::of(a);
    spec.inputs = seen.num_features();
    spec.classes = seen.classes;
    TrainOptions options = TrainOptions::of(a);
    options.epochs = 40;
    const TrainResult trained = train(context, seen, make_model(spec, 4), options);
    const Predictions p = infer(context, unseen, trained.model);
    EXPECT_EQ(to_string(p.scores.shape()), to_string(Shape(900, seen.classes)));
    EXPECT_EQ(to_string(p.classes.shape()), to_string(Shape(900)));
    EXPECT_TRUE(std::isfinite(p.test_accuracy)) << name(a);
    const Predictions half = infer(context, unseen, trained.model, Dtype::f16);
    EXPECT_NEAR(half.accuracy, p.accuracy, 0.02) << name(a);
    Dataset narrow = small_dataset(20, 5, 3, false, false, 3);
    expect_refused([&] { infer(context, narrow, trained.model); }, "features");
  }
}

TEST_F(nn_models, of_many_layers_infer_in_the_memory_of_few) {
  const Dataset dataset = small_dataset(2000, 24, 4, false, false, 93);
  for (const Architecture a :
       {Architecture::gcn, Architecture::sage, Architecture::gin, Architecture::gat, Architecture::gatv2}) {
    const auto peak = [&](std::int64_t layers) {
      ModelSpec spec = spec_for(dataset, a);
      spec.layers = layers;
      spec.hidden = 32;
      if (nn::attends(a)) spec.hidden = 8, spec.heads = 4;
      const Model model = make_model(spec, 3);
      Context context = Context::cpu();
      reset_memory_peak();
      const std::size_t before = memory_stats().live_bytes;
      infer(context, dataset, model, Dtype::f32);
      return memory_stats().peak_bytes - before;
    };
    const std::size_t few = peak(4), many = peak(12);
    // Besides parameters of 8 layers more, in two arrays: room for less than one output.
    EXPECT_LT(many, few + 2000 * 32 * sizeof(float)) << name(a);
  }
}

TEST_F(nn_models, of_several_labels_learn_them) {
  Dataset dataset = small_dataset(400, 12, 5, false, true, 71);
  // What is to be learned: the sign of the first five features.
  for (std::int64_t n = 0; n < 400; ++n)
    for (std::int64_t c = 0; c < 5; ++c)
      dataset.labels.span<float>()[static_cast<std::size_t>(n * 5 + c)] =
          dataset.features.span<float>()[static_cast<std::size_t>(n * 12 + c)] > 0 ? 1.0f : 0.0f;
  dataset.labels.span<float>()[3] = std::nanf("");  // not known
  ModelSpec spec = spec_for(dataset, Architecture::sage);
  spec.dropout = 0;
  TrainOptions options;
  options.epochs = 200;
  Context context = Context::cpu();
  const TrainResult result = train(context, dataset, make_model(spec, 4), options);
  EXPECT_GT(result.val_accuracy, 0.8);  // guesses have 0.5
  const Predictions p = infer(context, dataset, result.model);
  EXPECT_EQ(p.val_accuracy, result.val_accuracy);
  EXPECT_EQ(to_string(p.classes.shape()), to_string(Shape(400, 5)));
  // The model knows it, also from a file, and without labels at hand.
  save_model(file("several"), result.model);
  dataset.labels = {};
  dataset.classes = 0;
  const Predictions unlabelled = infer(context, dataset, load_model(file("several")));
  EXPECT_TRUE(bitwise_equal(unlabelled.classes, p.classes));
  EXPECT_TRUE(std::isnan(unlabelled.accuracy));
}

TEST_F(nn_models, of_one_layer_and_of_graphs_without_edges_train_too) {
  Dataset dataset = small_dataset(50, 6, 3, false, false, 72);
  dataset.graph = Graph::from_edges(50, {});
  Context context = Context::cpu();
  for (const Architecture a : all_architectures)
    for (const std::int64_t layers : {1, 2}) {
      ModelSpec spec = spec_for(dataset, a);
      spec.layers = layers;
      TrainOptions options;
      options.epochs = 3;
      const TrainResult result = train(context, dataset, make_model(spec, 4), options);
      for (const EpochFigures& f : result.epochs) EXPECT_TRUE(std::isfinite(f.loss)) << name(a) << " " << layers;
    }
}

}  // namespace
}  // namespace weft::test
