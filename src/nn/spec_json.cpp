#include "nn/spec_json.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/check.hpp"
#include "core/in_quotes.hpp"
#include "graph/io/naming.hpp"

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

/// Takes a spec's JSON piece by piece: an object of numbers, names and truth values, in which nothing nests. A tree of
/// the text would be as deep as the text likes, and walking down a deep one ends the program's stack.
class FlatObject : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::map<std::string, nlohmann::json> values;  // none of them a list or an object

  bool null() override { return take(nullptr); }
  bool boolean(bool value) override { return take(value); }
  bool number_integer(number_integer_t value) override { return take(value); }
  bool number_unsigned(number_unsigned_t value) override { return take(value); }
  bool number_float(number_float_t value, const string_t&) override { return take(value); }
  bool string(string_t& value) override { return take(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // of other notations than text
  bool start_object(std::size_t) override {
    if (std::exchange(begun_, true)) refuse("an object");
    return true;
  }
  bool key(string_t& name) override {
    WEFT_CHECK(!values.contains(name), invalid_file, "it has {} twice: expected one", weft::in_quotes(name));
    key_ = std::move(name);
    return true;
  }
  bool end_object() override { return true; }
  bool start_array(std::size_t) override { refuse("a list"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string& last, const nlohmann::json::exception&) override {
    fail(ErrorCode::invalid_file, "byte {}: found {}, which is no JSON here", position, weft::in_quotes(last));
  }

 private:
  bool take(nlohmann::json value) {
    WEFT_CHECK(begun_, invalid_file, "it is no JSON object");
    values.emplace(key_, std::move(value));
    return true;
  }
  [[noreturn]] void refuse(std::string_view found) const {
    WEFT_CHECK(begun_, invalid_file, "it is {}: expected a JSON object", found);
    fail(ErrorCode::invalid_file, "{} is {}: expected a number, a name, true or false", weft::in_quotes(key_), found);
  }

  bool begun_ = false;
  std::string key_;
};

/// An Error says which field it is about; the caller says of which file's spec.
struct Reader {
  const std::map<std::string, nlohmann::json>& values;

  template <class T>
  void later(const char* key, T& value) const {
    if (values.contains(key)) number(key, value);
  }
  const nlohmann::json& at(const char* key, bool right_kind(const nlohmann::json&), const char* kind) const {
    const auto found = values.find(key);
    WEFT_CHECK(found != values.end(), invalid_file, "it has no '{}'", key);
    WEFT_CHECK(right_kind(found->second), invalid_file, "'{}' is {}: expected {}", key,
               weft::in_quotes(found->second.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)), kind);
    return found->second;
  }
  template <class Enum, class Parse>
  void name(const char* key, Enum& value, Parse* parse) const {
    // Parsers repeat the text in their Errors as it is.
    const nlohmann::json& found = at(
        key,
        [](const nlohmann::json& j) {
          if (!j.is_string()) return false;
          const auto& text = j.get_ref<const std::string&>();
          return weft::in_quotes(text) == "'" + text + "'";
        },
        "a name");
    try {
      value = parse(found.get_ref<const std::string&>());
    } catch (const Error& error) {
      fail(ErrorCode::invalid_file, "'{}': {}", key, error.what());
    }
  }
  void number(const char* key, bool& value) const {
    value = at(
                key, [](const nlohmann::json& j) { return j.is_boolean(); }, "true or false")
                .get<bool>();
  }
  void number(const char* key, float& value) const {
    constexpr const char* kind = "a number that f32 holds";
    const auto in_range = [](const nlohmann::json& j) {
      return j.is_number() && std::abs(j.get<double>()) <= static_cast<double>(std::numeric_limits<float>::max());
    };
    value = static_cast<float>(at(key, in_range, kind).get<double>());
  }
  void number(const char* key, std::int64_t& value) const {
    const auto in_range = [](const nlohmann::json& j) {
      return j.is_number_unsigned() ? std::in_range<std::int64_t>(j.get<std::uint64_t>()) : j.is_number_integer();
    };
    value = at(key, in_range, "a whole number below 2^63").get<std::int64_t>();
  }
};

ModelSpec spec_of(std::string_view text) {
  // The parser takes a zero byte for the end.
  WEFT_CHECK(text.find('\0') == text.npos, invalid_file, "it holds a zero byte, which is no JSON");
  FlatObject object;
  nlohmann::json::sax_parse(text.begin(), text.end(), &object);
  ModelSpec spec;
  const Reader reader{object.values};
  visit(spec, reader);
  try {
    validate(spec);
  } catch (const Error& error) {
    fail(ErrorCode::invalid_file, "it makes no model: {}", error.what());
  }
  return spec;
}

}  // namespace

std::string spec_to_json(const ModelSpec& spec) {
  Writer writer;
  ModelSpec copy = spec;
  visit(copy, writer);
  return writer.json.dump();
}

ModelSpec spec_from_json(std::string_view text, const std::string& path) {
  return io::naming_part(path + ": the model's spec", [&] { return spec_of(text); });
}

}  // namespace weft::nn
