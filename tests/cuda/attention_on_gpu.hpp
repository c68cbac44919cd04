// One planned run of attention on a GPU, and what its statistics mean.
#pragma once

#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include "cuda/gpu.hpp"
#include "support/oracle.hpp"
#include "weft/plan.hpp"

namespace weft::test {

inline Dtype statistics_of(Dtype dtype) { return dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32; }

/// Clusters are of square graphs with edges: others keep their order.
inline std::string_view policy_for(const Graph& graph, std::string_view policy) {
  const bool clustered = policy.find("clusters") != std::string_view::npos;
  return clustered && (!graph.is_square() || graph.num_edges() == 0) ? std::string_view{} : policy;
}

/// The results, on the host; `inputs` are on the GPU.
inline AttentionResult attention_on_gpu(Context& context, const Graph& there, const AttentionInputs& inputs,
                                        std::string_view policy) {
  const Dtype dtype = inputs.value.dtype;
  const std::int64_t heads = inputs.value.shape.heads, width = inputs.value.shape.width;
  const Plan plan = make_plan(context, there, {OpKind::attention, dtype, heads, width, Reduce::sum, true},
                              parse_policy(policy_for(there, policy)));
  context.reserve(plan.workspace_bytes);
  const Shape by_head(there.num_rows(), heads, 1);
  AttentionResult r;
  r.out = constant(Shape(there.num_rows(), heads, width), dtype, std::nan("")).to(gpu);
  r.row_max = constant(by_head, statistics_of(dtype), std::nan("")).to(gpu);
  r.row_sum = constant(by_head, statistics_of(dtype), std::nan("")).to(gpu);
  attention(context, plan, there, inputs, r.out, r.row_max, r.row_sum);
  return {r.out.to(Device{}), r.row_max.to(Device{}), r.row_sum.to(Device{})};
}

/// What a row's scores are normalised by, in logarithms. A GPU does not say which score was the largest.
inline std::vector<double> normalisers(const std::vector<double>& top, const std::vector<double>& sum) {
  std::vector<double> logs;
  for (std::size_t i = 0; i < top.size(); ++i)
    logs.push_back(sum[i] == 0 ? -std::numeric_limits<double>::infinity() : top[i] + std::log(sum[i]));
  return logs;
}
inline Tensor normalisers(const AttentionResult& r) {
  return Tensor::from(normalisers(doubles(r.row_max), doubles(r.row_sum)), r.row_max.shape(), Dtype::f64);
}
inline std::vector<double> normalisers(const AttentionExpected& e) { return normalisers(e.row_max, e.row_sum); }

}  // namespace weft::test
