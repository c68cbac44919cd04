// A checkpoint as a file holds it, read and checked without a Trainer.
#pragma once

#include <string>
#include <vector>

#include "nn/data_fingerprint.hpp"
#include "nn/safetensors.hpp"
#include "nn/step/state.hpp"

namespace weft::nn {

struct Checkpoint {
  Model model;
  std::string options;          // of training, as far as its course depends on them: words
  std::string data;             // sizes, for people
  DataFingerprint fingerprint;  // of the data
  StepState state;
  std::vector<Published> figures;      // of every epoch that is over
  std::vector<double> seconds;         // of training up to the end of each of them; empty in files of earlier versions
  Tensor values, first, second, best;  // all parameters in one array each, as Parameters lays them out
};

/// Written whole or not at all.
void write_checkpoint(const std::string& path, const Checkpoint& checkpoint);
/// An Error (invalid_file) where the checksum is another or missing, and where any count, flag or epoch in it could not
/// have come from training: what is returned can be used without a look at it.
Checkpoint read_checkpoint(const std::string& path);
/// The same of a file that is in memory.
Checkpoint read_checkpoint(const io::Source& source);

}  // namespace weft::nn
