// What a dataset has beside its graph, for people and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "weft/dataset.hpp"

namespace weft::tool {

struct DatasetFacts {
  std::int64_t nodes = 0, features = -1, classes = -1, train = -1, val = -1, test = -1, unlabelled = 0;
  std::int64_t graphs = -1, graph_classes = 0;
  bool sparse = false, multi_label = false, renumbered = false, named = false;
  double feature_density = 0, homophily = -1;
  std::string class_list;                // for people: the first few, with their numbers
  std::vector<std::string> class_names;  // empty where they have none
};

DatasetFacts facts_of(const Dataset& dataset);
/// Bytes of what is there beside the graph and its values.
std::size_t more_bytes(const Dataset& dataset);
/// Labels and texts, as `weft info` prints them; none for a graph alone.
std::vector<std::pair<std::string, std::string>> lines_of(const DatasetFacts& facts);
nlohmann::json to_json(const DatasetFacts& facts);
/// "features, labels": what a file of that name does not keep.
std::string parts_left_out(const Dataset& dataset, const std::string& path);

}  // namespace weft::tool
