// A training run as one HTML page without anything from elsewhere: a table, and two charts in SVG.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/nn.hpp"

namespace weft::tool {

struct TrainSummary {
  std::string title;                                       // "gcn on citations"
  std::string command;                                     // as it was given
  std::string measure = "accuracy";                        // what the figures call accuracy: it, or micro-F1
  std::vector<std::pair<std::string, std::string>> lines;  // of the table: label, text
  std::vector<EpochFigures> epochs;
  std::int64_t best_epoch = 0;  // 0: none
};

std::string train_report(const TrainSummary& summary);

}  // namespace weft::tool
