#include "operator_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text.hpp"

namespace weft::tool {

double sparse_seconds(const std::vector<OperatorTime>& operators) {
  double seconds = 0;
  for (const OperatorTime& each : operators)
    if (each.name != "dense products" && each.name != "passes" && each.name != "sparse features")
      seconds += each.seconds;
  return seconds;
}

std::vector<std::vector<std::string>> operator_rows(const std::vector<OperatorTime>& operators) {
  double all = 0;
  for (const OperatorTime& each : operators) all += each.seconds;
  std::vector<OperatorTime> sorted = operators;
  std::ranges::stable_sort(sorted, std::ranges::greater{}, &OperatorTime::seconds);
  std::vector<std::vector<std::string>> rows;
  for (const OperatorTime& each : sorted)
    rows.push_back({each.name, seconds_text(each.seconds),
                    fmt::format("{:.0f}%", all > 0 ? 100 * each.seconds / all : 0),
                    fmt::format("{} {}", grouped(each.calls), each.calls == 1 ? "call" : "calls")});
  return rows;
}

std::vector<std::pair<std::string, std::string>> operator_lines(const std::vector<OperatorTime>& operators) {
  std::vector<std::pair<std::string, std::string>> lines;
  for (const std::vector<std::string>& row : operator_rows(operators))
    lines.emplace_back(lines.empty() ? "of which" : "",
                       fmt::format("{:<22} {:>9} {:>4}, {}", row[0], row[1], row[2], row[3]));
  return lines;
}

nlohmann::json operators_json(const std::vector<OperatorTime>& operators) {
  nlohmann::json list = nlohmann::json::array();
  for (const OperatorTime& each : operators)
    list.push_back({{"operator", each.name}, {"calls", each.calls}, {"seconds", each.seconds}});
  return list;
}

}  // namespace weft::tool
