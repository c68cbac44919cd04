// What an edge sends to its destination, as types: which arguments each message has. What a lane does with them is in
// scalar.cuh, edgewise.cuh and attention/.
#pragma once

#include <cstdint>

#include "kernels/cuda/gather/args.hpp"

namespace weft::cuda {

/// x[u]; rows are stored as they were reduced.
template <class StorageOf>
struct Source {
  using Storage = StorageOf;
  static constexpr KernelMessage kind = KernelMessage::source;
  static constexpr RowResult result = RowResult::as_reduced;
  struct Args {};
};

/// x[u]; rows are stored as means.
template <class StorageOf>
struct Averaged {
  using Storage = StorageOf;
  static constexpr KernelMessage kind = KernelMessage::averaged;
  static constexpr RowResult result = RowResult::mean;
  struct Args {};
};

/// x[u] times one value per edge; rows are stored as they were reduced. Values stand in the order of the work, or are
/// found by EdgeSplit::ids.
template <class StorageOf>
struct Weighted {
  using Storage = StorageOf;
  static constexpr KernelMessage kind = KernelMessage::weighted;
  static constexpr RowResult result = RowResult::as_reduced;
  struct Args {
    MaybeWide<Storage> edge;
    std::int64_t edge_pitch = 1;
  };
};

/// x[u] times what is given of one value per edge, by edge id, and one per source, with the whole epilogue.
template <class StorageOf>
struct Scaled {
  using Storage = StorageOf;
  static constexpr KernelMessage kind = KernelMessage::scaled;
  static constexpr RowResult result = RowResult::with_epilogue;
  struct Args {
    MaybeWide<Storage> edge;
    std::int64_t edge_pitch = 1;
    const AccumulatorOf<Storage>* col_scale = nullptr;
  };
};

/// op(x[u], e) times one value per source if given, where e is one value per edge, a head or a feature; with the whole
/// epilogue.
template <class StorageOf>
struct Edgewise {
  using Storage = StorageOf;
  static constexpr KernelMessage kind = KernelMessage::edgewise;
  static constexpr RowResult result = RowResult::with_epilogue;
  struct Args : HeadLayout {
    SpmmOp op = SpmmOp::u_mul_e;
    MaybeWide<Storage> edge;  // by edge id
    std::int64_t edge_pitch = 1, edge_head = 0;
    bool x_vector = true, edge_vector = false;  // one value per feature, else one per head
    const AccumulatorOf<Storage>* col_scale = nullptr;
  };
};

}  // namespace weft::cuda
