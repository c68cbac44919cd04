// What an edge brings to its message besides the source's row: its value, the source's scale, or their product.
#pragma once

#include <type_traits>

#include "kernels/cuda/spmm/spmm_args.hpp"

namespace weft::cuda {

/// In two steps, as whoever computes with what was loaded waits for it: `load` when the edge's chunk is fetched,
/// `value` when the chunk is worked on.
template <class Storage, Message Sent, Reduction Kind>
struct EdgeValue {
  using Acc = AccumulatorOf<Storage>;
  using Values = MaybeWide<Storage>;
  static constexpr bool has_value = Sent == Message::weighted || Sent == Message::scaled;
  static constexpr bool has_scale = Sent == Message::scaled || Sent == Message::edgewise;
  static constexpr bool has_place = Sent == Message::returned;
  struct Nothing {};
  struct Loaded {
    [[no_unique_address]] std::conditional_t<has_value, typename Values::Loaded, Nothing> value = {};
    [[no_unique_address]] std::conditional_t<has_scale, Acc, Nothing> scale = {};
    [[no_unique_address]] std::conditional_t<has_place, std::int32_t, Nothing> place = {};  // unless by_id
  };
  const SpmmKernelArgs<Storage>& args;

  /// Of the k-th edge in the order of the work, with `id` where edges have ids.
  __device__ __forceinline__ Loaded load(EdgeId k, std::int32_t id, NodeId col) const {
    Loaded loaded;
    if constexpr (has_place)
      loaded.place = args.returned.places != nullptr ? __ldg(args.returned.places + k) : static_cast<std::int32_t>(k);
    if constexpr (has_scale) loaded.scale = args.col_scale != nullptr ? __ldg(args.col_scale + col) : Acc(1);
    if constexpr (Sent == Message::weighted) loaded.value = args.edge.load(args.split.ids != nullptr ? id : k);
    if constexpr (Sent == Message::scaled)
      if (args.edge.data != nullptr) loaded.value = args.edge.load(args.split.id_of(k) * args.edge_pitch);
    return loaded;
  }
  __device__ __forceinline__ Acc value(const Loaded& loaded) const {
    if constexpr (!has_value && !has_scale) {
      return 0;
    } else if constexpr (Sent == Message::weighted) {
      return args.edge.value(loaded.value);
    } else {
      Acc value = loaded.scale;
      if constexpr (Sent == Message::scaled)
        if (args.edge.data != nullptr) value *= args.edge.value(loaded.value);
      return Kind != Reduction::sum && args.finish.negated ? -value : value;
    }
  }
};

}  // namespace weft::cuda
