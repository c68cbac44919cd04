// Training on disk: all that the next epoch depends on, so that a run that goes on from it takes the same course to the
// bit.
#pragma once

#include <string>
#include <vector>

#include "nn/data_fingerprint.hpp"
#include "nn/trainer.hpp"

namespace weft::nn {

/// Waits for the device. Written whole or not at all. `seconds` are those of training up to the end of each epoch; of
/// epochs that nobody was told of, those of the last one before them count.
void save_checkpoint(const std::string& path, Trainer& trainer, const Model& model, const TrainOptions& options,
                     const DataFingerprint& data, std::vector<double> seconds);

struct Restored {
  std::int64_t epochs = 0;      // that are over
  std::vector<double> seconds;  // up to the end of each; 0 where the file does not say
};
/// Nothing where the file does not exist. An Error where it is of another model, of other options that count, or of
/// other data.
Restored restore(const std::string& path, Trainer& trainer, const Model& model, const TrainOptions& options,
                 const DataFingerprint& data);

}  // namespace weft::nn
