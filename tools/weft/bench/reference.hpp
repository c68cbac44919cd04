// What results are held against: the float64 reference on the sampled rows, in the shapes workloads need.
#pragma once

#include "bench/sample.hpp"
#include "bench/verify.hpp"
#include "kernels/signatures.hpp"

namespace weft::tool {

/// Still to be filled in: a row of the output for every sampled row of the graph, each a sum over its edges.
Reference by_row_reference(const Sample& sample, std::int64_t row_size);
/// The same with a row of the output for every sampled edge; `terms` of an edge's elements may be set afterwards.
Reference by_edge_reference(const Sample& sample, std::int64_t row_size, std::int64_t terms);

/// The references over ranges of rows in parallel: a row's results depend on nothing but the row.
void reference_spmm(const SpmmArgs& args, double* absolute);
void reference_sddmm(const SddmmArgs& args, double* absolute);

}  // namespace weft::tool
