#include "plan/cuda/shape_choice.hpp"

#include "core/check.hpp"

namespace weft {

GatherShape choose_shape(const GatherShape& usual, const OpDesc& desc, const Policy& policy, bool staged, bool narrow) {
  if (policy.lanes == 0 && policy.loads == 0) return usual;
  const std::string asked =
      policy.lanes > 0 ? fmt::format("lanes={}", policy.lanes) : fmt::format("loads={}", policy.loads);
  WEFT_CHECK(
      desc.kind == OpKind::spmm && desc.dtype == Dtype::f32 && desc.reduce == Reduce::sum && desc.weighted && !staged &&
          !narrow && usual.vector == 4 && usual.steps == 1,
      unsupported,
      "policy {}: only the weighted sum of spmm in f32, of 8 to 128 features in whole packs of 4, has kernels of "
      "other shapes; leave the policy out",
      asked);
  GatherShape shape = usual;
  if (policy.lanes > 0 && policy.lanes != usual.lanes) {
    WEFT_CHECK(2 * policy.lanes == usual.lanes, unsupported,
               "policy lanes={} for {} features: expected {} or {}, that one or two packs of 4 are a lane's",
               policy.lanes, desc.heads * desc.width, usual.lanes, usual.lanes / 2);
    shape.lanes = policy.lanes;
    shape.steps = 2;
    shape.loads = usual.loads / 2;
  }
  if (policy.loads > 0 && policy.loads != shape.loads) {
    WEFT_CHECK(shape.steps == 1, unsupported, "policy loads={} with lanes={}: expected one of them, or loads={}",
               policy.loads, policy.lanes, shape.loads);
    shape.loads = policy.loads;
  }
  return shape;
}

}  // namespace weft
