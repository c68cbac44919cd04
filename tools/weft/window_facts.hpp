// What `weft explain` says of row windows: what is dense, what runs on tensor cores, and what the selector weighed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "plan/cuda/windows.hpp"

namespace weft::tool {

/// Lines that start with a label of nine columns, as all of explain's do.
std::vector<std::string> window_lines(const WindowFacts& facts);
nlohmann::json windows_json(const WindowFacts& facts);

}  // namespace weft::tool
