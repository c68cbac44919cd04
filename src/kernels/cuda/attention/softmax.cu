#include "core/cuda/each.cuh"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/attention/softmax_rows.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/schedule/plan_split.hpp"
#include "kernels/signatures.hpp"
#include "plan/cuda/scratch.hpp"

namespace weft::cuda {
namespace {

/// An edge's result from its row's statistics: a weight, or in the `Backward` alpha * (grad - sum).
template <class Storage, bool Backward>
struct WriteEdge {
  SoftmaxKernelArgs<Storage> args;
  __device__ void operator()(std::int64_t k) const {
    using Acc = AccumulatorOf<Storage>;
    const EdgeId id = args.split.id_of(k);
    const SoftmaxPart<Acc>* row = args.rows + __ldg(args.split.graph.rows + k) * std::int64_t{args.heads};
    for (int h = 0; h < args.heads; ++h) {
      const Acc score = widened(args.scores.data[id * args.scores.pitch + h]);
      const Acc value =
          Backward ? score * (widened(args.grad.data[id * args.grad.pitch + h]) - row[h].total) : row[h].weight(score);
      args.out.data[id * args.out.pitch + h] = static_cast<Storage>(value);
    }
  }
};

template <class Storage>
EdgeHeads<const Storage> heads_of(const Operand& o) {
  return {static_cast<const Storage*>(o.data), o.row_stride};
}

template <class Storage, bool Backward>
void run(const SoftmaxArgs& given, const Plan& plan, Arena arena, CUstream_st* stream) {
  using Acc = AccumulatorOf<Storage>;
  const auto scratch = SoftmaxRows<Acc>::take(arena, plan, given.graph.num_rows);
  SoftmaxKernelArgs<Storage> args;
  args.split = edge_split_of(plan, given.graph);
  args.split.graph.cols = nullptr;
  args.heads = static_cast<int>(given.heads);
  args.scores = heads_of<Storage>(given.scores);
  args.grad = heads_of<Storage>(given.grad);
  args.out = {static_cast<Storage*>(given.out.data), given.out.row_stride};
  args.rows = reinterpret_cast<SoftmaxPart<Acc>*>(scratch.rows.data());
  args.slots = reinterpret_cast<SoftmaxPart<Acc>*>(scratch.slots.data());

  const auto launch = [&]<int Heads>() {
    const dim3 grid(static_cast<unsigned>(args.split.blocks(softmax_warps)), static_cast<unsigned>(args.heads / Heads));
    if constexpr (Backward) {
      softmax_rows<Storage, Heads, ProductParts><<<grid, block_threads, 0, stream>>>(args);
    } else {
      softmax_rows<Storage, Heads, ScoreParts><<<grid, block_threads, 0, stream>>>(args);
    }
    check_launch("softmax", given.graph.num_rows, given.graph.num_edges, given.heads);
  };
  // Heads of an edge come by one load where they can: what is in memory between them is then read once.
  int most = aligned_elements(args.scores.data, args.scores.pitch);
  if (Backward) most = std::min(most, aligned_elements(args.grad.data, args.grad.pitch));
  const auto by_heads = [&] {
    if constexpr (sizeof(Storage) <= 4) {
      if (most >= 4 && args.heads % 4 == 0) return launch.template operator()<4>();
      if (most >= 2 && args.heads % 2 == 0) return launch.template operator()<2>();
    }
    launch.template operator()<1>();
  };
  by_heads();
  if (args.split.cuts) {
    finish_softmax_rows<<<blocks_for(given.graph.num_rows), block_threads, 0, stream>>>(args);
    check_launch("the rows of softmax that tasks cut", given.graph.num_rows, given.graph.num_edges, given.heads);
  }
  each(given.graph.num_edges, stream, "writing the weights of edges", WriteEdge<Storage, Backward>{args});
}

template <bool Backward>
void run(const SoftmaxArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  if (args.graph.num_edges == 0 || args.heads == 0) return;
  const OnDevice on(plan.device.index);
  switch (plan.desc.dtype) {
    case Dtype::f16: return run<__half, Backward>(args, plan, arena, stream);
    case Dtype::bf16: return run<__nv_bfloat16, Backward>(args, plan, arena, stream);
    case Dtype::f64: return run<double, Backward>(args, plan, arena, stream);
    default: run<float, Backward>(args, plan, arena, stream);
  }
}

}  // namespace

void softmax_forward(const SoftmaxArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  run<false>(args, plan, arena, stream);
}
void softmax_backward(const SoftmaxArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  run<true>(args, plan, arena, stream);
}

}  // namespace weft::cuda
