// From times of windows on both kinds of core to the selector's coefficients, and how well they tell which was faster.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "plan/selector/table.hpp"
#include "tune/logistic.hpp"
#include "tune/synthetic_windows.hpp"

namespace weft::tool {

/// A kind of window, and what a graph of them took.
struct TimedWindow {
  SyntheticWindow window;
  Dtype dtype = Dtype::f16;
  std::int64_t width = 64;
  double tensor_us = 0, cuda_us = 0;
  bool held_out = false;  // from fitting, for the test

  bool tensor_faster() const { return tensor_us < cuda_us; }
  WindowCounts counts() const;
};

struct FittedSelector {
  SelectorRow row;
  YesNoConfusion confusion;        // of held-out windows; yes: tensor cores
  std::int64_t tensor_faster = 0;  // of all samples
  // How much longer than by the faster kind of core held-out windows take on average: 0.02 is 2 %.
  double lost_by_model = 0, lost_by_all = 0, lost_by_none = 0;
};
/// Of the windows of that storage type and so many rows; at least one of them is not held out.
FittedSelector fit_selector(std::span<const TimedWindow> windows, Dtype dtype, int rows);

/// "-3.10 + 1.20 log2(columns) + 2.30 log2(density) ...".
std::string formula_text(const SelectorRow& row);
/// From which density on tensor cores are taken: "16 columns: 0.31, 64: 0.12"; "never" and "always" where that is so.
std::string break_even_text(const SelectorRow& row, std::int64_t width);

nlohmann::json to_json(const FittedSelector& fitted);
nlohmann::json to_json(const TimedWindow& window);

}  // namespace weft::tool
