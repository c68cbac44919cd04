#include "graph/dataset/builtin.hpp"

#include <array>

#include "core/check.hpp"

namespace weft::builtin {
namespace {

struct Entry {
  std::string_view name, description;
  Dataset (*make)(std::string_view given, const ReadOptions& options);
  std::string (*form)();
};
constexpr auto entries = std::to_array<Entry>(
    {{"karate", "Zachary's karate club: 34 members, two factions", karate, karate_form},
     {"citations", "synthetic papers of several fields that mostly cite their own, with their words", citations,
      citations_form}});

const Entry* find(std::string_view text) {
  for (const Entry& entry : entries)
    if (text.substr(0, text.find(':')) == entry.name) return &entry;
  return nullptr;
}

}  // namespace

Dataset make(std::string_view text, const ReadOptions& options) {
  const Entry* entry = find(text);
  if (entry == nullptr) {
    std::string names;
    for (const Entry& each : entries) names.append(names.empty() ? "" : ", ").append(each.name);
    fail(ErrorCode::invalid_argument, "'{}' names nothing that is built in: expected one of {}", text, names);
  }
  const std::size_t colon = text.find(':');
  Dataset data = entry->make(colon == text.npos ? "" : text.substr(colon + 1), options);
  data.name = text;
  data.format = "built in";
  return data;
}

}  // namespace weft::builtin

namespace weft {

bool is_builtin_dataset(std::string_view text) { return builtin::find(text) != nullptr; }

std::vector<BuiltinDataset> builtin_datasets() {
  std::vector<BuiltinDataset> all;
  for (const builtin::Entry& entry : builtin::entries) all.push_back({entry.name, entry.form(), entry.description});
  return all;
}

}  // namespace weft
