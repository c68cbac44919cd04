// What weft train takes where no option says otherwise, from ModelSpec::of and TrainOptions::of.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/names.hpp"
#include "train_settings.hpp"

namespace weft::tool {
namespace {

std::vector<Architecture> architectures() {
  std::vector<Architecture> all;
  for (const std::string_view each : all_names<Architecture>()) all.push_back(parse_architecture(each));
  return all;
}

/// By model; "-" where the model does not have the option.
template <class Option>
std::vector<std::string> defaults_by_model(const Option& option, const auto& show) {
  std::vector<std::string> cells;
  for (const Architecture each : architectures())
    cells.push_back(option.only.empty() || std::ranges::count(option.only, each) > 0 ? show(defaults_of(each)) : "-");
  return cells;
}

/// Of the models that have it.
std::string the_only_one(std::vector<std::string> cells) {
  std::erase(cells, "-");
  const bool same = std::ranges::count(cells, cells.front()) == static_cast<std::ptrdiff_t>(cells.size());
  return same ? cells.front() : "";
}

void add_row(std::string& table, std::string_view label, const std::vector<std::string>& cells) {
  std::string line = fmt::format("  {:<25}", label);
  for (const std::string& cell : cells) line += fmt::format("{:>10}", cell);
  table += line + "\n";
}

}  // namespace

TrainRequest defaults_of(Architecture architecture) {
  TrainRequest request;
  request.spec = ModelSpec::of(architecture);
  request.options = TrainOptions::of(architecture);
  return request;
}

std::string common_default(const Setting& setting) {
  return setting.field.show ? the_only_one(defaults_by_model(setting, setting.field.show)) : "";
}

std::string common_default(const Switch& each) { return the_only_one(defaults_by_model(each, each.show)); }

std::string defaults_table() {
  const std::array<std::string_view, 4> always{"--layers", "--heads", "--optimiser", "--weight-decay"};
  std::string table = "Defaults by model, as its paper has them for citation graphs:\n";
  std::vector<std::string> titles;
  for (const std::string_view each : all_names<Architecture>()) titles.emplace_back(each);
  add_row(table, "", titles);
  for (const Setting& setting : settings()) {
    if (!setting.field.show) continue;
    if (common_default(setting).empty() || std::ranges::count(always, setting.name()) > 0)
      add_row(table, setting.name(), defaults_by_model(setting, setting.field.show));
  }
  for (const Switch& each : switches()) {
    const std::vector<std::string> cells = defaults_by_model(each, each.show);
    const bool depends_on_more = std::ranges::count(cells, "") > 0;
    if (!depends_on_more && the_only_one(cells).empty()) add_row(table, each.on, cells);
  }
  table.pop_back();
  return table;
}

}  // namespace weft::tool
