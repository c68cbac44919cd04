// --time-by-operator: where the time goes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "weft/context.hpp"

namespace weft::tool {

/// What of the time was spent on operators over edges.
double sparse_seconds(const std::vector<OperatorTime>& operators);
/// Name, time, share of the time that all took, and calls of each, the longest first.
std::vector<std::vector<std::string>> operator_rows(const std::vector<OperatorTime>& operators);
/// A label and "spmm  3.1 ms  61%, 2 calls" for each of those rows.
std::vector<std::pair<std::string, std::string>> operator_lines(const std::vector<OperatorTime>& operators);
nlohmann::json operators_json(const std::vector<OperatorTime>& operators);

}  // namespace weft::tool
