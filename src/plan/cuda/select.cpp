#include "plan/cuda/select.hpp"

#include <algorithm>

#include "core/check.hpp"
#include "plan/cuda/stage_choice.hpp"

namespace weft {

void require_ablations(const std::string& policy) {
  WEFT_CHECK(has_ablations, unsupported,
             "policy {}: this build has no kernels for comparison with published ones; leave the policy out, or use a "
             "build with WEFT_ABLATIONS=ON",
             policy);
}

namespace {

constexpr int bytes_of(Dtype storage) { return static_cast<int>(size_of(storage)); }

/// `kernel` with the shape of its row of the table that covers `wanted`, where it has loads of as many elements.
Kernel covered(Kernel kernel, const GatherShape& wanted) {
  const KernelRow* const row = row_of(kernel);
  WEFT_CHECK(row != nullptr, internal, "no kernel {}", to_string(kernel));
  kernel.shape = covering(*row, wanted);
  WEFT_CHECK(kernel.shape.lanes > 0, internal, "no kernel {} by {} elements per load", to_string(kernel),
             wanted.vector);
  return kernel;
}

/// Whether the kernel over tiles of edges in shared memory takes the call; if the planner chose it and it cannot, the
/// usual one takes the plan's tasks.
bool over_tiles(const Plan& plan, const SpmmTraits& t, KernelMessage message, const GatherShape& shape) {
  const CudaPlan& cuda = plan.cuda();
  if (cuda.stage_edges == 0) return false;
  const int bytes = bytes_of(plan.desc.dtype);
  const bool packs = bytes == 4 || shape.vector * bytes == 16;
  const bool can = bytes <= 4 && message != KernelMessage::edgewise && !t.scaled_sources && !t.extremum && !t.mean &&
                   !t.epilogue && packs && !(t.wide_out && cuda.flush == Flush::atomic);
  WEFT_CHECK(can || !cuda.stage_asked, unsupported,
             "policy {} for {}{}{}: only sums of copy_u, or of u_mul_e with one value per edge, without an epilogue, "
             "have a kernel that stages edges in shared memory; halves need whole packs of 8 aligned to 16 bytes (here "
             "{}), and atomics an output of their type; leave the policy out",
             stage_text(plan),
             t.extremum ? "max or min"
             : t.mean   ? "a mean"
                        : "a sum",
             message == KernelMessage::edgewise ? " of vectors on edges" : "",
             t.epilogue || t.scaled_sources ? " with an epilogue" : "", shape.vector);
  return can;
}

void check_other_shape(const CudaPlan& cuda, KernelMessage message, const GatherShape& usual) {
  require_ablations("lanes or loads");
  WEFT_CHECK(
      message == KernelMessage::weighted && usual.vector == 4 && cuda.lanes * cuda.steps == usual.lanes * usual.steps,
      unsupported,
      "policy lanes={},loads={}: only u_mul_e with one value per edge, on tensors whose rows are aligned to 16 "
      "bytes and without an epilogue, has kernels of other shapes; leave the policy out",
      cuda.lanes, cuda.loads);
}

void check_pairs(KernelMessage message, bool wide_edges, const GatherShape& shape) {
  require_ablations("accumulate=half2");
  WEFT_CHECK(
      (message == KernelMessage::weighted || message == KernelMessage::source) && shape.vector == 8 && !wide_edges,
      unsupported,
      "policy accumulate=half2 with {} edge values and loads of {} elements: only plain sums of copy_u, or of "
      "u_mul_e with one value per edge of x's type, on tensors whose rows are aligned to 16 bytes, have pairs to "
      "add up; leave the policy out",
      wide_edges ? "f32" : "no f32", shape.vector);
}

/// Of 1 to 4 features per lane: in one load where alignment allows, else one by one.
GatherShape narrow_lane(Dtype storage, std::int64_t features, int vector) {
  GatherShape shape{1, 1, 1, narrow_slabs};
  if (features == 1) return shape;
  if (bytes_of(storage) <= 4 && vector == features) {
    shape.vector = vector;
    return shape;
  }
  shape.steps = bytes_of(storage) <= 4 && features == 3 ? 3 : most_narrow_features;
  return shape;
}

/// The reduction that names winners serves every extremum of a message without kernels for the extremum alone.
Reduction reduction_of(const SpmmTraits& t, KernelMessage message, Dtype storage) {
  if (!t.extremum) return Reduction::sum;
  const bool alone = row_index(KernelFamily::gather, message, Reduction::extremum, storage) >= 0;
  return t.winners || !alone ? Reduction::winner : Reduction::extremum;
}

}  // namespace

KernelMessage spmm_message(Dtype storage, const SpmmTraits& t) {
  if (!t.one_value_an_edge) return KernelMessage::edgewise;
  const bool in_order = !t.weighted || t.values_in_order;
  if (bytes_of(storage) > 4 || t.extremum || t.epilogue || t.scaled_sources || !in_order) return KernelMessage::scaled;
  if (t.mean) return t.weighted || is_narrow(t.features, true) ? KernelMessage::scaled : KernelMessage::averaged;
  return t.weighted ? KernelMessage::weighted : KernelMessage::source;
}

SpmmSelection select_spmm(const Plan& plan, const SpmmTraits& t, int pack) {
  const CudaPlan& cuda = plan.cuda();
  const Dtype storage = plan.desc.dtype;
  const int bytes = bytes_of(storage);
  const KernelMessage message = spmm_message(storage, t);
  Kernel kernel{KernelFamily::gather, message, reduction_of(t, message, storage), storage, {}, 0, {}};
  const GatherShape aligned = gather_shape(t.features, bytes, pack);
  if (over_tiles(plan, t, kernel.message, aligned)) {
    if (cuda.stage_edges != 128 || plan.assignment != Assignment::round_robin) require_ablations(stage_text(plan));
    kernel.family = KernelFamily::staged;
    kernel.message = KernelMessage::weighted;  // a sum without values takes 1 for each
    kernel.stage_edges = cuda.stage_edges;
    return {covered(kernel, aligned), aligned};
  }
  const GatherShape row = gather_shape(t.features, bytes, std::min(pack, row_of(kernel)->widest));
  if (cuda.shaped && storage == Dtype::f32) {
    check_other_shape(cuda, kernel.message, row);
    kernel.family = KernelFamily::other_shapes;
    kernel.shape = {row.vector, cuda.lanes, cuda.steps, cuda.loads};
    return {kernel, row};
  }
  if (cuda.accumulate == Accumulate::half2 && bytes < 4) {
    check_pairs(kernel.message, t.wide_edges, row);
    kernel.family = KernelFamily::half_pairs;
    return {covered(kernel, row), row};
  }
  const bool sends_rows = kernel.message != KernelMessage::edgewise && kernel.message != KernelMessage::averaged;
  if (kernel.reduction == Reduction::sum && sends_rows && is_narrow(t.features, true)) {
    kernel.family = KernelFamily::narrow;
    kernel.shape = narrow_lane(storage, t.features, row.vector);
    return {kernel, row};
  }
  return {covered(kernel, row), row};
}

HeadedSelection select_gat(KernelMessage message, Dtype storage, std::int64_t heads, std::int64_t width, int pack) {
  const int bytes = bytes_of(storage);
  HeadedSelection selected;
  selected.row = gather_shape_of_heads(heads, width, bytes, pack);
  selected.kernel = covered({KernelFamily::by_heads, message, Reduction::sum, storage, {}, 0, {}}, selected.row);
  if (heads == 1) return selected;
  const GatherShape& shape = selected.kernel.shape;
  const std::int64_t of_head = width / shape.vector;
  selected.head_lanes = static_cast<int>(std::min<std::int64_t>(of_head, shape.lanes));
  if (folds_heads(heads, width, bytes, shape)) {
    selected.head_lanes = static_cast<int>(of_head / shape.steps);
    selected.kernel.heads = {HeadMap::shared, 1};
  } else {
    const bool shared = shares_weights(heads, width, bytes, shape);
    selected.kernel.heads = {shared ? HeadMap::shared : HeadMap::any, shape.steps};
  }
  return selected;
}

HeadedSelection select_vector_scored(Dtype storage, std::int64_t heads, std::int64_t width, std::int64_t score_width,
                                     int pack, bool with_edges) {
  const KernelMessage message = with_edges ? KernelMessage::vector_scored_edges : KernelMessage::vector_scored;
  Kernel kernel{KernelFamily::by_heads, message, Reduction::sum, storage, {}, 0, {}};
  const int widest = row_of(kernel)->widest;
  const auto shape_of = [&](int vector) { return gather_shape_of_heads(heads, width, bytes_of(storage), vector); };
  HeadedSelection selected;
  selected.row = shape_of(pack >= widest && width % widest == 0 ? widest : 1);
  // Lanes that hold a head's features of value share its scores out where these come from as many.
  const auto shares = [&] { return score_width == width && heads_lie_evenly(heads, width, selected.row); };
  bool shared = shares();
  if (!shared) {
    selected.row = shape_of(1);
    shared = shares();
  }
  selected.kernel = covered(kernel, selected.row);
  const GatherShape& shape = selected.kernel.shape;
  if (shape.vector == 1 && !shared) {
    selected.kernel.heads = {HeadMap::any, shape.steps};
  } else if (heads > 1) {
    selected.head_lanes = static_cast<int>(std::min<std::int64_t>(width / shape.vector, shape.lanes));
    selected.kernel.heads = {HeadMap::shared, shape.steps};
  }
  return selected;
}

Kernel select_leaky_sum(Dtype storage, std::int64_t features, int pack, bool with_edges) {
  const KernelMessage message = with_edges ? KernelMessage::leaky_sum_edges : KernelMessage::leaky_sum;
  const Kernel kernel{KernelFamily::gather, message, Reduction::sum, storage, {}, 0, {}};
  const int widest = row_of(kernel)->widest;
  return covered(kernel, gather_shape(features, bytes_of(storage), pack >= widest ? widest : 1));
}

Kernel select_dot(Dtype storage, std::int64_t width, int pack, bool long_rows) {
  Kernel kernel = covered({KernelFamily::dot, KernelMessage::ends, Reduction::sum, storage, {}, 0, {}},
                          gather_shape(width, bytes_of(storage), pack));
  GatherShape halved = kernel.shape;
  halved.lanes /= 2;
  halved.steps *= 2;
  halved.loads = rows_in_flight(halved.vector, halved.lanes, halved.steps);
  Kernel other = kernel;
  other.shape = halved;
  return long_rows && kernel.shape.steps == 1 && has_kernel(other) ? other : kernel;
}

std::optional<Kernel> usual_kernel(const Plan& plan) {
  const auto* cuda = std::get_if<CudaPlan>(&plan.how);
  if (cuda == nullptr) return std::nullopt;
  const OpDesc& d = plan.desc;
  if (d.heads * d.width == 0) return std::nullopt;
  switch (d.kind) {
    case OpKind::spmm:
    case OpKind::spmv: {
      SpmmTraits traits;
      traits.features = d.heads * d.width;
      traits.one_value_an_edge = d.heads == 1 || !d.weighted;
      traits.weighted = d.weighted;
      traits.mean = d.reduce == Reduce::mean;
      traits.extremum = is_extremum(d.reduce);
      int pack = cuda->vector;
      while ((traits.one_value_an_edge ? traits.features : d.width) % pack != 0) pack /= 2;
      return select_spmm(plan, traits, pack).kernel;
    }
    case OpKind::attention:
      return select_gat(d.backward ? KernelMessage::gat_backward : KernelMessage::gat, d.dtype, d.heads, d.width,
                        cuda->vector)
          .kernel;
    case OpKind::sddmm: return select_dot(d.dtype, d.width, cuda->vector, cuda->long_rows);
    default: return std::nullopt;
  }
}

}  // namespace weft
