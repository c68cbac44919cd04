#include <algorithm>

#include "core/loops/cuda/each.cuh"
#include "kernels/cuda/aligned.hpp"
#include "kernels/cuda/attention/softmax_rows.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/schedule/plan_split.hpp"
#include "kernels/cuda/with_storage.hpp"
#include "kernels/signatures.hpp"
#include "plan/cuda/scratch.hpp"

namespace weft::cuda {
namespace {

/// Edges' results from their rows' statistics: weights, or in the `Backward` alpha * (grad - sum). `Each` neighbours a
/// thread where values stand in the order of the work, one per edge.
template <class Storage, bool Backward, int Each>
struct WriteEdges {
  using Acc = AccumulatorOf<Storage>;
  SoftmaxKernelArgs<Storage> args;

  static __device__ __forceinline__ Acc result(const SoftmaxPart<Acc>& row, Acc score, Acc grad) {
    return Backward ? score * (grad - row.total) : row.weight(score);
  }
  __device__ void operator()(std::int64_t item) const {
    const std::int64_t k = item * Each;
    if constexpr (Each > 1) {
      if (k + Each > args.split.graph.num_edges) {
        for (std::int64_t i = k; i < args.split.graph.num_edges; ++i) one(i);
        return;
      }
      NodeId rows[Each];
      Storage scores[Each], grad[Each] = {};
      load_run(args.split.graph.rows + k, rows);
      load_run(args.scores.data + k, scores);
      if constexpr (Backward) load_run(args.grad.data + k, grad);
      SoftmaxPart<Acc> row[Each];
#pragma unroll
      for (int i = 0; i < Each; ++i) row[i] = args.rows[rows[i]];
      Pack<Storage, Each> out;
#pragma unroll
      for (int i = 0; i < Each; ++i) out.values[i] = narrow<Storage>(result(row[i], widen(scores[i]), widen(grad[i])));
      out.store(args.out.data + k);
    } else {
      one(k);
    }
  }
  __device__ void one(std::int64_t k) const {
    const EdgeId id = args.split.id_of(k);
    const SoftmaxPart<Acc>* row = args.rows + __ldg(args.split.graph.rows + k) * std::int64_t{args.heads};
    for (int h = 0; h < args.heads; ++h) {
      const Acc score = widen(args.scores.data[id * args.scores.pitch + h]);
      const Acc grad = Backward ? widen(args.grad.data[id * args.grad.pitch + h]) : Acc(0);
      args.out.data[id * args.out.pitch + h] = narrow<Storage>(result(row[h], score, grad));
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
    if constexpr (!StorageTraits<Storage>::is_double) {
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
  // In place is allowed: a thread reads what it writes, and nothing else of it.
  constexpr int run = 4;
  const bool runs = args.heads == 1 && args.split.in_order() && args.scores.pitch == 1 && args.out.pitch == 1 &&
                    (!Backward || args.grad.pitch == 1) &&
                    aligned_elements(args.out.data, run) >= std::min<int>(run, StorageTraits<Storage>::widest_load);
  if (runs) {
    each((given.graph.num_edges + run - 1) / run, stream, "writing the weights of edges",
         WriteEdges<Storage, Backward, run>{args});
  } else {
    each(given.graph.num_edges, stream, "writing the weights of edges", WriteEdges<Storage, Backward, 1>{args});
  }
}

template <bool Backward>
void run(const SoftmaxArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  if (args.graph.num_edges == 0 || args.heads == 0) return;
  const OnDevice on(plan.device.index);
  with_storage(plan.desc.dtype, [&]<class Storage>(Storage) { run<Storage, Backward>(args, plan, arena, stream); });
}

}  // namespace

void softmax_forward(const SoftmaxArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  run<false>(args, plan, arena, stream);
}
void softmax_backward(const SoftmaxArgs& args, const Plan& plan, Arena arena, CUstream_st* stream) {
  run<true>(args, plan, arena, stream);
}

}  // namespace weft::cuda
