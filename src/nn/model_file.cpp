#include "nn/model_file.hpp"

#include "core/check.hpp"
#include "core/in_quotes.hpp"
#include "graph/io/naming.hpp"
#include "nn/class_names.hpp"
#include "nn/known_nodes.hpp"
#include "nn/layout.hpp"
#include "nn/spec_json.hpp"

namespace weft {
namespace nn {
namespace {

/// Checkpoints of version 1 do not say which data they were trained on.
std::string_view version_of(std::string_view kind) { return kind == "checkpoint" ? "2" : "1"; }
constexpr const char *kind_key = "weft.kind", *version_key = "weft.version", *spec_key = "weft.spec",
                     *class_names_key = "weft.class_names", *known_nodes_key = "weft.known_nodes",
                     *reverses_edges_key = "weft.reverses_edges";

void check_key(const TensorFile& file, const char* key, std::string_view wanted, const std::string& path,
               std::string_view advice = "") {
  const auto found = file.metadata.find(key);
  WEFT_CHECK(found != file.metadata.end(), invalid_file,
             "{} has no '{}' in its metadata: expected a file that weft train wrote", path, key);
  WEFT_CHECK(found->second == wanted, invalid_file, "{}: '{}' is {}: this weft reads '{}'{}", path, key,
             weft::in_quotes(found->second, 80), wanted, advice);
}

void take(std::vector<Parameter>& to, const std::vector<ParameterSpec>& specs, TensorFile& file,
          const std::string& path) {
  for (const ParameterSpec& p : specs) {
    Tensor& value = tensor_named(file, p.name, path);
    WEFT_CHECK(value.dtype() == Dtype::f32 && value.shape() == p.shape, invalid_file,
               "{}: {} is {} {}: expected f32 {}", path, p.name, name(value.dtype()), to_string(value.shape()),
               to_string(p.shape));
    to.push_back({p.name, std::move(value), p.layer, p.decays});
  }
}

}  // namespace

void put_model(TensorFile& file, const Model& model, std::string_view kind) {
  file.metadata[kind_key] = kind;
  file.metadata[version_key] = version_of(kind);
  file.metadata[spec_key] = spec_to_json(model.spec);
  check_class_names(model.class_names, model.spec.classes);
  if (model.class_names) file.metadata[class_names_key] = class_names_to_text(model.class_names);
  if (model.known_nodes) file.metadata[known_nodes_key] = to_text(*model.known_nodes);
  if (model.reverses_edges) file.metadata[reverses_edges_key] = "true";
  for (const std::vector<Parameter>* list : {&model.parameters, &model.statistics})
    for (const Parameter& p : *list) file.tensors.push_back({p.name, p.value.clone()});
}

Model take_model(TensorFile& file, std::string_view kind, const std::string& path) {
  check_key(file, kind_key, kind, path);
  check_key(file, version_key, version_of(kind), path,
            kind == "checkpoint"
                ? "; older checkpoints do not record which data they were trained on: train from the start"
                : "");
  const auto spec = file.metadata.find(spec_key);
  WEFT_CHECK(spec != file.metadata.end(), invalid_file, "{} has no '{}' in its metadata; save the model again", path,
             spec_key);
  Model model;
  model.spec = spec_from_json(spec->second, path);
  take(model.parameters, parameters_of(model.spec), file, path);
  take(model.statistics, statistics_of(model.spec), file, path);
  // Files of the first versions have none of these.
  if (const auto names = file.metadata.find(class_names_key); names != file.metadata.end())
    model.class_names = io::naming_part(path + ": " + class_names_key,
                                        [&] { return class_names_from_text(names->second, model.spec.classes); });
  if (const auto nodes = file.metadata.find(known_nodes_key); nodes != file.metadata.end())
    model.known_nodes = io::naming_part(path, [&] { return parse_known_nodes(nodes->second); });
  if (file.metadata.contains(reverses_edges_key)) {
    check_key(file, reverses_edges_key, "true", path);
    model.reverses_edges = true;
  }
  return model;
}

}  // namespace nn

void save_model(const std::string& path, const Model& model) {
  nn::TensorFile file;
  nn::put_model(file, model, "model");
  nn::write_tensors(path, file);
}

Model load_model(const std::string& path, Checksum checksum) {
  nn::TensorFile file = nn::read_tensors(path, checksum);
  return nn::take_model(file, "model", path);
}

}  // namespace weft
