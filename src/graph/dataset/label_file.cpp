// Labels of nodes in a file of their own: .npy, or CSV and similar text.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "core/check.hpp"
#include "graph/dataset/node_parts.hpp"
#include "graph/dataset/node_table.hpp"
#include "graph/io/format.hpp"
#include "graph/io/naming.hpp"
#include "graph/io/npy_file.hpp"

namespace weft::io {
namespace {

constexpr std::array<std::string_view, 6> label_columns = {"label", "labels", "class", "y", "target", "category"};
constexpr std::int64_t unknown = std::numeric_limits<std::int64_t>::min();

/// Numbers as classes, -1 and `unknown` being none. Those that count from 0 stay what they are; others, such as years,
/// are counted in their order and keep their names.
void number_classes(std::span<const std::int64_t> numbers, NodeLabels& labels) {
  std::vector<std::int64_t> distinct;
  for (const std::int64_t number : numbers)
    if (number != -1 && number != unknown) distinct.push_back(number);
  std::ranges::sort(distinct);
  const auto known = static_cast<std::int64_t>(distinct.size());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  const bool from_0 = !distinct.empty() && distinct.front() == 0 && distinct.back() < known;
  for (const std::int64_t number : numbers) {
    const auto at = std::ranges::lower_bound(distinct, number);
    const bool has_class = at != distinct.end() && *at == number;
    labels.classes.push_back(!has_class ? -1 : static_cast<std::int32_t>(from_0 ? number : at - distinct.begin()));
  }
  labels.num_classes = from_0 ? distinct.back() + 1 : static_cast<std::int64_t>(distinct.size());
  if (from_0) return;
  for (const std::int64_t number : distinct) labels.names.push_back(fmt::format("{}", number));
}

/// Words as classes, in the order of their bytes; an empty one is none.
void number_classes(const std::vector<std::string>& words, NodeLabels& labels) {
  std::map<std::string_view, std::int32_t> numbers;
  for (const std::string& word : words)
    if (!word.empty()) numbers.emplace(word, 0);
  WEFT_CHECK(numbers.size() <= std::size_t{INT32_MAX}, invalid_file, "it has {} classes: expected at most {}",
             numbers.size(), INT32_MAX);
  for (auto& [word, number] : numbers) {
    number = static_cast<std::int32_t>(labels.names.size());
    labels.names.emplace_back(word);
  }
  for (const std::string& word : words) labels.classes.push_back(word.empty() ? -1 : numbers.at(word));
  labels.num_classes = static_cast<std::int64_t>(labels.names.size());
}

/// Where every word is a whole number or says that there is none, the numbers.
std::optional<std::vector<std::int64_t>> as_numbers(const std::vector<std::string>& words) {
  std::vector<std::int64_t> numbers;
  bool any = false;
  for (const std::string& word : words) {
    const std::optional<std::int64_t> number = whole_number(word);
    if (!number) {
      const std::optional<double> real = real_number(word);
      if (!real || !std::isnan(*real)) return {};
    }
    any |= number.has_value();
    numbers.push_back(number.value_or(unknown));
  }
  return any ? std::optional(std::move(numbers)) : std::nullopt;
}

void read_table(const Source& source, const Dataset& data, NodeLabels& labels) {
  NodeWords table = read_node_words(source, data, label_columns, "label");
  labels.rows = std::move(table.rows);
  if (const auto numbers = as_numbers(table.words))
    number_classes(*numbers, labels);
  else
    number_classes(table.words, labels);
}

/// Classes, as integers or as the reals that arrays with a NaN must have.
std::vector<std::int64_t> whole_numbers(NpyFile& file, const Progress& progress) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(file.header().count));
  if (file.header().kind != NpyKind::floating) {
    std::ranges::copy(file.elements<std::int64_t>(progress), numbers.begin());
    return numbers;
  }
  constexpr double exact = 0x1p53;
  const Buffer<double> reals = file.elements<double>(progress);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool whole = std::abs(reals[i]) <= exact && reals[i] == std::trunc(reals[i]);
    WEFT_CHECK(whole || std::isnan(reals[i]), invalid_file, "element {} is {}: expected a class, a whole number", i,
               reals[i]);
    numbers[i] = whole ? static_cast<std::int64_t>(reals[i]) : unknown;
  }
  return numbers;
}

void read_array(const Source& source, NodeLabels& labels, const Progress& progress) {
  NpyFile file(source);
  const NpyHeader& header = file.header();
  labels.rows = {source.path, header.shape.empty() ? 0 : header.shape[0]};
  if (header.shape.size() == 1 || (header.shape.size() == 2 && header.shape[1] == 1)) {
    const std::vector<std::int64_t> numbers = whole_numbers(file, progress);
    return number_classes(numbers, labels);
  }
  WEFT_CHECK(header.shape.size() == 2, invalid_file,
             "the array has {} dimensions: expected 1, a class per node, or 2, a column of 0 and 1 for each class",
             header.shape.size());
  labels.several = file.matrix(progress);
  labels.num_classes = header.shape[1];
  const auto cells = labels.several.span<float>();
  const auto wrong =
      std::ranges::find_if(cells, [](float cell) { return cell != 0 && cell != 1 && !std::isnan(cell); });
  const std::int64_t at = wrong - cells.begin();
  WEFT_CHECK(wrong == cells.end(), invalid_file,
             "row {}, column {} is {}: expected 0 or 1 for each class, or NaN where it is not known",
             at / labels.num_classes, at % labels.num_classes, *wrong);
}

}  // namespace

NodeLabels read_labels(const std::string& path, const Dataset& data, const Progress& progress) {
  return naming_part(path, [&] {
    const Source source = open_node_file(path, progress);
    NodeLabels labels;
    if (is_npy(source.text()))
      read_array(source, labels, progress);
    else if (is_archive(source))
      fail(ErrorCode::unsupported, "labels in a .npz file are not read: save the array of labels as .npy");
    else
      read_table(source, data, labels);
    const bool any = labels.several || labels.num_classes > 0;
    WEFT_CHECK(any, invalid_file, "it has a label of no node");
    labels.rows.path = path;
    return labels;
  });
}

}  // namespace weft::io
