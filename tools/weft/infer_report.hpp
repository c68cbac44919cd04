// Inference as one HTML page: with sampled edges their table and accuracy over time in two charts, without them where
// the time goes.
#pragma once

#include <string>
#include <vector>

#include "report_page.hpp"
#include "sampled_inference.hpp"

namespace weft::tool {

/// `runs` as run_sampled gives them: all edges first.
std::string infer_report(const ReportHead& head, const Dataset& dataset, EdgeSampling method,
                         const std::vector<SampledRun>& runs);

}  // namespace weft::tool
