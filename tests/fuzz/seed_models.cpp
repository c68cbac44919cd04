#include "seed_models.hpp"

#include "graph/dataset/tensor_of.hpp"
#include "nn/checkpoint_file.hpp"
#include "nn/spec_json.hpp"

namespace weft::test {
namespace {

ModelSpec small_spec(Architecture architecture) {
  ModelSpec spec = ModelSpec::of(architecture);
  spec.inputs = 3;
  spec.classes = 2;
  spec.hidden = 4;
  if (spec.heads > 1) spec.heads = 2;
  spec.norm = architecture == Architecture::gin ? LayerNorm::batch : LayerNorm::none;
  return spec;
}

nn::Checkpoint checkpoint_of(const ModelSpec& spec, std::int64_t epochs) {
  nn::Checkpoint c;
  c.model = make_model(spec, 1);
  c.model.class_names = io::names_of(std::vector<std::string>{"theory", "systems"});
  c.options = "adam lr=0.01 seed=0 on cpu";
  c.data = "4 nodes, 5 edges, labels of 2, 1 and 1";
  c.state.step = c.state.epoch = c.state.applied = epochs;
  for (Tensor* tensor : {&c.values, &c.first, &c.second, &c.best})
    *tensor = Tensor::zeros(Shape(64), Dtype::f32, "a seed");
  for (std::int64_t epoch = 0; epoch < epochs; ++epoch) {
    nn::Published figures;
    figures.evaluated = 1;
    figures.best_epoch = 1;
    c.figures.push_back(figures);
    c.seconds.push_back(0.25 * static_cast<double>(epoch));
  }
  if (epochs == 0) return c;
  c.state.best_epoch = 1;
  c.state.best_accuracy = 0.5;
  c.state.since_best = epochs - 1;
  return c;
}

}  // namespace

void write_models(const std::string& path, const std::function<void(const char* format, const std::string& name)>& put,
                  const std::function<void(const char*, const std::string&, std::string_view)>& put_text) {
  for (const Architecture architecture : {Architecture::gcn, Architecture::gin, Architecture::gat}) {
    const ModelSpec spec = small_spec(architecture);
    const std::string title(name(architecture));
    Model model = make_model(spec, 1);
    if (architecture != Architecture::gcn) {  // files of the first versions have neither
      model.class_names = io::names_of(std::vector<std::string>{"theory", "a\\b \xff\n"});
      model.known_nodes = KnownNodes{1, 2};
    }
    save_model(path, model);
    put("model", title);
    nn::write_checkpoint(path, checkpoint_of(spec, architecture == Architecture::gin ? 0 : 3));
    put("checkpoint", title);
    put_text("spec", title, nn::spec_to_json(spec));
  }
  put_text("spec", "nested", R"({"architecture":[[[[{"a":[1,2]}]]]]})");
}

}  // namespace weft::test
