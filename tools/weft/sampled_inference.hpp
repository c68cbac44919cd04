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
/// Of the test split where it is known, else of all nodes.
double measured(const Predictions& predictions);
/// "test accuracy", "all micro-F1": what that is.
std::string measured_title(const Dataset& dataset, const Predictions& predictions);
/// "edges kept by strata".
std::string sampled_title(EdgeSampling method);
/// The table's rows, its header first.
std::vector<std::vector<std::string>> sampled_rows(const Dataset& dataset, const std::vector<SampledRun>& runs);
void print_sampled(std::FILE* out, const Dataset& dataset, EdgeSampling method, const std::vector<SampledRun>& runs);
nlohmann::json sampled_json(EdgeSampling method, const std::vector<SampledRun>& runs);

}  // namespace weft::tool
