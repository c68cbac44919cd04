// From the arguments of spmm to launches: which message, which shape of loads, which share of the edges.
#include <algorithm>
#include <type_traits>

#include "core/check.hpp"
#include "core/cuda/check.hpp"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/gather/launch.hpp"
#include "kernels/cuda/sample.hpp"
#include "kernels/cuda/spmm/cache_first.hpp"
#include "kernels/cuda/spmm/call.hpp"
#include "kernels/cuda/windows/launch.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "kernels/heads.hpp"
#include "plan/built_kernels.hpp"
#include "plan/cuda/select.hpp"

namespace weft::cuda {
namespace {

template <int Value>
using Constant = std::integral_constant<int, Value>;

/// Whether a sum of edges' own values, few per edge, is one over rows of few features that edge ids find: such rows
/// have a kernel with its lanes along the edges.
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
  int most = std::min(aligned_elements(epilogue.out, epilogue.wide, args.out.row_stride), plan.cuda().vector);
  const auto also = [&](const Storage* data, std::int64_t pitch, std::int64_t head) {
    most = std::min(most, aligned_elements(data, pitch));
    if (args.heads > 1) most = std::min(most, aligned_elements(data, head));
  };
  if (call.common.x != nullptr && operands.x_vector) also(call.common.x, args.x.row_stride, operands.x_head);
  const bool edgewise = !call.traits.one_value_an_edge;
  if (operands.edge.given() && operands.edge_vector && edgewise)
    also(operands.edge.narrow(), operands.edge_pitch, operands.edge_head);
  const std::int64_t unit = edgewise ? args.width : call.common.features;
  while (unit % most != 0) most /= 2;
  return most;
}

/// Calls f(constant) for the reduction. (f64 is for gradient checks, and has no kernels for the extremum alone.)
template <class Storage, class F>
void with_reduction(Reduction kind, const F& f) {
  if (kind == Reduction::sum) return f(std::integral_constant<Reduction, Reduction::sum>{});
  if constexpr (!StorageTraits<Storage>::is_double)
    if (kind == Reduction::extremum) return f(std::integral_constant<Reduction, Reduction::extremum>{});
  f(std::integral_constant<Reduction, Reduction::winner>{});
}

template <class Storage>
void launch_over_tiles(const GatherArgs<Weighted<Storage>>& args, const Plan& plan, const Kernel& kernel,
                       CUstream_st* stream) {
  const bool round_robin = plan.assignment == Assignment::round_robin, atomic = plan.cuda().flush == Flush::atomic;
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
  const auto launched_if = [&]<int Tile>(Constant<Tile>) {
    constexpr int row =
        row_index(KernelFamily::staged, KernelMessage::weighted, Reduction::sum, dtype_of<Storage>, Tile);
    if constexpr (row >= 0) {
      if constexpr (is_built(kernel_rows[row])) {
        if (kernel.stage_edges != Tile) return false;
        launch_staged<Weighted<Storage>, Tile>(args, kernel.shape, round_robin, atomic, stream);
        return true;
      }
    }
    return false;
  };
  if (!launched_if(Constant<128>{}) && !launched_if(Constant<64>{}) && !launched_if(Constant<32>{}))
    refuse_shape(kernel.shape);
}

/// Launches the kernel that was selected, of those that this storage type, message and reduction have.
template <class Storage>
void launch_tasks(const Kernel& kernel, const SpmmCall<Storage>& call, CUstream_st* stream) {
  with_message(kernel.message, call, [&]<class Message>(const GatherArgs<Message>& args) {
    constexpr auto built = [](KernelFamily family, Reduction kind) {
      const int row = row_index(family, Message::kind, kind, dtype_of<Storage>);
      return row >= 0 && is_built(kernel_rows[row]);
    };
    if constexpr (built(KernelFamily::narrow, Reduction::sum))
      if (kernel.family == KernelFamily::narrow) return launch_narrow(args, kernel.shape, stream);
    if constexpr (built(KernelFamily::half_pairs, Reduction::sum))
      if (kernel.family == KernelFamily::half_pairs) return launch_half_pairs(args, kernel.shape, stream);
    if constexpr (built(KernelFamily::other_shapes, Reduction::sum))
      if (kernel.family == KernelFamily::other_shapes) return launch_other_shape(args, kernel.shape, stream);
    with_reduction<Storage>(kernel.reduction, [&](auto kind) {
      if constexpr (built(KernelFamily::gather, kind)) {
        launch_gather<Message, kind>(args, kernel.shape, stream);
      } else {
        refuse_shape(kernel.shape);
      }
    });
  });
}

/// ES-SpMM's own kernel, for what its paper sums.
template <class Storage>
void run_cache_first(const SpmmCall<Storage>& call, const SpmmArgs& args, CUstream_st* stream) {
  const SpmmTraits& traits = call.traits;
  WEFT_CHECK(
      traits.one_value_an_edge && !traits.epilogue && !traits.scaled_sources && !args.unbiased_sums, unsupported,
      "policy sample_kernel=cache_first: its kernel sums sources, or sources times one value per edge, and stores "
      "the sum or the mean as it is; leave the policy out");
  if constexpr (has_ablations && !StorageTraits<Storage>::is_double)
    launch_cache_first(call.weighted(), args.sample, stream);
}

template <class Storage>
void run(const SpmmArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  const bool cache_first = plan.cuda().sample_kernel == SampleKernel::cache_first;
  const bool by_edges = !cache_first && plan.cuda().stage_edges == 0 && sums_few_edge_values<Storage>(given);
  const SpmmArgs args = by_edges ? with_edges_as_sources(given) : given;
  const SpmmCall<Storage> call = spmm_call<Storage>(args, plan, arena, by_edges);
  if (cache_first) return run_cache_first(call, args, stream);
  const auto [kernel, row] = select_spmm(plan, call.traits, widest_pack(args, call, plan));
  WEFT_CHECK(has_kernel(kernel), internal, "the call needs a kernel that is not there: {}", to_string(kernel));
  if (kernel.family != KernelFamily::staged) {
    if (call.common.split.tasks > 0) launch_tasks(kernel, call, stream);
  } else if constexpr (!StorageTraits<Storage>::is_double) {
    launch_over_tiles(call.weighted(), plan, kernel, stream);
  }
  if (plan.cuda().finish_pass)
    with_reduction<Storage>(kernel.reduction,
                            [&](auto kind) { launch_fix_up<Storage, kind>(call.common, row, stream); });
}

}  // namespace

void spmm(const SpmmArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  const SpmmArgs args = with_heads_joined(given);
  const Dtype dtype = plan.desc.dtype;
  const std::int64_t features = args.heads * args.width;
  WEFT_CHECK(!args.bias.given() || args.bias.dtype == dtype || (size_of(dtype) == 2 && args.bias.dtype == Dtype::f32),
             unsupported, "bias has dtype {}: spmm in {} on CUDA takes {}{}; convert it, or use the cpu device",
             name(args.bias.dtype), name(dtype), name(dtype), size_of(dtype) == 2 ? " or f32" : "");
  WEFT_CHECK(features < (std::int64_t{1} << 22), unsupported, "x has {} features per row: expected fewer than 2^22",
             features);
  if (features == 0 || args.graph.num_rows == 0) return;
  const OnDevice on(plan.device.index);
  if (plan.cuda().core == Core::tensor) return spmm_by_windows(args, plan, arena, stream);
  const bool draws = plan.cuda().sample_kernel == SampleKernel::usual;
  const SpmmArgs drawn = draws ? with_sample_drawn(args, plan, arena, stream) : args;
  with_storage(dtype, [&]<class Storage>(Storage) { run<Storage>(drawn, plan, arena, stream); });
}

}  // namespace weft::cuda
