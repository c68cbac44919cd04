#include "plan/cuda/shape_choice.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "plan/plan_view.hpp"

namespace weft {
namespace {

std::string text_of(const Policy& policy) {
  if (policy.loads == 0) return fmt::format("lanes={}", policy.lanes);
  if (policy.lanes == 0) return fmt::format("loads={}", policy.loads);
  return fmt::format("lanes={},loads={}", policy.lanes, policy.loads);
}

}  // namespace

int widest_load(const OpDesc& desc, const Policy& policy, const GraphView& graph, const tuning::CudaRates& rates,
                bool anything) {
  constexpr int all = 16;
  const bool of_halves = size_of(desc.dtype) == 2, adds_up = !is_extremum(desc.reduce);
  const bool attends = desc.kind == OpKind::attention;
  const int most =
      of_halves && desc.kind != OpKind::sddmm && !attends && !adds_up ? tuning::most_halves_a_load_otherwise : all;
  if (policy.vector > 0) return std::min(policy.vector, most);
  if (anything || !of_halves || policy.accumulate != Accumulate::f32) return most;
  // Groups of SDDMM cover a head, those of SpMM all of them.
  const std::int64_t covered = desc.kind == OpKind::sddmm ? desc.width : desc.heads * desc.width;
  const int widest = tuning::halves_a_load(covered, mean_degree(graph), graph.num_edges, rates.blocks);
  const auto shares = [&](int halves) {
    return desc.width % halves == 0 &&
           shares_weights(desc.heads, desc.width, 2, gather_shape(desc.heads * desc.width, 2, halves));
  };
  if ((attends &&
       tuning::attends_by_fours(desc.heads, desc.width, shares(8), shares(4), desc.backward, mean_degree(graph))) ||
      (desc.kind != OpKind::sddmm && tuning::sums_by_fours(covered, mean_degree(graph))))
    return std::min(widest, tuning::most_halves_a_load_otherwise);
  return std::min(most, widest);
}

GatherShape choose_shape(const GatherShape& usual, const OpDesc& desc, const Policy& policy, bool staged, bool narrow) {
  if (policy.lanes == 0 && policy.loads == 0) return usual;
  const std::string asked = text_of(policy);
  const std::int64_t features = desc.heads * desc.width;
  WEFT_CHECK(!staged, invalid_argument,
             "policy {} with edges staged in shared memory: those kernels have one shape; leave one of the two out",
             asked);
  const bool sum = desc.kind == OpKind::spmm && desc.dtype == Dtype::f32 && desc.reduce == Reduce::sum && desc.weighted;
  WEFT_CHECK(sum && !narrow && usual.vector == 4 && usual.steps == 1, unsupported,
             "policy {} for {} {} {} of {} features: only the weighted sum of spmm in f32, of 8 to 128 features in "
             "whole packs of 4, has kernels of other shapes; leave the policy out",
             asked, name(desc.kind), name(desc.dtype), name(desc.reduce), features);
  GatherShape shape = usual;
  if (policy.lanes > 0 && policy.lanes != usual.lanes) {
    WEFT_CHECK(2 * policy.lanes == usual.lanes, unsupported,
               "policy lanes={} for {} features: expected {} (a lane has one pack of 4) or {} (two)", policy.lanes,
               features, usual.lanes, usual.lanes / 2);
    shape.lanes = policy.lanes;
    shape.steps = 2;
    shape.loads = usual.loads / 2;
  }
  if (policy.loads > 0 && policy.loads != shape.loads) {
    WEFT_CHECK(shape.steps == 1, unsupported, "policy {}: expected one of the two, or loads={}", asked, shape.loads);
    shape.loads = policy.loads;
  }
  return shape;
}

Accumulate choose_accumulate(const GatherShape& shape, const OpDesc& desc, const Policy& policy, bool staged) {
  if (policy.accumulate == Accumulate::f32) return Accumulate::f32;
  WEFT_CHECK(!staged, invalid_argument,
             "policy accumulate=half2 with edges staged in shared memory: expected stage=registers, or accumulate=f32");
  const bool sum = desc.kind == OpKind::spmm && size_of(desc.dtype) == 2 && desc.reduce == Reduce::sum;
  WEFT_CHECK(
      sum && shape.vector == 8, unsupported,
      "policy accumulate=half2 for {} {} {} of {} features: only sums of spmm in f16 and bf16, in whole packs of "
      "8, have pairs to add up; leave the policy out",
      name(desc.kind), name(desc.dtype), name(desc.reduce), desc.heads * desc.width);
  return Accumulate::half2;
}

}  // namespace weft
