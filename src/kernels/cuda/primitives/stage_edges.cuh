// Edges on their way through shared memory: a warp's tile of column, row and value, copied while the warp works on the
// tile before it (stage 1 of GNNOne; HP-SpMM's tiles). How many edges a tile holds has nothing to do with how long rows
// are. (Wider rows keep edges in registers, see schedule/edge_chunk.cuh.)
#pragma once

#include <cstdint>

#include "core/cuda/copy_async.cuh"
#include "core/pack.hpp"
#include "kernels/cuda/maybe_wide.hpp"
#include "weft/types.hpp"

namespace weft::cuda {

template <int Tile, class Value>
struct EdgeTile {
  static_assert(sizeof(Value) == sizeof(NodeId) && Tile % 32 == 0 && Tile <= 128);
  alignas(16) NodeId cols[Tile];
  alignas(16) NodeId rows[Tile + 4];  // and the row of the edge after the tile
  alignas(16) Value values[Tile];
  unsigned ends[Tile / 32];  // bit p: a row ends with edge p

  /// `Count` bits from edge p on; they lie within a word where p is a multiple of Count, a power of two up to 32.
  template <int Count>
  __device__ __forceinline__ unsigned ends_from(int p) const {
    return ends[p / 32] >> (p % 32) & (Count >= 32 ? ~0u : (1u << (Count & 31)) - 1);
  }
};

/// The edges [begin, begin + length) of one warp, tile by tile. `place(k)` says where in `values` edge k's stands,
/// unless they are `in_order`. Values of two bytes are widened on the way, which takes them through registers: loaded
/// with one tile, stored with the next. Every lane of the warp makes every call.
template <int Tile, class Storage, class PlaceOf>
class StagedEdges {
 public:
  using Value = AccumulatorOf<Storage>;
  static constexpr int each = Tile / 32;  // edges a lane copies
  using Buffer = EdgeTile<Tile, Value>;

  /// At least one edge; the last one's row `runs_on` after them or not.
  __device__ __forceinline__ StagedEdges(Buffer (&buffers)[2], const NodeId* cols, const NodeId* rows,
                                         const MaybeWide<Storage>& values, EdgeId begin, int length, bool runs_on,
                                         bool in_order, const PlaceOf& place)
      : buffers_(buffers),
        cols_(cols),
        rows_(rows),
        values_(values),
        begin_(begin),
        length_(length),
        runs_on_(runs_on),
        in_order_(in_order),
        place_(place),
        lane_(threadIdx.x % 32) {
    if (values_.data == nullptr) {  // edges without values weigh 1, in every tile
#pragma unroll
      for (int i = 0; i < each; ++i) buffers_[0].values[i * 32 + lane_] = buffers_[1].values[i * 32 + lane_] = Value(1);
    }
    copy(0);
    commit_copies();
  }

  /// The tile of edges [first, first + Tile), which must follow the one before: asks for the next tile, then waits for
  /// this one. It stays until the call after.
  __device__ __forceinline__ const Buffer& turn(int first) {
    __syncwarp();  // no lane reads the tile before any more
    if (held()) {
#pragma unroll
      for (int i = 0; i < each; ++i) buffer(first).values[i * 32 + lane_] = widen(held_[i]);
    }
    if (first + Tile < length_) copy(first + Tile);
    commit_copies();
    wait_for_copies<1>();
    __syncwarp();  // what the other lanes have copied is there
    Buffer& tile = buffer(first);
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int p = i * 32 + lane_, left = length_ - first - p;
      const bool end = left > 1 ? tile.rows[p] != tile.rows[p + 1] : left == 1 && !runs_on_;
      const unsigned word = __ballot_sync(~0u, end);
      if (lane_ == 0) tile.ends[i] = word;
    }
    __syncwarp();
    return tile;
  }

 private:
  /// Whether values go through registers.
  __device__ __forceinline__ bool held() const {
    return MaybeWide<Storage>::can_differ && values_.data != nullptr && !values_.wide;
  }
  __device__ __forceinline__ Buffer& buffer(int first) const { return buffers_[first / Tile % 2]; }

  /// Neighbours in memory, `left` of them from `from` on; zeros after them.
  template <class T>
  __device__ __forceinline__ void copy_run(T* to, const T* from, int left) const {
    if constexpr (each == 4) {
      if (reinterpret_cast<std::uintptr_t>(from) % 16 == 0) {
        const int at = lane_ * 4;
        if (at + 4 <= left) {
          copy_async<16>(to + at, from + at, 16);
        } else {  // nothing behind the last edge is touched
#pragma unroll
          for (int i = 0; i < 4; ++i) copy_one(to + at + i, from, at + i, at + i < left);
        }
        return;
      }
    }
#pragma unroll
    for (int i = 0; i < each; ++i) copy_one(to + i * 32 + lane_, from, i * 32 + lane_, i * 32 + lane_ < left);
  }
  template <class T>
  __device__ __forceinline__ void copy_one(T* to, const T* from, std::int64_t at, bool given) const {
    copy_async<4>(to, from + (given ? at : 0), given ? 4 : 0);
  }
  __device__ __forceinline__ void copy(int first) {
    Buffer& tile = buffer(first);
    const int left = length_ - first;
    const EdgeId from = begin_ + first;
    copy_run(tile.cols, cols_ + from, left);
    copy_run(tile.rows, rows_ + from, left);
    if (lane_ == 0) copy_one(tile.rows + Tile, rows_ + from, Tile, left > Tile);
    if (values_.data == nullptr) return;
    if (held()) {
#pragma unroll
      for (int i = 0; i < each; ++i) {
        const int p = i * 32 + lane_;
        held_[i] = Storage{};
        if (p < left)
          held_[i] =
              load_element(static_cast<const Storage*>(values_.data) + (in_order_ ? from + p : place_(from + p)));
      }
      return;
    }
    const auto* const values = static_cast<const Value*>(values_.data);
    if (in_order_) {
      copy_run(tile.values, values + from, left);
      return;
    }
    // Places are waited for here: to load them a tile earlier takes registers from the rows of X in flight.
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int p = i * 32 + lane_;
      copy_one(tile.values + p, values, p < left ? place_(from + p) : 0, p < left);
    }
  }

  Buffer (&buffers_)[2];
  const NodeId* cols_;
  const NodeId* rows_;
  MaybeWide<Storage> values_;
  Storage held_[MaybeWide<Storage>::can_differ ? each : 1];  // of the tile that is on its way
  EdgeId begin_;
  int length_;
  bool runs_on_, in_order_;
  PlaceOf place_;
  int lane_;
};

}  // namespace weft::cuda
