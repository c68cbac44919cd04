// Rows of a product that are sums over neighbours. A quad of lanes has a row, each 16 bytes of every chunk of it, so
// that a sum stands in the registers from which the product reads it. Neighbours' rows come by the product's queue:
// chunk after chunk, and of each the first edges of the tile's rows, then their second ones, and so on, in stored
// order.
#pragma once

#include "dense/cuda/product_kernel.cuh"

namespace weft::dense::cuda {

/// Up to eight numbers for each of a lane's rows, one after the other, that its quad holds in registers: lane q has the
/// q-th and the (q + 4)-th.
template <class Number, int Vectors>
struct HeldByQuad {
  static constexpr int count = 8;
  Number low[Vectors], high[Vectors];
  __device__ __forceinline__ Number at(int v, int i) const {
    return __shfl_sync(~0u, i % count < 4 ? low[v] : high[v], i % 4, 4);
  }
};

template <class T, int Groups, int Blocks, int Warps, int Stages>
class NeighbourFeed : public Queue<T, Groups, Blocks, Warps, Stages> {
  using Base = Queue<T, Groups, Blocks, Warps, Stages>;

 public:
  using Base::rows, Base::vectors;
  using Source = NeighbourRows;
  /// Neighbouring tiles are a block's own, as the rows that they read are often the same.
  static __device__ __forceinline__ int first_tile() { return blockIdx.x * Warps + threadIdx.x / lanes; }

  __device__ __forceinline__ NeighbourFeed(const ProductArgs& args, const Source& from, const ProductShape& shape,
                                           char* memory)
      : Base(args, memory),
        from_(from),
        chunks_(shape.chunks),
        pitch_(static_cast<int>(args.k * sizeof(T))),
        rows_stride_(Warps * gridDim.x * rows) {
    if (from.eps != nullptr) self_ += __ldg(static_cast<const float*>(from.eps));
    asked_left_ = static_cast<int>(args.m) - (first_tile() * rows + static_cast<int>(threadIdx.x % lanes / 4));
    begin_asking();
#pragma unroll 1
    for (int s = 0; s < Stages; ++s) push();
  }

  /// Turns to a tile's rows.
  __device__ __forceinline__ void begin(int tile) {
    row_ = tile * rows + threadIdx.x % lanes / 4;
    left_ = static_cast<int>(this->args_.m) - row_;
    Places now;
    find(now, left_);
    edges_ = most_edges(now);
    load_weights(now, 0);
    const auto* const scale = static_cast<const float*>(from_.row_scale);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      factor_[v] = scale != nullptr && 8 * v < left_ ? __ldg(scale + row_ + 8 * v) : 1;
      if (from_.mean && now.degree[v] > 0) factor_[v] /= static_cast<float>(now.degree[v]);
    }
  }
  /// The next chunk of those rows.
  __device__ __forceinline__ void take(uint4 (&values)[vectors], int chunk) {
    float sums[vectors][count] = {};
    const bool self = from_.adds_self || edges_ == 0;  // the rows' own, or nothing
#pragma unroll 1
    for (int edge = 0; edge < edges_ + self; ++edge) {
      if (edge == edges_) scale(sums);
      if (edge % held == 0 && edges_ > held && is_weighted()) {
        Places now;
        find(now, left_);
        load_weights(now, edge);
      }
      float weight[vectors];
#pragma unroll
      for (int v = 0; v < vectors; ++v) weight[v] = edge == edges_ ? self_ : is_weighted() ? weights_.at(v, edge) : 1;
      add_next(sums, weight);
    }
    if (!self) scale(sums);
    finish(sums, values, chunk);
  }
  __device__ __forceinline__ void taken() {}

  /// Asks for more, into the place of what was popped last.
  __device__ __forceinline__ void push() {
    if (asked_left_ + static_cast<int>(threadIdx.x % lanes / 4) > 0) {  // the warp's tile begins before the end
      if (step_ < chunks_) {
        ask_rows();
        if (step_ == 0 && edge_ == 0) ask_columns_ahead();
        if (++edge_ == asked_edges_) {
          edge_ = 0;
          ++step_;
          if (asked_.edges > held) load_columns(0);
        } else if (edge_ % held == 0 && edge_ < asked_.edges) {
          load_columns(edge_);
        }
      } else {
        this->ask_extra(step_ - chunks_, asked_left_);
        ++step_;
      }
      if (step_ == chunks_ + this->extras()) {
        asked_left_ -= rows_stride_;
        begin_asking();
      }
    }
    this->asked();
  }

 private:
  static constexpr int count = pack_size<T>, held = HeldByQuad<int, vectors>::count;

  /// Edges of a lane's rows.
  struct Places {
    EdgeId begin[vectors];
    int degree[vectors];
  };
  struct Asked : Places {
    int edges;  // of the longest row of the tile
  };

  /// `left`: rows from this lane's first on. Rows past the end have no edges.
  __device__ __forceinline__ void find(Places& places, int left) const {
    const std::int64_t row = this->args_.m - left;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const bool there = 8 * v < left;
      places.begin[v] = there ? __ldg(from_.graph.offsets + row + 8 * v) : 0;
      places.degree[v] = there ? static_cast<int>(__ldg(from_.graph.offsets + row + 8 * v + 1) - places.begin[v]) : 0;
    }
  }
  static __device__ __forceinline__ int most_edges(const Places& places) {
    int most = 0;
#pragma unroll
    for (int v = 0; v < vectors; ++v) most = max(most, places.degree[v]);
    return __reduce_max_sync(~0u, most);
  }

  // ---- Asking --------------------------------------------------------------------------------

  /// Turns to the next tile. Where its edges are, and their columns, was asked for while the last ones were.
  __device__ __forceinline__ void begin_asking() {
    find(asked_, asked_left_);
    asked_.edges = most_edges(asked_);
    const int all = asked_.edges + from_.adds_self;
    asked_edges_ = all > 0 ? all : 1;
    step_ = edge_ = 0;
    load_columns(0);
    const std::int64_t later = this->args_.m - asked_left_ + 2 * std::int64_t{rows_stride_};
    if (later < this->args_.m) weft::cuda::prefetch_to_l1(from_.graph.offsets + later);
  }
  /// Those of the next tile, to L1. (Its places are there by now, and take no registers until they are needed.)
  __device__ __forceinline__ void ask_columns_ahead() const {
    Places ahead;
    find(ahead, asked_left_ - rows_stride_);
#pragma unroll
    for (int v = 0; v < vectors; ++v)
      if (ahead.degree[v] > 0) weft::cuda::prefetch_to_l1(from_.graph.cols + ahead.begin[v]);
  }
  __device__ __forceinline__ void load_columns(int first) {
    const auto load = [&](int v, int i) {
      return i < asked_.degree[v] ? __ldg(from_.graph.cols + asked_.begin[v] + i) : 0;
    };
    const int quad = threadIdx.x % 4;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      columns_.low[v] = load(v, first + quad);
      columns_.high[v] = load(v, first + 4 + quad);
    }
  }
  __device__ __forceinline__ void ask_rows() {
    const unsigned to = this->place();
    const int byte = (step_ * 4 + threadIdx.x % 4) * 16;
    const char* const x = static_cast<const char*>(from_.x) + byte;
    const bool inside = byte < pitch_, of_neighbours = edge_ < asked_.edges;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t own = this->args_.m - asked_left_ + 8 * v;
      const int column = columns_.at(v, edge_);
      const bool there = of_neighbours ? edge_ < asked_.degree[v]
                                       : from_.adds_self && 8 * v < asked_left_ && own < from_.graph.num_cols;
      // A row is read again by its other neighbours, whose tiles are often this block's, too.
      weft::cuda::copy_async_through_l1(to + v * Base::slot_bytes, x + (of_neighbours ? column : own) * pitch_,
                                        inside && there);
    }
  }

  // ---- Adding up -----------------------------------------------------------------------------

  __device__ __forceinline__ bool is_weighted() const { return from_.edge != nullptr || from_.col_scale != nullptr; }
  __device__ __forceinline__ void load_weights(const Places& now, int first) {
    if (!is_weighted()) return;
    const int quad = threadIdx.x % 4;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      weights_.low[v] = weight_of(now, v, first + quad);
      weights_.high[v] = weight_of(now, v, first + 4 + quad);
    }
  }
  __device__ __forceinline__ float weight_of(const Places& now, int v, int i) const {
    if (i >= now.degree[v]) return 0;
    const EdgeId at = now.begin[v] + i;
    float weight = 1;
    if (from_.edge != nullptr) {
      const EdgeId id = from_.graph.edge_ids != nullptr ? __ldg(from_.graph.edge_ids + at) : at;
      weight = from_.edge_dtype == Dtype::f32 ? __ldg(static_cast<const float*>(from_.edge) + id)
                                              : widen(static_cast<const T*>(from_.edge)[id]);
    }
    if (from_.col_scale != nullptr)
      weight *= __ldg(static_cast<const float*>(from_.col_scale) + __ldg(from_.graph.cols + at));
    return weight;
  }
  __device__ __forceinline__ void scale(float (&sums)[vectors][count]) const {
    if (from_.row_scale == nullptr && !from_.mean) return;
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll
      for (int i = 0; i < count; ++i) sums[v][i] *= factor_[v];
  }
  __device__ __forceinline__ void add_next(float (&sums)[vectors][count], const float (&weight)[vectors]) {
    uint4 next[vectors];
    this->pop(next);
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const auto& pack = reinterpret_cast<const Pack<T>&>(next[v]);
#pragma unroll
      for (int i = 0; i < count; ++i) sums[v][i] += weight[v] * widen(pack.values[i]);
    }
    push();
  }
  /// Rounds the rows to what would be stored, which is what is multiplied.
  __device__ __forceinline__ void finish(float (&sums)[vectors][count], uint4 (&values)[vectors], int chunk) const {
    const int column = (chunk * 4 + threadIdx.x % 4) * count, k = static_cast<int>(this->args_.k);
    const bool inside = column < k;
    if (from_.bias != nullptr && inside) {
      const auto* const bias = static_cast<const float*>(from_.bias) + column;  // of any alignment
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const float of = __ldg(bias + i);
#pragma unroll
        for (int v = 0; v < vectors; ++v) sums[v][i] += of;
      }
    }
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      auto& packed = reinterpret_cast<Pack<T>&>(values[v]);
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const float value = from_.relu && sums[v][i] <= 0 ? 0 : sums[v][i];  // NaN stays
        packed.values[i] = from_.saturates ? narrow_within<T>(value) : narrow<T>(value);
      }
      if (from_.kept != nullptr && inside && 8 * v < left_)
        *reinterpret_cast<Pack<T>*>(static_cast<T*>(from_.kept) + static_cast<std::int64_t>(row_ + 8 * v) * k +
                                    column) = packed;
    }
  }

  const NeighbourRows& from_;
  int chunks_, pitch_, rows_stride_;  // pitch: bytes of a row of x
  float self_ = 1;                    // what a row's own counts for
  // Of the tile that is asked for:
  Asked asked_;
  HeldByQuad<int, vectors> columns_;
  int asked_left_, asked_edges_, step_, edge_;  // steps: chunks, then extras; rows asked for a chunk
  // Of the tile that is added up:
  HeldByQuad<float, vectors> weights_;
  float factor_[vectors];
  int row_, left_, edges_;
};

}  // namespace weft::dense::cuda
