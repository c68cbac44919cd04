// weft infer --sample: what sampled edges cost in accuracy and save in time, as ES-SpMM's Table V has it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "weft/nn.hpp"

namespace weft::tool {

struct SampledRun {
  std::int64_t width = 0;  // 0: all edges
  Predictions predictions;
};

/// The model over all edges, then over the samples.
std::vector<SampledRun> run_sampled(Context& context, const Dataset& dataset, const Model& model, InferOptions options,
                                    const std::vector<std::int64_t>& widths);
void print_sampled(std::FILE* out, const Dataset& dataset, EdgeSampling method, const std::vector<SampledRun>& runs);
nlohmann::json sampled_json(EdgeSampling method, const std::vector<SampledRun>& runs);

}  // namespace weft::tool
