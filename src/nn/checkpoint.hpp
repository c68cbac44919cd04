// Training on disk: all that the next epoch depends on, so that a run that goes on from it takes the same course to the
// bit.
#pragma once

#include <string>

#include "nn/data_fingerprint.hpp"
#include "nn/trainer.hpp"

namespace weft::nn {

/// Waits for the device. Written whole or not at all.
void save_checkpoint(const std::string& path, Trainer& trainer, const Model& model, const TrainOptions& options,
                     const DataFingerprint& data);
/// The number of epochs that are over: 0 where the file does not exist. An Error where it is of another model, of
/// other options that count, or of other data.
std::int64_t restore(const std::string& path, Trainer& trainer, const Model& model, const TrainOptions& options,
                     const DataFingerprint& data);

}  // namespace weft::nn
