// What an edge brings to its message besides the source's row: its value, the source's scale, or their product.
#pragma once

#include "kernels/cuda/spmm/spmm_args.hpp"

namespace weft::cuda {

template <class Storage, Message Sent, Reduction Kind>
struct EdgeValue {
  using Acc = AccumulatorOf<Storage>;
  const SpmmKernelArgs<Storage>& args;

  /// Of the k-th edge in the order of the work, with `id` where the plan has ids of its own.
  __device__ __forceinline__ Acc operator()(EdgeId k, std::int32_t id, NodeId col) const {
    if constexpr (Sent == Message::source) {
      return 0;
    } else if constexpr (Sent == Message::weighted) {
      return args.edge[args.split.ids != nullptr ? id : k];
    } else {
      const Acc scale = args.col_scale != nullptr ? __ldg(args.col_scale + col) : Acc(1);
      if (Sent == Message::edgewise || args.edge.data == nullptr) return signed_for_min(scale);
      return signed_for_min(scale * args.edge[args.split.id_of(k) * args.edge_pitch]);
    }
  }

 private:
  __device__ __forceinline__ Acc signed_for_min(Acc value) const {
    return Kind != Reduction::sum && args.finish.negated ? -value : value;
  }
};

}  // namespace weft::cuda
