#include "plan/selector/table.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/check.hpp"
#include "core/in_quotes.hpp"
#include "core/names.hpp"
#include "graph/io/naming.hpp"
#include "graph/io/source.hpp"
#include "plan/selector/builtin.hpp"

namespace weft {
namespace {

using nlohmann::json;

constexpr std::string_view kind = "weft tuning";
constexpr int version = 1;
constexpr std::size_t most_bytes = std::size_t{1} << 20;

struct Coefficient {
  const char* key;
  double SelectorRow::*value;
};
constexpr Coefficient coefficients[] = {{"bias", &SelectorRow::bias},       {"columns", &SelectorRow::columns},
                                        {"density", &SelectorRow::density}, {"fill", &SelectorRow::fill},
                                        {"width", &SelectorRow::width},     {"accuracy", &SelectorRow::accuracy}};

const json& at(const json& object, const char* key) {
  const auto found = object.find(key);
  WEFT_CHECK(found != object.end(), invalid_file, "it has no '{}'; write it anew with weft tune", key);
  return *found;
}
std::string shown(const json& value) {
  return weft::in_quotes(value.dump(-1, ' ', true, json::error_handler_t::replace));
}

std::string text_at(const json& object, const char* key) {
  const json& value = at(object, key);
  WEFT_CHECK(value.is_string(), invalid_file, "'{}' is {}: expected a text", key, shown(value));
  return value.get<std::string>();
}
double number_at(const json& object, const char* key) {
  const json& value = at(object, key);
  WEFT_CHECK(value.is_number() && std::isfinite(value.get<double>()), invalid_file, "'{}' is {}: expected a number",
             key, shown(value));
  return value.get<double>();
}
std::int64_t count_at(const json& object, const char* key) {
  const json& value = at(object, key);
  WEFT_CHECK(value.is_number_unsigned() && value.get<std::uint64_t>() < std::uint64_t{1} << 53, invalid_file,
             "'{}' is {}: expected a whole number from 0 on", key, shown(value));
  return value.get<std::int64_t>();
}

SelectorRow row_of(const json& object) {
  WEFT_CHECK(object.is_object(), invalid_file, "{} stands among the rows of 'selector': expected an object",
             shown(object));
  SelectorRow row;
  const std::string dtype = text_at(object, "dtype");
  WEFT_CHECK(dtype == "f16" || dtype == "bf16" || dtype == "f32", invalid_file,
             "'dtype' is {}: expected f16, bf16 or f32", weft::in_quotes(dtype));
  row.dtype = parse_floating_dtype(dtype);
  const std::int64_t rows = count_at(object, "window");
  WEFT_CHECK(rows == 16 || rows == 64 || rows == 128, invalid_file, "'window' is {}: expected 16, 64 or 128 rows",
             rows);
  row.window_rows = static_cast<int>(rows);
  for (const Coefficient& c : coefficients) row.*c.value = number_at(object, c.key);
  row.samples = count_at(object, "samples");
  return row;
}

json parsed(std::string_view text) {
  // Nothing of a table nests deeper; a deep text would end the program's stack.
  const auto shallow = [](int depth, json::parse_event_t, json&) {
    WEFT_CHECK(depth <= 4, invalid_file, "it nests deeper than a table does; write it anew with weft tune");
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), shallow);
  } catch (const json::parse_error& error) {
    fail(ErrorCode::invalid_file, "byte {}: no JSON here; write it anew with weft tune", error.byte);
  } catch (const json::out_of_range&) {
    fail(ErrorCode::invalid_file, "it holds a number that no double does; write it anew with weft tune");
  }
}

SelectorTable table_of(std::string_view text) {
  const json object = parsed(text);
  WEFT_CHECK(object.is_object() && object.value("kind", json()) == kind, invalid_file,
             "it is no table that weft tune wrote: expected a JSON object with \"kind\": \"{}\"", kind);
  WEFT_CHECK(count_at(object, "version") == version, invalid_file,
             "its version is {}: expected {}; write it anew with weft tune", shown(object["version"]), version);
  SelectorTable table;
  table.device = text_at(object, "device");
  table.commit = text_at(object, "commit");
  table.date = text_at(object, "date");
  const json& rows = at(object, "selector");
  WEFT_CHECK(rows.is_array(), invalid_file, "'selector' is {}: expected a list of rows", shown(rows));
  for (const json& each : rows) {
    const SelectorRow row = row_of(each);
    WEFT_CHECK(table.find(row.dtype, row.window_rows) == nullptr, invalid_file,
               "it has two rows of {} and {} rows per window: expected one", name(row.dtype), row.window_rows);
    table.rows.push_back(row);
  }
  return table;
}

}  // namespace

WindowModel SelectorRow::at(std::int64_t features) const {
  WindowModel model{bias + width * std::log2(static_cast<double>(features)), columns, density, fill};
  if (columns == 0 && density == 0 && fill == 0) return model.bias > 0 ? WindowModel::all() : WindowModel::none();
  return model;
}

const SelectorRow* SelectorTable::find(Dtype dtype, int window_rows) const {
  const auto found = std::ranges::find_if(
      rows, [&](const SelectorRow& row) { return row.dtype == dtype && row.window_rows == window_rows; });
  return found != rows.end() ? &*found : nullptr;
}

std::string to_json(const SelectorTable& table) {
  json rows = json::array();
  for (const SelectorRow& row : table.rows) {
    json object = {{"dtype", name(row.dtype)}, {"window", row.window_rows}, {"samples", row.samples}};
    for (const Coefficient& c : coefficients) object[c.key] = row.*c.value;
    rows.push_back(std::move(object));
  }
  const json object = {{"kind", kind},           {"version", version}, {"device", table.device},
                       {"commit", table.commit}, {"date", table.date}, {"selector", std::move(rows)}};
  return object.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

SelectorTable parse_selector_table(std::string_view text, const std::string& path) {
  return io::naming_part(path, [&] { return table_of(text); });
}

SelectorTable read_selector_table(const std::string& path) {
  return io::naming_part(path, [&] {
    const std::size_t bytes = io::File::open(path)->size();
    WEFT_CHECK(bytes <= most_bytes, invalid_file, "it has {} bytes, more than any table that weft tune wrote", bytes);
    return table_of(io::load_file(path).text());
  });
}

const SelectorTable& built_in_selector() {
  static const SelectorTable table{std::string(built_in_device),
                                   std::string(built_in_commit),
                                   std::string(built_in_date),
                                   {std::begin(built_in_rows), std::end(built_in_rows)}};
  return table;
}

}  // namespace weft
