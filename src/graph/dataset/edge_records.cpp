#include "graph/dataset/edge_records.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/check.hpp"
#include "graph/dataset/tensor_of.hpp"
#include "graph/io/f32_text.hpp"
#include "graph/io/format.hpp"

namespace weft::io {
namespace {

struct Hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

struct Weight {
  std::string_view text;
  double number;
};

/// The value of 'weight' in a Python dict, as far as networkx writes one: {'weight': 2.0, 'color': 'red'}. Nothing
/// where there is no such key; NaN never.
std::optional<Weight> weight_in(std::string_view dict) {
  for (const std::string_view key : {"'weight':", "\"weight\":"}) {
    const std::size_t at = dict.find(key);
    if (at == dict.npos) continue;
    const std::string_view rest = dict.substr(at + key.size());
    const std::string_view text = rest.substr(0, rest.find_first_of(",}"));
    const auto value = real_number(text);
    if (value && !std::isnan(*value)) return Weight{text, *value};
  }
  return std::nullopt;
}

class RecordReader {
 public:
  RecordReader(std::string_view text, const EdgeLayout& layout)
      : layout_(layout),
        records_(text.substr(layout.skip), layout.braces ? '\n' : layout.record_delimiter, edge_comments,
                 std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(layout.skip), '\n')) {}

  EdgeRecords read() {
    while (records_.next())
      if (layout_.braces)
        read_braces();
      else
        read_columns();
    if (layout_.words) keep_names();
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail_line(std::string_view expected) const {
    fail(ErrorCode::invalid_file, "line {}: found {}: expected {}", records_.line(), in_quotes(records_.raw()),
         expected);
  }

  void read_columns() {
    const EdgeColumns& columns = layout_.columns;
    const auto fields = records_.fields();
    const auto count = static_cast<std::size_t>(columns.count);
    if (fields.size() != count)
      fail_line(layout_.expected_columns(fields.size() == count + 1 && fields.back().empty()));
    const auto field = [&](int column) { return fields[static_cast<std::size_t>(column)]; };
    add_end(field(columns.source));
    add_end(field(columns.target));
    if (columns.weight < 0) return;
    const std::string_view text = field(columns.weight);
    const auto weight = real_number(text);
    if (!weight || text.empty() || !fits_float(*weight)) fail_line(layout_.expected_weight(text));
    add_weight(text, *weight);
  }

  void read_braces() {
    const std::string_view line = records_.raw();
    const std::size_t open = line.find('{'), last = line.find_last_not_of(" \t\r");
    constexpr std::string_view expected = "a source, a target and a dict of attributes, as in \"0 1 {'weight': 2.0}\"";
    if (open == line.npos || line[last] != '}') fail_line(expected);
    Records ends(line.substr(0, open), layout_.record_delimiter, {});
    ends.next();
    auto fields = ends.fields();
    if (fields.size() == 3 && fields.back().empty()) fields = fields.first(2);  // a delimiter stands before the brace
    if (fields.size() != 2) fail_line(expected);
    add_end(fields[0]);
    add_end(fields[1]);
    const std::optional<Weight> weight = weight_in(line.substr(open, last + 1 - open));
    const bool first = result_.ends.size() == 2;
    if (!first && weight.has_value() == result_.weights.empty())
      fail_line(weight ? "no weight, as in the lines before" : "a weight, as in the lines before");
    if (!weight) return;
    if (!fits_float(weight->number)) fail_line(layout_.expected_weight(weight->text));
    add_weight(weight->text, weight->number);
  }

  void add_weight(std::string_view text, double weight) {
    result_.weights.push_back(static_cast<float>(weight));
    if (rounds_whole_number(text, weight)) ++result_.rounded_weights;
  }

  void add_end(std::string_view field) {
    if (layout_.words) {
      if (field.empty()) fail_line("a source and a target");
      const auto at = places_.find(field);
      const auto next = static_cast<std::int64_t>(places_.size());
      result_.ends.push_back(at != places_.end() ? at->second : places_.emplace(field, next).first->second);
      return;
    }
    const std::optional<std::int64_t> id = whole_number(field);
    if (!id) fail_line("ids that are whole numbers, as in the first line");
    if (*id < 0) fail_line(fmt::format("ids from 0 to {}", INT64_MAX));
    result_.ends.push_back(*id);
  }

  void keep_names() {
    std::vector<std::string_view> names(places_.size());
    for (const auto& [name, place] : places_) names[static_cast<std::size_t>(place)] = name;
    result_.names = names_of(names);
  }

  const EdgeLayout& layout_;
  Records records_;
  EdgeRecords result_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> places_;
};

}  // namespace

EdgeRecords read_edge_records(std::string_view text, const EdgeLayout& layout) {
  return RecordReader(text, layout).read();
}

}  // namespace weft::io
