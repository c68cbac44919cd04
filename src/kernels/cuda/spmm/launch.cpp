// From the arguments of spmm to launches: which message, which shape of loads, which share of the edges.
#include <algorithm>
#include <type_traits>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/gather/launch.hpp"
#include "kernels/cuda/spmm/call.hpp"
#include "kernels/cuda/spmm/other_shapes.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "kernels/heads.hpp"
#include "plan/cuda/stage_choice.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft::cuda {
namespace {

template <int Value>
using Constant = std::integral_constant<int, Value>;

/// Whether a sum of edges' own values, few an edge, is one over rows of few features that edge ids find: such rows have
/// a kernel with its lanes along the edges.
template <class Storage>
bool sums_few_edge_values(const SpmmArgs& args) {
  const bool side_by_side =
      (args.width == 1 || args.edge.feature_stride == 1) && (args.heads == 1 || args.edge.head_stride == args.width);
  return args.op == SpmmOp::copy_e && !is_extremum(args.reduce) && is_narrow(args.heads * args.width, true) &&
         side_by_side && !is_wide<Storage>(args.edge.dtype) && !args.col_scale.given() &&
         args.graph.num_edges < (std::int64_t{1} << 31);
}
SpmmArgs with_edges_as_sources(SpmmArgs args) {
  args.op = SpmmOp::copy_u;
  args.x = args.edge;
  args.edge = {};
  args.width *= args.heads;
  args.heads = 1;
  args.x.feature_stride = 1;
  args.x.head_stride = args.width;
  return args;
}

/// Elements a load may move. Packs do not reach across heads, and every array they move must allow them.
template <class Storage>
int widest_pack(const SpmmArgs& args, const SpmmCall<Storage>& call, const Plan& plan) {
  const auto& epilogue = call.common.epilogue;
  const auto& operands = call.operands;
  int most = std::min(aligned_elements(epilogue.out, epilogue.wide, args.out.row_stride), plan.vector);
  const auto also = [&](const Storage* data, std::int64_t pitch, std::int64_t head) {
    most = std::min(most, aligned_elements(data, pitch));
    if (args.heads > 1) most = std::min(most, aligned_elements(data, head));
  };
  if (call.common.x != nullptr && operands.x_vector) also(call.common.x, args.x.row_stride, operands.x_head);
  const bool edgewise = call.message == MessageKind::edgewise;
  if (operands.edge.given() && operands.edge_vector && edgewise)
    also(operands.edge.narrow(), operands.edge_pitch, operands.edge_head);
  const std::int64_t unit = edgewise ? args.width : call.common.features;
  while (unit % most != 0) most /= 2;
  return most;
}

/// Calls f(constant) for the reduction; in f64 the one that names winners serves every extremum.
template <class Storage, class F>
void with_reduction(const SpmmCall<Storage>& call, const F& f) {
  if (!call.extremum) return f(std::integral_constant<Reduction, Reduction::sum>{});
  const bool winners = call.common.epilogue.arg_u != nullptr || call.common.epilogue.arg_e != nullptr;
  if constexpr (sizeof(Storage) <= 4)
    if (!winners) return f(std::integral_constant<Reduction, Reduction::extremum>{});
  f(std::integral_constant<Reduction, Reduction::winner>{});
}

/// The tasks of a call, by the walk of gather/ or, for sums of rows of few features, by the one along the edges.
template <Reduction Kind, class Storage>
void launch_tasks(const SpmmCall<Storage>& call, const GatherShape& shape, CUstream_st* stream) {
  with_message(call, [&]<class Message>(const GatherArgs<Message>& args) {
    constexpr bool edgewise = std::is_same_v<Message, Edgewise<Storage>>;
    if constexpr (Kind == Reduction::sum && !edgewise && !std::is_same_v<Message, Averaged<Storage>>)
      if (is_narrow(args.features, true)) return launch_narrow(args, shape.vector, stream);
    // Only sums are sent as they are.
    if constexpr (Kind == Reduction::sum || edgewise || std::is_same_v<Message, Scaled<Storage>>)
      launch_gather<Message, Kind>(args, shape, stream);
  });
}

/// Whether the kernel over tiles of edges in shared memory takes the call; if the planner chose it and it cannot, the
/// usual one takes the plan's tasks.
template <class Storage>
bool over_tiles(const SpmmArgs& args, const SpmmCall<Storage>& call, const Plan& plan, const GatherShape& shape) {
  if (plan.stage_edges == 0) return false;
  const auto& epilogue = call.common.epilogue;
  const bool packs = sizeof(Storage) == 4 || shape.vector * sizeof(Storage) == 16;
  const bool can = call.message != MessageKind::edgewise && call.operands.col_scale == nullptr && !call.extremum &&
                   epilogue.none && packs && !(epilogue.wide && plan.flush == Flush::atomic);
  WEFT_CHECK(can || !plan.stage_asked, unsupported,
             "policy {} for op {}, reduce {}{}: only sums of copy_u, or of u_mul_e with one value an edge, without an "
             "epilogue, have a kernel that stages edges in shared memory; halves need whole packs of 8 aligned to 16 "
             "bytes (here {}), and atomics an output of their type; leave the policy out",
             stage_text(plan), name(args.op), name(args.reduce), epilogue.none ? "" : " and an epilogue", shape.vector);
  return can;
}

template <class Storage>
void launch_over_tiles(const GatherArgs<Weighted<Storage>>& args, const Plan& plan, const GatherShape& shape,
                       CUstream_st* stream) {
  const bool round_robin = plan.assignment == Assignment::round_robin, atomic = plan.flush == Flush::atomic;
  if (atomic) {
    const auto rows = static_cast<std::size_t>(args.split.graph.num_rows);
    const std::size_t pitch = args.epilogue.pitch_bytes;
    const std::size_t row = static_cast<std::size_t>(args.features) * sizeof(Storage);
    Storage* out = args.epilogue.out;
    check(pitch == row ? cudaMemsetAsync(out, 0, rows * row, stream)
                       : cudaMemset2DAsync(out, pitch, 0, row, rows, stream),
          "zeros for {} rows of {} bytes before atomic additions", rows, row);
  }
  if (args.split.tasks == 0) return;
  const auto launch = [&]<int Tile>(Constant<Tile>) {
    launch_staged<Weighted<Storage>, Tile>(args, shape, round_robin, atomic, stream);
  };
  // The planner itself takes tiles of 128, whose groups share them round-robin.
  if (plan.stage_edges != 128 || !round_robin) require_ablations(stage_text(plan));
  if constexpr (has_ablations && !std::is_same_v<Storage, __nv_bfloat16>)
    if (plan.stage_edges == 32) return launch(Constant<32>{});
  if constexpr (has_ablations && std::is_same_v<Storage, __half>)
    if (plan.stage_edges == 64) return launch(Constant<64>{});
  launch(Constant<128>{});
}

/// Whether the call takes a kernel of the policy's own shape; an Error where that has none for it.
bool other_shape(const Plan& plan, MessageKind message, const GatherShape& usual) {
  if (!plan.shaped) return false;
  WEFT_CHECK(
      message == MessageKind::weighted && usual.vector == 4 && plan.lanes * plan.steps == usual.lanes * usual.steps,
      unsupported,
      "policy lanes={},loads={}: only u_mul_e with one value an edge, on tensors whose "
      "rows are aligned to 16 bytes and without an epilogue, has kernels of other shapes; leave the policy out",
      plan.lanes, plan.loads);
  return true;
}

/// Whether batches are added up in pairs, as the policy asks; an Error where the call has no such kernel.
bool in_pairs(const Plan& plan, MessageKind message, bool wide_edges, const GatherShape& shape) {
  if (plan.accumulate == Accumulate::f32) return false;
  WEFT_CHECK((message == MessageKind::weighted || message == MessageKind::source) && shape.vector == 8 && !wide_edges,
             unsupported,
             "policy accumulate=half2 with {} edge values and loads of {} elements: only plain sums of copy_u, or of "
             "u_mul_e with one value an edge of x's type, on tensors whose rows are aligned to "
             "16 bytes, have pairs to add up; leave the policy out",
             wide_edges ? "f32" : "no f32", shape.vector);
  return true;
}

template <class Storage>
void run(const SpmmArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  const bool by_edges = plan.stage_edges == 0 && sums_few_edge_values<Storage>(given);
  const SpmmArgs args = by_edges ? with_edges_as_sources(given) : given;
  SpmmCall<Storage> call = spmm_call<Storage>(args, plan, arena, by_edges);
  call.message = message_of(args, call);
  const auto shape_of = [&](int vector) { return gather_shape(call.common.features, sizeof(Storage), vector); };
  int vector = widest_pack(args, call, plan);
  const auto finish = [&](const GatherShape& shape) {
    with_reduction(call, [&](auto kind) {
      if (plan.finish_pass) launch_fix_up<Storage, kind>(call.common, shape, stream);
    });
  };
  if constexpr (sizeof(Storage) <= 4) {
    const GatherShape shape = shape_of(vector);
    if (over_tiles(args, call, plan, shape)) {
      launch_over_tiles(call.weighted(), plan, shape, stream);
      return finish(shape);
    }
  }
  if (sizeof(Storage) < 4 && (call.extremum || call.message == MessageKind::edgewise))
    vector = std::min(vector, tuning::most_halves_a_load_otherwise);
  const GatherShape shape = shape_of(vector);
  const auto launch = [&] {
    if (plan.shaped) require_ablations("lanes or loads");
    if (plan.accumulate == Accumulate::half2) require_ablations("accumulate=half2");
    if constexpr (has_ablations && std::is_same_v<Storage, float>)
      if (other_shape(plan, call.message, shape))
        return launch_other_shape(call.weighted(), {shape.vector, plan.lanes, plan.steps, plan.loads}, stream);
    if constexpr (has_ablations && sizeof(Storage) < 4)
      if (in_pairs(plan, call.message, call.operands.edge.wide, shape))
        return call.message == MessageKind::weighted
                   ? launch_half_pairs(call.weighted(), shape, stream)
                   : launch_half_pairs(GatherArgs<Source<Storage>>{call.common, {}}, shape, stream);
    with_reduction(call, [&](auto kind) { launch_tasks<kind>(call, shape, stream); });
  };
  if (call.common.split.tasks > 0) launch();
  finish(shape);
}

}  // namespace

void spmm(const SpmmArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  const SpmmArgs args = with_heads_joined(given);
  const Dtype dtype = plan.desc.dtype;
  const std::int64_t features = args.heads * args.width;
  WEFT_CHECK(!args.bias.given() || args.bias.dtype == dtype || (size_of(dtype) == 2 && args.bias.dtype == Dtype::f32),
             unsupported, "bias has dtype {}: spmm in {} on CUDA takes {}{}; convert it, or use the cpu device",
             name(args.bias.dtype), name(dtype), name(dtype), size_of(dtype) == 2 ? " or f32" : "");
  WEFT_CHECK(features < (std::int64_t{1} << 22), unsupported, "x has {} features a row: expected fewer than 2^22",
             features);
  if (features == 0 || args.graph.num_rows == 0) return;
  const OnDevice on(plan.device.index);
  with_storage(dtype, [&]<class Storage>(Storage) { run<Storage>(args, plan, arena, stream); });
}

}  // namespace weft::cuda
