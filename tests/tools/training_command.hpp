// Command lines of train and infer on a small dataset, as tests of either start from.
#pragma once

#include "command_runner.hpp"

namespace weft::test {

inline const std::string small = "citations:nodes=240,classes=3,words=60,seed=2";

inline std::vector<std::string> training(const std::vector<std::string>& more, const std::string& data = small) {
  std::vector<std::string> all{"train", "--data", data, "--model", "gcn", "--epochs", "8", "--device", "cpu"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline std::vector<std::string> inferring(const std::string& data, const std::string& model,
                                          const std::vector<std::string>& more) {
  std::vector<std::string> all{"infer", "--data", data, "--load", model, "--device", "cpu"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

inline nlohmann::json json_of(const std::string& path) { return nlohmann::json::parse(text_of(path)); }

}  // namespace weft::test
