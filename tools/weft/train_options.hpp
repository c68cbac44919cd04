// The command line of weft train as values. Defaults are those of the architecture; an option replaces one of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"
#include "data_options.hpp"
#include "reorder_option.hpp"
#include "weft/nn.hpp"

namespace weft::tool {

struct TrainRequest {
  std::string data, command;  // what was asked for, without the files to write
  ModelSpec spec;             // without inputs and classes, which are the dataset's
  TrainOptions options;
  std::int64_t random_features = 0, random_classes = 0;  // made for a graph that has none; 0: as the data has them
  DataOptions parts;                                     // given to the data here
  ReorderOption reorder;
  std::string device;
  std::int64_t threads = 0;
  std::int64_t runs = 1;                // with seeds from options.seed on
  std::string save, json, report, log;  // files; empty: none
  bool quiet = false;
};

class TrainArguments {
 public:
  /// Once, to an app that this outlives.
  void add_to(CLI::App& app);
  /// A UsageError for the first value that is wrong.
  TrainRequest read() const;

 private:
  void read_settings(TrainRequest& request) const;

  std::string data_, model_, synthetic_, device_, threads_ = "0", save_, checkpoint_, checkpoint_every_ = "0", json_,
                                                  report_, log_;
  bool quiet_ = false, resume_ = false;
  DataOptions parts_;
  ReorderOption reorder_;
  // Of the tables of settings and switches, in their order.
  std::vector<std::string> texts_;
  std::vector<CLI::Option*> settings_, switches_;
};

}  // namespace weft::tool
