// From the arguments of spmm to launches: which message, which shape of loads, which share of the edges.
#include <algorithm>
#include <type_traits>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/pitch.hpp"
#include "kernels/cuda/schedule/plan_split.hpp"
#include "kernels/cuda/spmm/spmm_launch.hpp"
#include "kernels/heads.hpp"
#include "kernels/signatures.hpp"
#include "plan/cuda/scratch.hpp"
#include "plan/cuda/stage_choice.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft::cuda {
namespace {

bool extremum(Reduce reduce) { return reduce == Reduce::max || reduce == Reduce::min; }

/// Whether one value an edge (or none) and the sources, side by side, are all there is.
bool by_scalar(const SpmmArgs& args) {
  const bool scalar = args.edge.feature_stride == 0 || args.width == 1;
  return args.heads == 1 && (args.x.feature_stride != 0 || args.width == 1) &&
         (args.op == SpmmOp::copy_u || (args.op == SpmmOp::u_mul_e && scalar));
}

/// Whether a sum of edges' own values, few an edge, is one over rows of few features that edge ids find: such rows have
/// a kernel with its lanes along the edges.
template <class Storage>
bool sums_few_edge_values(const SpmmArgs& args) {
  const bool side_by_side =
      (args.width == 1 || args.edge.feature_stride == 1) && (args.heads == 1 || args.edge.head_stride == args.width);
  return args.op == SpmmOp::copy_e && !extremum(args.reduce) && is_narrow(args.heads * args.width, true) &&
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

template <class Storage>
Message message_of(const SpmmArgs& args, const SpmmKernelArgs<Storage>& kernel) {
  if (!by_scalar(args)) return Message::edgewise;
  const bool in_order = !kernel.edge.given() || (kernel.split.graph.edge_ids == nullptr && kernel.edge_pitch == 1);
  if (sizeof(Storage) > 4 || extremum(args.reduce) || !kernel.finish.light || kernel.col_scale != nullptr || !in_order)
    return Message::scaled;
  if (kernel.finish.mean)
    return kernel.edge.given() || is_narrow(kernel.features, true) ? Message::scaled : Message::averaged;
  return kernel.edge.given() ? Message::weighted : Message::source;
}

template <class Storage>
void launch_narrow(const SpmmKernelArgs<Storage>& args, Message message, int vector, CUstream_st* stream) {
  if (message == Message::scaled) return launch_narrow<Storage, Message::scaled>(args, vector, stream);
  if constexpr (sizeof(Storage) <= 4)
    message == Message::weighted ? launch_narrow<Storage, Message::weighted>(args, vector, stream)
                                 : launch_narrow<Storage, Message::source>(args, vector, stream);
}

/// Calls f(constant) for the reduction; in f64 the one that names winners serves every extremum.
template <class Storage, class F>
void with_reduction(bool largest, bool winners, const F& f) {
  if (!largest) return f(std::integral_constant<Reduction, Reduction::sum>{});
  if constexpr (sizeof(Storage) <= 4)
    if (!winners) return f(std::integral_constant<Reduction, Reduction::extremum>{});
  f(std::integral_constant<Reduction, Reduction::winner>{});
}

template <class Storage>
void launch(const SpmmKernelArgs<Storage>& args, Message message, bool largest, bool finish, const GatherShape& shape,
            CUstream_st* stream) {
  const bool winners = args.finish.arg_u != nullptr || args.finish.arg_e != nullptr;
  with_reduction<Storage>(largest, winners, [&](auto kind) {
    if (args.split.tasks > 0) {
      if (message == Message::edgewise) {
        launch_tasks<Storage, Message::edgewise, kind>(args, shape, stream);
      } else if (is_narrow(args.features, !largest)) {
        launch_narrow(args, message, shape.vector, stream);
      } else if (message == Message::scaled) {
        launch_tasks<Storage, Message::scaled, kind>(args, shape, stream);
      } else if constexpr (sizeof(Storage) <= 4) {  // only sums are sent as they are
        switch (message) {
          case Message::weighted: launch_tasks<Storage, Message::weighted, Reduction::sum>(args, shape, stream); break;
          case Message::averaged: launch_tasks<Storage, Message::averaged, Reduction::sum>(args, shape, stream); break;
          default: launch_tasks<Storage, Message::source, Reduction::sum>(args, shape, stream);
        }
      }
    }
    if (finish) launch_finish<Storage, kind>(args, shape, stream);
  });
}

/// Whether the kernel over tiles of edges in shared memory takes the call; if the planner chose it and it cannot, the
/// usual one takes the plan's tasks.
template <class Storage>
bool over_tiles(const SpmmArgs& args, const SpmmKernelArgs<Storage>& kernel, const Plan& plan,
                const GatherShape& shape) {
  if (plan.stage_edges == 0) return false;
  const bool packs = sizeof(Storage) == 4 || shape.vector * sizeof(Storage) == 16;
  const bool can = by_scalar(args) && kernel.col_scale == nullptr && !extremum(args.reduce) && kernel.finish.plain() &&
                   packs && !(kernel.finish.wide && plan.flush == Flush::atomic);
  WEFT_CHECK(can || !plan.stage_asked, unsupported,
             "policy {} for op {}, reduce {}{}: only sums of copy_u, or of u_mul_e with one value an edge, without an "
             "epilogue, have a kernel that stages edges in shared memory; halves need whole packs of 8 aligned to 16 "
             "bytes (here {}), and atomics an output of their type; leave the policy out",
             stage_text(plan), name(args.op), name(args.reduce), kernel.finish.plain() ? "" : " and an epilogue",
             shape.vector);
  return can;
}

/// Whether the call takes a kernel of the policy's own shape; an Error where that has none for it.
bool other_shape(const Plan& plan, Message message, const GatherShape& usual) {
  if (!plan.shaped) return false;
  WEFT_CHECK(message == Message::weighted && usual.vector == 4 && plan.lanes * plan.steps == usual.lanes * usual.steps,
             unsupported,
             "policy lanes={},loads={}: only u_mul_e with one value an edge, on tensors whose "
             "rows are aligned to 16 bytes and without an epilogue, has kernels of other shapes; leave the policy out",
             plan.lanes, plan.loads);
  return true;
}
void launch_shaped(const SpmmKernelArgs<float>& kernel, const Plan& plan, const GatherShape& usual,
                   CUstream_st* stream) {
  if (kernel.split.tasks > 0) launch_other_shape(kernel, {usual.vector, plan.lanes, plan.steps, plan.loads}, stream);
  if (plan.finish_pass) launch_finish<float, Reduction::sum>(kernel, usual, stream);
}

template <class Storage>
void launch_over_tiles(const SpmmArgs& args, const SpmmKernelArgs<Storage>& kernel, const Plan& plan,
                       const GatherShape& shape, CUstream_st* stream) {
  const bool round_robin = plan.assignment == Assignment::round_robin, atomic = plan.flush == Flush::atomic;
  if (atomic) {
    const auto rows = static_cast<std::size_t>(args.graph.num_rows);
    const std::size_t pitch = kernel.finish.pitch_bytes;
    const std::size_t row = static_cast<std::size_t>(kernel.features) * sizeof(Storage);
    Storage* out = kernel.finish.out;
    check(pitch == row ? cudaMemsetAsync(out, 0, rows * row, stream)
                       : cudaMemset2DAsync(out, pitch, 0, row, rows, stream),
          "zeros for {} rows of {} bytes before atomic additions", rows, row);
  }
  if (kernel.split.tasks > 0) {
    const auto launch = [&](auto tile) {
      launch_staged<Storage, decltype(tile)::value>(kernel, shape, round_robin, atomic, stream);
    };
    const auto by_tile = [&] {
      if constexpr (!std::is_same_v<Storage, __nv_bfloat16>)
        if (plan.stage_edges == 32) return launch(std::integral_constant<int, 32>{});
      if constexpr (std::is_same_v<Storage, __half>)
        if (plan.stage_edges == 64) return launch(std::integral_constant<int, 64>{});
      launch(std::integral_constant<int, 128>{});
    };
    by_tile();
  }
  if (plan.finish_pass) launch_finish<Storage, Reduction::sum>(kernel, shape, stream);
}

/// Whether batches are added up in pairs, as the policy asks; an Error where the call has no such kernel.
bool in_pairs(const Plan& plan, Message message, bool wide_edges, const GatherShape& shape) {
  if (plan.accumulate == Accumulate::f32) return false;
  WEFT_CHECK((message == Message::weighted || message == Message::source) && shape.vector == 8 && !wide_edges,
             unsupported,
             "policy accumulate=half2 with {} edge values and loads of {} elements: only plain sums of copy_u, or of "
             "u_mul_e with one value an edge of x's type, on tensors whose rows are aligned to "
             "16 bytes, have pairs to add up; leave the policy out",
             wide_edges ? "f32" : "no f32", shape.vector);
  return true;
}
template <class Storage>
void launch_in_pairs(const SpmmKernelArgs<Storage>& kernel, const Plan& plan, Message message, const GatherShape& shape,
                     CUstream_st* stream) {
  if (kernel.split.tasks > 0)
    message == Message::weighted ? launch_pairs<Storage, Message::weighted>(kernel, shape, stream)
                                 : launch_pairs<Storage, Message::source>(kernel, shape, stream);
  if (plan.finish_pass) launch_finish<Storage, Reduction::sum>(kernel, shape, stream);
}

template <class Storage>
void run(const SpmmArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  using Acc = AccumulatorOf<Storage>;
  const bool by_edges = plan.stage_edges == 0 && sums_few_edge_values<Storage>(given);
  const SpmmArgs args = by_edges ? with_edges_as_sources(given) : given;
  const std::int64_t features = args.heads * args.width;
  const bool largest = extremum(args.reduce);
  SpmmKernelArgs<Storage> kernel;
  kernel.split = edge_split_of(plan, args.graph);
  if (args.edge_places != nullptr) {
    WEFT_CHECK(args.arg_e == nullptr, internal, "arg_e would be places of edges, where ids are expected");
    kernel.split.ids = args.edge_places;
    kernel.split.id_shift = 0;
    kernel.split.graph.edge_ids = nullptr;
  }
  const bool clustered = walks_clusters(plan);
  WEFT_CHECK(!clustered || kernel.split.ids != nullptr || (!uses_edge(args.op) && !largest), invalid_argument,
             "plan is of a sum without values of edges, in the order {}: expected one made with weighted = true and "
             "the call's reducer",
             name(plan.order));
  if (by_edges) kernel.split.graph.cols = nullptr;
  const auto staged = StagedRows<Acc>::take(arena, plan);
  kernel.staging.values = staged.values.data();
  kernel.staging.places = staged.places.data();
  kernel.staging.pitch = staged_pitch(plan.desc);
  kernel.features = static_cast<int>(features);
  if (uses_node(args.op)) kernel.x = static_cast<const Storage*>(args.x.data);
  kernel.x_pitch_bytes = pitch_bytes<Storage>(by_edges ? "edge" : "x", args.x.row_stride);
  if (uses_edge(args.op)) kernel.edge = maybe_wide<Storage>(args.edge.data, args.edge.dtype);
  kernel.edge_pitch = args.edge.row_stride;
  kernel.col_scale = static_cast<const Acc*>(args.col_scale.data);
  kernel.op = args.op;
  kernel.width = static_cast<int>(args.width);
  kernel.x_head = args.x.head_stride;
  kernel.edge_head = args.edge.head_stride;
  kernel.x_vector = args.x.feature_stride != 0;
  kernel.edge_vector = args.edge.feature_stride != 0 && args.width > 1;  // of one feature: a value an edge and head
  kernel.finish.out = static_cast<Storage*>(args.out.data);
  kernel.finish.wide = is_wide<Storage>(args.out.dtype);
  kernel.finish.pitch_bytes = kernel.finish.wide ? pitch_bytes<Acc>("out", args.out.row_stride)
                                                 : pitch_bytes<Storage>("out", args.out.row_stride);
  kernel.finish.mean = args.reduce == Reduce::mean;
  kernel.finish.relu = args.relu;
  if (args.saturate) kernel.finish.most = static_cast<Acc>(largest_value(args.out.dtype));
  kernel.finish.negated = args.reduce == Reduce::min;
  kernel.finish.row_scale = static_cast<const Acc*>(args.row_scale.data);
  kernel.finish.bias = maybe_wide<Storage>(args.bias.data, args.bias.dtype);
  kernel.finish.arg_u = args.arg_u;
  kernel.finish.arg_e = args.arg_e;
  kernel.finish.as_it_is = kernel.finish.plain();
  kernel.finish.light = kernel.finish.plain(true);
  const Message message = message_of(args, kernel);
  // Packs do not reach across heads, and every array they move must allow them.
  std::int64_t most =
      std::min(aligned_elements(kernel.finish.out, kernel.finish.wide, args.out.row_stride), plan.vector);
  const auto also = [&](const Storage* data, std::int64_t pitch, std::int64_t head) {
    most = std::min<std::int64_t>(most, aligned_elements(data, pitch));
    if (args.heads > 1) most = std::min<std::int64_t>(most, aligned_elements(data, head));
  };
  if (kernel.x != nullptr && kernel.x_vector) also(kernel.x, args.x.row_stride, kernel.x_head);
  if (kernel.edge.given() && kernel.edge_vector && message == Message::edgewise)
    also(kernel.edge.narrow(), kernel.edge_pitch, kernel.edge_head);
  const std::int64_t unit = message == Message::edgewise ? args.width : features;
  const auto shape_of = [&](std::int64_t vector) {
    while (unit % vector != 0) vector /= 2;
    return gather_shape(features, sizeof(Storage), static_cast<int>(vector));
  };
  if constexpr (sizeof(Storage) <= 4) {
    const GatherShape shape = shape_of(most);
    if (over_tiles(args, kernel, plan, shape)) return launch_over_tiles(args, kernel, plan, shape, stream);
  }
  if (sizeof(Storage) < 4 && (largest || message == Message::edgewise))
    most = std::min<std::int64_t>(most, tuning::most_halves_a_load_otherwise);
  const GatherShape shape = shape_of(most);
  if constexpr (std::is_same_v<Storage, float>) {
    if (other_shape(plan, message, shape)) return launch_shaped(kernel, plan, shape, stream);
  }
  if constexpr (sizeof(Storage) < 4)
    if (in_pairs(plan, message, kernel.edge.wide, shape)) return launch_in_pairs(kernel, plan, message, shape, stream);
  launch(kernel, message, largest, plan.finish_pass, shape, stream);
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
  switch (dtype) {
    case Dtype::f16: return run<__half>(args, plan, arena, stream);
    case Dtype::bf16: return run<__nv_bfloat16>(args, plan, arena, stream);
    case Dtype::f64: return run<double>(args, plan, arena, stream);
    default: run<float>(args, plan, arena, stream);
  }
}

}  // namespace weft::cuda
