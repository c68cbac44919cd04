// Which classes a model takes for which others.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/nn.hpp"

namespace weft::tool {

struct Confusion {
  std::int64_t classes = 0;
  std::vector<std::string> titles;  // of the classes, as a page shows them
  /// Nodes by their label and the predicted class; pairs that do not occur are left out.
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> counts;

  std::int64_t count(std::int32_t label, std::int32_t predicted) const;
};

/// Of the nodes with a label in the test split. Empty where nodes may have several labels.
Confusion confusion_of(const Dataset& dataset, const Predictions& predictions);
/// A table of labels over predictions with each class's share of right ones; of many classes the pairs that are taken
/// for each other most often. Empty where no node was counted.
std::string confusion_html(const Confusion& confusion);

}  // namespace weft::tool
