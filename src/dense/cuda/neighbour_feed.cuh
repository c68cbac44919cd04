// Rows of a product that are sums over neighbours. A warp copies a chunk (64 bytes) of every source of its 16 rows to
// shared memory, a slot for each edge in stored order, several chunks ahead. Sums of halves come by a product on tensor
// cores, of ones where a row has an edge with what is in the slots; all others are added up lane by lane. Both leave a
// sum in the registers from which the product with the weights reads it.
#pragma once

#include "dense/cuda/neighbour_slots.cuh"
#include "dense/cuda/queue.cuh"
#include "kernels/cuda/primitives/reduce.cuh"
#include "plan/tuning/fusion.hpp"

namespace weft::dense::cuda {

/// What a warp has to know of a tile's rows and edges when it adds them up.
struct TileNotes {
  static constexpr int too_many = 0xffff;  // edges for the slots
  std::uint16_t starts[24];                // [row] the first slot of its edges, and behind the last row's
  float factors[16];                       // of rows
  float weights[NeighbourStage::slots];    // of edges
};

template <class T, int Groups, int Blocks, int Warps, int Stages>
class NeighbourFeed : public Queue<T, Groups, Blocks, Warps, Stages, sizeof(NeighbourStage)> {
  using Base = Queue<T, Groups, Blocks, Warps, Stages, sizeof(NeighbourStage)>;
  using Slots = NeighbourSlots<T>;
  static_assert(Blocks == 1 && Stages >= 2, "notes of a tile are written when the next stage is asked for");
  static_assert(NeighbourStage::slots == 64, "a mask has a bit for every slot");
  static_assert(Base::rows * tuning::most_fused_row < TileNotes::too_many, "notes have where every row's edges begin");
  static constexpr int noted_tiles = Stages + 1;

 public:
  using Base::rows, Base::vectors;
  using Source = NeighbourRows;
  static constexpr bool loads_weights_in_order = true;
  static constexpr int notes_bytes = noted_tiles * static_cast<int>(sizeof(TileNotes));
  static constexpr int bytes = Base::bytes + Warps * (notes_bytes + Slots::operand_bytes);

  /// Neighbouring tiles are a block's own, as the rows that they read are often the same.
  static __device__ __forceinline__ int first_tile() { return blockIdx.x * Warps + threadIdx.x / lanes; }

  __device__ __forceinline__ NeighbourFeed(const ProductArgs& args, const Source& from, const ProductShape& shape,
                                           char* memory)
      : Base(args, memory),
        from_(from),
        notes_(reinterpret_cast<TileNotes*>(memory + Base::bytes) + threadIdx.x / lanes * noted_tiles),
        operands_(reinterpret_cast<uint4*>(memory + Base::bytes + Warps * notes_bytes +
                                           threadIdx.x / lanes * Slots::operand_bytes) +
                  threadIdx.x % lanes),
        chunks_(shape.chunks),
        tiles_(shape.tiles),
        x_(static_cast<const char*>(from.x) + threadIdx.x % 4 * 16),
        pitch_(static_cast<std::uint32_t>(args.k * sizeof(T))),
        place_(place_of_row<T>(this->stage())),
        capacity_(NeighbourStage::slots - (from.adds_self ? rows : 0)),
        asked_tile_(first_tile()) {
    if (from.eps != nullptr) self_ += __ldg(static_cast<const float*>(from.eps));
    next_ = places_of(offset_of(asked_tile_));
    load_columns(next_columns_, next_);
    offset_after_ = offset_of(asked_tile_ + stride());
    begin_asking();
#pragma unroll 1
    for (int s = 0; s < Stages; ++s) push();
  }

  /// Turns to a tile's rows.
  __device__ __forceinline__ void begin(int tile) { row_ = tile * rows + group(); }
  /// The next chunk of those rows; `taken` once its words are used.
  __device__ __forceinline__ void take(uint4 (&values)[vectors], int chunk) {
    wait_for_copies<Stages - 1>();
    __syncwarp();  // other lanes' copies, too
    const TileNotes& notes = notes_[noted_];
    if (chunk == 0) read(notes);
    float sums[vectors][count] = {};
    if (edges_ == TileNotes::too_many) {
      add_from_memory(sums, chunk);
    } else if (!is_weighted()) {
      bool done = false;
      if constexpr (Slots::multiplies) done = slots().multiply_edges(sums, operands_, edges_);
      if (!done) add_slots(sums, [](int) { return 1.0f; });
    } else {
      add_slots(sums, [&](int slot) { return notes.weights[slot]; });
    }
    if (from_.row_scale != nullptr || from_.mean)
#pragma unroll
      for (int v = 0; v < vectors; ++v)
#pragma unroll
        for (int i = 0; i < count; ++i) sums[v][i] *= notes.factors[group() + 8 * v];
    if (from_.adds_self)
#pragma unroll
      for (int v = 0; v < vectors; ++v) Slots::add(sums[v], slots().words(capacity_ + group() + 8 * v), self_);
    finish(sums, values, chunk);
    if (chunk == chunks_ - 1) noted_ = after(noted_);
  }
  __device__ __forceinline__ void taken() { push(); }

  /// Asks for more, into the place of what was popped last.
  __device__ __forceinline__ void push() {
    __syncwarp();  // all lanes have left that place
    if (has_notes_) write_notes();
    if (asked_tile_ < tiles_) {
      if (step_ == 0) take_notes();
      if (step_ < chunks_) {
        ask_rows();
      } else {
        this->ask_extra(step_ - chunks_, static_cast<int>(this->args_.m) - asked_tile_ * rows - group());
      }
      if (++step_ == chunks_ + this->extras()) {
        asked_tile_ += stride();
        begin_asking();
      }
    }
    this->asked();
  }

 private:
  static constexpr int count = Slots::count;

  static __device__ __forceinline__ int stride() { return Warps * static_cast<int>(gridDim.x); }
  static __device__ __forceinline__ int lane() { return static_cast<int>(threadIdx.x % lanes); }
  static __device__ __forceinline__ int group() { return lane() / 4; }
  static __device__ __forceinline__ int after(int noted) { return noted + 1 == noted_tiles ? 0 : noted + 1; }
  __device__ __forceinline__ bool is_weighted() const { return from_.edge != nullptr || from_.col_scale != nullptr; }
  __device__ __forceinline__ Slots slots() const { return {this->stage()}; }

  // ---- Asking --------------------------------------------------------------------------------

  /// Where a tile's edges begin, and behind how many of them those of the lane's row (lane 16: the end).
  struct Places {
    EdgeId begin;
    int start;
  };

  /// Where the edges of the lane's row of a tile begin. Rows past the end have none.
  __device__ __forceinline__ EdgeId offset_of(int tile) const {
    const std::int64_t row = std::int64_t{tile} * rows + (lane() < rows ? lane() : rows);
    return __ldg(from_.graph.offsets + (row < this->args_.m ? row : this->args_.m));
  }
  static __device__ __forceinline__ Places places_of(EdgeId offset) {
    const EdgeId begin = __shfl_sync(~0u, offset, 0), start = offset - begin;
    return {begin, start < TileNotes::too_many ? static_cast<int>(start) : TileNotes::too_many};
  }
  /// Edges of a tile that are copied to slots: all, or none.
  __device__ __forceinline__ int edges_of(const Places& places) const {
    const int edges = __shfl_sync(~0u, places.start, rows);
    return edges <= capacity_ ? edges : 0;
  }
  /// Their sources, every 32nd a lane's.
  __device__ __forceinline__ void load_columns(int (&columns)[2], const Places& places) const {
    const NodeId* const cols = from_.graph.cols + places.begin + lane();
    const int left = edges_of(places) - lane();
    columns[0] = left > 0 ? __ldg(cols) : 0;
    columns[1] = left > lanes ? __ldg(cols + lanes) : 0;
  }
  /// Turns to the next tile: what was asked for while the last ones were is there, and that of two tiles more is asked
  /// for.
  __device__ __forceinline__ void begin_asking() {
    step_ = 0;
    asked_ = next_;
    columns_[0] = next_columns_[0];
    columns_[1] = next_columns_[1];
    asked_edges_ = edges_of(asked_);
    next_ = places_of(offset_after_);
    load_columns(next_columns_, next_);
    offset_after_ = offset_of(asked_tile_ + 2 * stride());
  }
  __device__ __forceinline__ void ask_rows() {
    const char* const x = x_ + step_ * 64;
    const bool inside = step_ * 64 + lane() % 4 * 16 < static_cast<int>(pitch_);
    const unsigned to = place_ + this->stage_offset();
    // 16 slots at a time, as a product reads them: zeros stand behind the last.
    const int left = inside ? asked_edges_ - group() : 0;
#pragma unroll
    for (int i = 0; i < NeighbourStage::slots / 8; i += 2) {
      if (i * 8 >= asked_edges_) break;
#pragma unroll
      for (int j = i; j < i + 2; ++j) {
        const auto column = static_cast<std::uint32_t>(__shfl_sync(~0u, columns_[j / 4], j % 4 * 8 + group()));
        copy_async_of_line(to + j * 512, x + static_cast<std::uint64_t>(column) * pitch_, j * 8 < left);
      }
    }
    if (!from_.adds_self) return;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const auto own = static_cast<std::uint32_t>(asked_tile_ * rows + group() + 8 * v);
      const bool there = own < this->args_.m && own < from_.graph.num_cols;
      copy_async_of_line(to + capacity_ * 64 + v * 512, x + (there ? static_cast<std::uint64_t>(own) * pitch_ : 0),
                         inside && there);
    }
  }
  /// What is known of the tile that is asked for, to be written when its loads have come.
  __device__ __forceinline__ void take_notes() {
    const int degree = __shfl_down_sync(~0u, asked_.start, 1) - asked_.start;
    const std::int64_t row = std::int64_t{asked_tile_} * rows + lane();
    const bool there = lane() < rows && row < this->args_.m;
    factor_ = 1;
    if (from_.row_scale != nullptr && there) factor_ = __ldg(static_cast<const float*>(from_.row_scale) + row);
    if (from_.mean && there && degree > 1) factor_ /= static_cast<float>(degree);
    start_ = lane() < rows || asked_.start <= capacity_ ? asked_.start : TileNotes::too_many;
    if (is_weighted())
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int edge = i * lanes + lane();
        weights_[i] = edge < asked_edges_ ? weight_of(asked_.begin + edge, columns_[i]) : 0;
      }
    has_notes_ = true;
  }
  __device__ __forceinline__ void write_notes() {
    TileNotes& notes = notes_[written_];
    if (lane() <= rows) notes.starts[lane()] = static_cast<std::uint16_t>(start_);
    if (lane() < rows) notes.factors[lane()] = factor_;
    if (is_weighted()) {
      notes.weights[lane()] = weights_[0];
      notes.weights[lane() + lanes] = weights_[1];
    }
    written_ = after(written_);
    has_notes_ = false;
  }
  __device__ __forceinline__ float weight_of(EdgeId at, int column) const {
    float weight = 1;
    if (from_.edge != nullptr) {
      const EdgeId id = from_.graph.edge_ids != nullptr ? __ldg(from_.graph.edge_ids + at) : at;
      weight = from_.edge_dtype == Dtype::f32 ? __ldg(static_cast<const float*>(from_.edge) + id)
                                              : widen(static_cast<const T*>(from_.edge)[id]);
    }
    if (from_.col_scale != nullptr) weight *= __ldg(static_cast<const float*>(from_.col_scale) + column);
    return weight;
  }

  // ---- Adding up -----------------------------------------------------------------------------

  __device__ __forceinline__ void read(const TileNotes& notes) {
    edges_ = notes.starts[rows];
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      first_[v] = notes.starts[group() + 8 * v];
      degree_[v] = notes.starts[group() + 8 * v + 1] - first_[v];
    }
    if constexpr (Slots::multiplies) {
      if (edges_ == TileNotes::too_many || is_weighted()) return;  // nothing is in slots, or ones will not do
      const std::uint64_t masks[vectors] = {mask_of(first_[0], degree_[0]), mask_of(first_[1], degree_[1])};
      Slots::fill(operands_, masks);
    }
  }
  /// Bits of so many slots from one on, all of them among the 64. A row without edges may begin behind the last.
  static __device__ __forceinline__ std::uint64_t mask_of(int first, int slots) {
    return slots > 0 ? ~std::uint64_t{0} >> (NeighbourStage::slots - slots) << first : 0;
  }
  template <class WeightOf>
  __device__ __forceinline__ void add_slots(float (&sums)[vectors][count], const WeightOf& weight) const {
#pragma unroll
    for (int v = 0; v < vectors; ++v)
#pragma unroll 1
      for (int slot = first_[v]; slot < first_[v] + degree_[v]; ++slot)
        Slots::add(sums[v], slots().words(slot), weight(slot));
  }
  /// The same of tiles with more edges than there are slots.
  __device__ __forceinline__ void add_from_memory(float (&sums)[vectors][count], int chunk) const {
    const char* const x = static_cast<const char*>(from_.x) + chunk * 64;
    const int left = static_cast<int>(pitch_) - chunk * 64;
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const std::int64_t row = row_ + 8 * v;
      if (row >= this->args_.m) continue;
      const EdgeId end = __ldg(from_.graph.offsets + row + 1);
#pragma unroll 1
      for (EdgeId at = __ldg(from_.graph.offsets + row); at < end; ++at) {
        const int column = __ldg(from_.graph.cols + at);
        Slots::add(sums[v], Slots::words_of_row(x + static_cast<std::int64_t>(column) * pitch_, left),
                   is_weighted() ? weight_of(at, column) : 1.0f);
      }
    }
  }
  /// Rounds the rows to what would be stored, which is what is multiplied.
  __device__ __forceinline__ void finish(float (&sums)[vectors][count], uint4 (&values)[vectors], int chunk) const {
    constexpr int size = word_size<T>;
    if (from_.bias != nullptr)
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const int column = chunk * group_columns<T> + Slots::element_of_word(i / size) + i % size;
        const float bias = column < this->args_.k ? __ldg(static_cast<const float*>(from_.bias) + column) : 0;
#pragma unroll
        for (int v = 0; v < vectors; ++v) sums[v][i] += bias;
      }
    if (from_.relu)
#pragma unroll
      for (int v = 0; v < vectors; ++v)
#pragma unroll
        for (int i = 0; i < count; ++i) sums[v][i] = weft::cuda::larger(sums[v][i], 0.0f);  // NaN stays
#pragma unroll
    for (int v = 0; v < vectors; ++v) {
      const Pack<T> packed = rounded<T>(sums[v], from_.saturates);
      values[v] = reinterpret_cast<const uint4&>(packed);
      if (from_.kept != nullptr && row_ + 8 * v < this->args_.m)
        Slots::store_row(static_cast<char*>(from_.kept) + static_cast<std::int64_t>(row_ + 8 * v) * pitch_ + chunk * 64,
                         static_cast<int>(pitch_) - chunk * 64, values[v]);
    }
  }

  const NeighbourRows& from_;
  TileNotes* notes_;
  uint4* operands_;
  int chunks_, tiles_;
  const char* x_;        // the lane's bytes of row 0
  std::uint32_t pitch_;  // bytes of a row
  unsigned place_;       // the lane's of slot lane / 4 in the first stage
  int capacity_;         // slots for edges
  float self_ = 1;       // what a row's own counts for
  // Of the tile that is asked for, and of the next two:
  int asked_tile_, step_, asked_edges_;  // steps: chunks, then extras
  Places asked_, next_;
  int columns_[2], next_columns_[2];
  EdgeId offset_after_;
  // Notes that are to be written:
  bool has_notes_ = false;
  int start_, written_ = 0;
  float factor_, weights_[2];
  // Of the tile that is added up:
  int row_, edges_, noted_ = 0;
  int first_[vectors], degree_[vectors];
};

}  // namespace weft::dense::cuda
