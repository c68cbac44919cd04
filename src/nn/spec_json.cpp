#include "nn/spec_json.hpp"

#include <nlohmann/json.hpp>

#include "core/check.hpp"

namespace weft::nn {
namespace {

/// Writes every field, or reads it: one list for both, so that they cannot drift apart.
template <class Visitor>
void visit(ModelSpec& s, Visitor& v) {
  v.name("architecture", s.architecture, parse_architecture);
  v.number("inputs", s.inputs);
  v.number("classes", s.classes);
  v.number("layers", s.layers);
  v.number("hidden", s.hidden);
  v.number("heads", s.heads);
  v.number("output_heads", s.output_heads);
  v.later("mean_heads", s.mean_heads);
  v.name("activation", s.activation, parse_activation);
  v.name("norm", s.norm, parse_layer_norm);
  v.number("residual", s.residual);
  v.number("self_loops", s.self_loops);
  v.name("degree_norm", s.degree_norm, parse_degree_norm);
  v.name("aggregate", s.aggregate, parse_reduce);
  v.number("learn_eps", s.learn_eps);
  v.number("lambda", s.lambda);
  v.number("slope", s.slope);
  v.number("normalise_inputs", s.normalise_inputs);
  v.number("dropout", s.dropout);
  v.number("attention_dropout", s.attention_dropout);
  v.number("several_labels", s.several_labels);
  v.later("edge_weights", s.edge_weights);
}

struct Writer {
  nlohmann::json json;
  /// Of what the first files did not have.
  template <class T>
  void later(const char* key, T& value) {
    number(key, value);
  }
  template <class Enum, class Parse>
  void name(const char* key, Enum& value, Parse*) {
    json[key] = std::string(weft::name(value));
  }
  template <class T>
  void number(const char* key, T& value) {
    json[key] = value;
  }
  /// 0.6f as 0.6, which is read as the same float, and not as 0.6000000238.
  void number(const char* key, float& value) { json[key] = std::stod(fmt::format("{}", value)); }
};

struct Reader {
  const nlohmann::json& json;
  const std::string& path;

  template <class T>
  void later(const char* key, T& value) const {
    if (json.contains(key)) number(key, value);
  }
  const nlohmann::json& at(const char* key, bool right_kind(const nlohmann::json&), const char* kind) const {
    const auto found = json.find(key);
    WEFT_CHECK(found != json.end(), invalid_file, "{}: the model's spec has no '{}'; save the model again", path, key);
    WEFT_CHECK(right_kind(*found), invalid_file, "{}: '{}' in the model's spec is {}: expected {}", path, key,
               found->dump(), kind);
    return *found;
  }
  template <class Enum, class Parse>
  void name(const char* key, Enum& value, Parse* parse) const {
    const nlohmann::json& found = at(
        key, [](const nlohmann::json& j) { return j.is_string(); }, "a name");
    const auto& text = found.get_ref<const std::string&>();
    try {
      value = parse(text);
    } catch (const Error& error) {
      fail(ErrorCode::invalid_file, "{}: '{}' in the model's spec: {}", path, key, error.what());
    }
  }
  void number(const char* key, bool& value) const {
    value = at(
                key, [](const nlohmann::json& j) { return j.is_boolean(); }, "true or false")
                .get<bool>();
  }
  void number(const char* key, float& value) const {
    value = at(
                key, [](const nlohmann::json& j) { return j.is_number(); }, "a number")
                .get<float>();
  }
  void number(const char* key, std::int64_t& value) const {
    value = at(
                key, [](const nlohmann::json& j) { return j.is_number_integer(); }, "a whole number")
                .get<std::int64_t>();
  }
};

}  // namespace

std::string spec_to_json(const ModelSpec& spec) {
  Writer writer;
  ModelSpec copy = spec;
  visit(copy, writer);
  return writer.json.dump();
}

ModelSpec spec_from_json(std::string_view text, const std::string& path) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  WEFT_CHECK(json.is_object(), invalid_file, "{}: the model's spec is no JSON object; save the model again", path);
  ModelSpec spec;
  Reader reader{json, path};
  visit(spec, reader);
  try {
    validate(spec);
  } catch (const Error& error) {
    fail(ErrorCode::invalid_file, "{}: the model's spec makes no model: {}", path, error.what());
  }
  return spec;
}

}  // namespace weft::nn
