// Operators by row windows. A sum: first the residual's into the workspace, then the windows', which add it and finish
// the rows. Dot products: those of either edges.
#include "kernels/cuda/windows/launch.hpp"

#include <cmath>

#include "core/check.hpp"
#include "core/device.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/attention/score_args.hpp"
#include "kernels/cuda/gather/common.hpp"
#include "kernels/cuda/pitch.hpp"
#include "kernels/cuda/spmm/call.hpp"
#include "kernels/cuda/windows/attention.hpp"
#include "kernels/cuda/windows/windows.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "plan/built_kernels.hpp"
#include "plan/cuda/windows.hpp"
#include "plan/plan_view.hpp"

namespace weft::cuda {
namespace {

void sum_residual(const SpmmArgs& args, const WindowPlan& plan, std::span<float> sums, Arena arena,
                  CUstream_st* stream) {
  SpmmArgs rest;
  rest.graph = view_by(plan.residual, plan.windows->residual());
  rest.op = args.op;
  rest.edge = args.edge;
  rest.reduce = Reduce::sum;
  rest.heads = args.heads;
  rest.width = args.width;
  rest.x = args.x;
  rest.col_scale = args.col_scale;
  rest.out = {sums.data(), Dtype::f32, args.heads * args.width};
  spmm(rest, plan.residual, arena, stream);
}

template <class Storage>
WindowSumArgs<Storage> window_sum_args(const SpmmArgs& args, const WindowPlan& plan, const WindowScratch& scratch) {
  WindowSumArgs<Storage> call;
  call.windows = plan.windows->view();
  call.window_rows = plan.windows->shape().rows;
  call.tiles = plan.windows->tiles();
  call.offsets = args.graph.offsets;
  call.x = static_cast<const Storage*>(args.x.data);
  call.x_pitch_bytes = pitch_bytes<Storage>("x", args.x.row_stride);
  call.features = static_cast<int>(args.width);
  call.pieces = scratch.pieces.empty() ? nullptr : scratch.pieces.data();
  call.col_scale = static_cast<const float*>(args.col_scale.data);
  if (args.op == SpmmOp::u_mul_e) {
    call.weights = static_cast<const Storage*>(args.edge.data);
    call.weights_pitch = args.edge.row_stride;
    call.edges = plan.windows->tile_edges();
  }
  call.residual = scratch.residual.empty() ? nullptr : scratch.residual.data();
  call.epilogue = row_epilogue<Storage>(args);
  return call;
}

template <class Storage>
void add_windows(const WindowSumArgs<Storage>& call, const CudaDevice& gpu, CUstream_st* stream) {
  if constexpr (has_wgmma) {
    const bool tf32 = sizeof(Storage) == 4 && call.pieces == nullptr;
    if (call.window_rows >= 64 && gpu.compute_capability == 90 && !tf32)
      return launch_window_sums_sm90(call, gpu.multiprocessors, stream);
  }
  launch_window_sums(call, stream);
}

/// What of a call keeps it from running by windows; null: nothing.
const char* misfit(const SpmmArgs& args, const Plan& plan) {
  const bool weighted = args.op == SpmmOp::u_mul_e;
  if ((args.op != SpmmOp::copy_u && !weighted) || args.heads != 1)
    return "only sums of sources run on tensor cores, as they are or times one value of each edge";
  if (args.col_scale.given() && plan.desc.dtype != Dtype::f32)
    return "col_scale runs on tensor cores in f32 alone: of f16 and bf16, a scaled source is no half any more";
  if (args.col_scale.given() && plan.cuda().tf32) return "tf32=yes takes sources as they are, without col_scale";
  if (weighted && (!plan.desc.weighted || args.edge.dtype != plan.desc.dtype || args.edge.feature_stride != 0 ||
                   args.edge_places != nullptr))
    return "values of edges are one for each edge, by id, in the type of x";
  if (!begins_at_16_bytes(args.x)) return "rows of x begin at addresses that are no multiples of 16 bytes";
  if (begins_at_odd_elements(args.out)) return "rows of out begin at odd elements";
  return nullptr;
}
const char* misfit(const SddmmArgs& args) {
  const bool between = (args.lhs_target == Target::u && args.rhs_target == Target::v) ||
                       (args.lhs_target == Target::v && args.rhs_target == Target::u);
  if (args.op != SddmmOp::dot || !between || args.heads != 1 || args.lhs.feature_stride == 0 ||
      args.rhs.feature_stride == 0)
    return "only dot products of the two ends of edges, of one head, run on tensor cores";
  if (!begins_at_16_bytes(args.lhs) || !begins_at_16_bytes(args.rhs))
    return "rows of lhs or rhs begin at addresses that are no multiples of 16 bytes";
  return nullptr;
}

/// Of scores that are dot products.
const char* misfit_of_products(const AttentionArgs& args) {
  static_assert(most_window_scores == 64);
  if (!score_depth_fits_windows(args.score_width))
    return "dot products of src and dst run on tensor cores over up to 64 features, a multiple of 8";
  if (const auto scale = static_cast<float>(args.scale); !(scale > 0 && std::isfinite(scale)))
    return "dot products of src and dst are scaled by a finite number above 0 on tensor cores";
  for (const Operand& side : {args.src, args.dst})
    if (!begins_at_16_bytes(side) || (args.heads > 1 && side.head_stride % 8 != 0))
      return "rows of src or dst begin at addresses that are no multiples of 16 bytes";
  return nullptr;
}
const char* misfit(const AttentionArgs& args) {
  if (args.score == Score::gatv2 || args.edge.given() || args.bias.given() || args.dropout.given())
    return "only scores of gat and dot run on tensor cores, without bias and dropout, and without edge";
  if (args.score == Score::gat && !(args.slope >= 0 && args.slope <= 1))
    return "leaky_relu's slope lies from 0 to 1 on tensor cores";
  if (args.score == Score::dot)
    if (const char* const why = misfit_of_products(args)) return why;
  if (!begins_at_16_bytes(args.value) || (args.heads > 1 && args.value.head_stride % 8 != 0))
    return "rows of value begin at addresses that are no multiples of 16 bytes";
  if (begins_at_odd_elements(args.out)) return "rows of out begin at odd elements";
  return nullptr;
}

template <class Storage>
WindowAttentionArgs<Storage> window_attention_args(const AttentionArgs& args, const WindowPlan& plan) {
  WindowAttentionArgs<Storage> call;
  call.windows = plan.windows->view();
  call.whole.split.graph = args.graph;
  call.whole.split.starts = args.graph.offsets;
  call.whole.epilogue = plain_epilogue<Storage>(args.out, "out");
  call.whole.features = static_cast<int>(args.heads * args.width);
  call.whole.x = static_cast<const Storage*>(args.value.data);
  call.whole.x_pitch_bytes = pitch_bytes<Storage>("value", args.value.row_stride);
  call.whole.message = score_args<Storage>(args);
  return call;
}

/// Into the workspace, where `call` is told to find it.
template <class Storage>
void attend_over_residual(WindowAttentionArgs<Storage>& call, const AttentionArgs& args, const WindowPlan& plan,
                          const WindowScratch& scratch, Arena arena, CUstream_st* stream) {
  if (scratch.residual.empty()) return;
  AttentionArgs rest = args;
  rest.graph = view_by(plan.residual, plan.windows->residual());
  rest.out = {scratch.residual.data(), Dtype::f32, args.heads * args.width};
  rest.row_max = {scratch.residual_max.data(), Dtype::f32, args.heads};
  rest.row_sum = {scratch.residual_sum.data(), Dtype::f32, args.heads};
  attention_forward(rest, plan.residual, arena, stream);
  call.residual_offsets = rest.graph.offsets;
  call.residual = scratch.residual.data();
  call.residual_max = scratch.residual_max.data();
  call.residual_sum = scratch.residual_sum.data();
}

}  // namespace

void spmm_by_windows(const SpmmArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  const WindowPlan& windows = *plan.backing.windows;
  if (const char* const why = misfit(args, plan)) {
    WEFT_CHECK(windows.otherwise.has_value(), unsupported, "policy core=tensor: {}; leave the policy out", why);
    return spmm(args, *windows.otherwise, arena, stream);
  }
  const WindowScratch scratch = WindowScratch::take(arena, plan, args.graph.num_rows);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) {
    if constexpr (sizeof(Storage) <= 4) {
      const auto call = window_sum_args<Storage>(args, windows, scratch);
      if constexpr (sizeof(Storage) == 4) {
        if (!plan.cuda().tf32)
          split_rows(
              {call.x, call.col_scale, args.graph.num_cols, args.x.row_stride, call.features, scratch.pieces.data()},
              stream);
      }
      if (!scratch.residual.empty()) sum_residual(args, windows, scratch.residual, arena, stream);
      add_windows(call, cuda_device(plan.device.index), stream);
    }
  });
}

void sddmm_by_windows(const SddmmArgs& args, const Plan& plan, CUstream_st* stream) {
  const WindowPlan& windows = *plan.backing.windows;
  if (const char* const why = misfit(args)) {
    WEFT_CHECK(windows.otherwise.has_value(), unsupported, "policy core=tensor: {}; leave the policy out", why);
    return sddmm(args, *windows.otherwise, stream);
  }
  SddmmArgs rest = args;
  rest.graph = view_by(windows.residual, windows.windows->residual());
  if (rest.graph.num_edges > 0) sddmm(rest, windows.residual, stream);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) {
    if constexpr (sizeof(Storage) == 2 && has_wgmma) {
      const bool sources_left = args.lhs_target == Target::u;
      const Operand &source = sources_left ? args.lhs : args.rhs, &destination = sources_left ? args.rhs : args.lhs;
      TileDotArgs<Storage> call;
      call.windows = windows.windows->view();
      call.edges = windows.windows->tile_edges();
      call.source = static_cast<const Storage*>(source.data);
      call.source_pitch_bytes = pitch_bytes<Storage>(sources_left ? "lhs" : "rhs", source.row_stride);
      call.destination = static_cast<const Storage*>(destination.data);
      call.destination_pitch_bytes = pitch_bytes<Storage>(sources_left ? "rhs" : "lhs", destination.row_stride);
      call.features = static_cast<int>(args.width);
      call.out = static_cast<Storage*>(args.out.data);
      call.wide = is_wide<Storage>(args.out.dtype);
      call.out_pitch = args.out.row_stride;
      launch_tile_dots_sm90(call, stream);
    }
  });
}

void attention_by_windows(const AttentionArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  const WindowPlan& windows = *plan.backing.windows;
  if (const char* const why = misfit(args)) {
    WEFT_CHECK(windows.otherwise.has_value(), unsupported, "policy core=tensor: {}; leave the policy out", why);
    return attention_forward(args, *windows.otherwise, arena, stream);
  }
  const WindowScratch scratch = WindowScratch::take(arena, plan, args.graph.num_rows);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) {
    if constexpr (sizeof(Storage) == 2 && has_wgmma) {
      if (args.score == Score::dot) {
        auto call = window_attention_args<Storage>(args, windows);
        attend_over_residual(call, args, windows, scratch, arena, stream);
        return launch_window_dot_sm90(call, stream);
      }
      WindowGatArgs<Storage> call{window_attention_args<Storage>(args, windows)};
      auto* const sources = reinterpret_cast<SourceTerms*>(scratch.terms.data());
      call.sources = sources;
      find_source_terms(call.whole, args.graph.num_cols, sources, stream);
      attend_over_residual<Storage>(call, args, windows, scratch, arena, stream);
      launch_window_gat_sm90(call, stream);
    }
  });
}

}  // namespace weft::cuda
