#include "nn/label_map.hpp"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "core/check.hpp"
#include "core/in_quotes.hpp"
#include "nn/class_names.hpp"

namespace weft::nn {
namespace {

/// "'theory', 'databases', ...": the first few.
std::string listed(const NodeNames& names) {
  constexpr std::int64_t most = 5;
  std::string text;
  for (std::int64_t i = 0; i < std::min(names.count(), most); ++i)
    text += (i > 0 ? ", " : "") + weft::in_quotes(names.at(i));
  return names.count() > most ? text + ", ..." : text;
}

std::vector<std::int32_t> by_name(const NodeNames& from, const NodeNames& to) {
  std::unordered_map<std::string_view, std::int32_t> places;
  for (std::int64_t i = 0; i < to.count(); ++i)
    WEFT_CHECK(places.emplace(to.at(i), static_cast<std::int32_t>(i)).second, invalid_argument,
               "two of the model's classes are called {}: expected the data's classes in the same order",
               weft::in_quotes(to.at(i)));
  std::vector<std::int32_t> map;
  for (std::int64_t i = 0; i < from.count(); ++i) {
    const auto place = places.find(from.at(i));
    WEFT_CHECK(place != places.end(), invalid_argument,
               "the data's class {} is none of the model's {} ({}): expected labels of classes it was trained on; give "
               "such with --labels, or leave the data's out with --labels none",
               weft::in_quotes(from.at(i)), to.count(), listed(to));
    map.push_back(place->second);
  }
  return map;
}

}  // namespace

std::vector<std::int32_t> label_map_of(const Dataset& dataset, const Model& model) {
  if (!dataset.labels || dataset.multi_label() != model.spec.several_labels) return {};
  check_class_names(dataset.class_names, dataset.classes);
  check_class_names(model.class_names, model.spec.classes);
  if (dataset.class_names && model.class_names && !same_names(dataset.class_names, model.class_names))
    return by_name(dataset.class_names, model.class_names);
  // Labels that count from 0 have no names: beside others that are numbers they are compared as numbers.
  if (dataset.class_names && !model.class_names && are_whole_numbers(dataset.class_names))
    return by_name(dataset.class_names, counted_names(model.spec.classes));
  if (!dataset.class_names && model.class_names && are_whole_numbers(model.class_names))
    return by_name(counted_names(dataset.classes), model.class_names);
  if (dataset.classes != model.spec.classes) return {};
  std::vector<std::int32_t> map(static_cast<std::size_t>(dataset.classes));
  std::iota(map.begin(), map.end(), 0);
  return map;
}

}  // namespace weft::nn
