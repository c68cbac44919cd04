// A training run as one HTML page without anything from elsewhere: a table, and two charts in SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report_page.hpp"
#include "weft/nn.hpp"

namespace weft::tool {

struct TrainSummary {
  ReportHead head;
  std::string measure = "accuracy";            // what the figures call accuracy: it, or micro-F1
  std::vector<std::vector<std::string>> runs;  // rows of a table, its header first; empty: there was one run
  std::vector<EpochFigures> epochs;            // with several runs those of the best
  std::int64_t best_epoch = 0;                 // 0: none
  std::string confusion;                       // HTML; empty: none
};

std::string train_report(const TrainSummary& summary);

}  // namespace weft::tool
