// Rows of a product that stand in memory.
#pragma once

#include "dense/cuda/queue.cuh"

namespace weft::dense::cuda {

/// Rows of a from memory.
template <class T, int Groups, int Blocks, int Warps, int Stages>
class StoredFeed : public Queue<T, Groups, Blocks, Warps, Stages> {
  using Base = Queue<T, Groups, Blocks, Warps, Stages>;

 public:
  using Base::rows, Base::vectors;
  struct Source {};
  static constexpr bool loads_weights_in_order = std::is_same_v<T, float>;
  /// Neighbouring tiles go to different blocks, so that all have as much to do, give or take one.
  static __device__ __forceinline__ int first_tile() { return threadIdx.x / lanes * gridDim.x + blockIdx.x; }

  __device__ __forceinline__ StoredFeed(const ProductArgs& args, const Source&, const ProductShape& shape, char* memory)
      : Base(args, memory), chunks_(shape.chunks), rows_stride_(Warps * gridDim.x * rows) {
    steps_ = chunks_ + this->extras();
    const int row = first_tile() * rows + threadIdx.x % lanes / 4;
    left_ = static_cast<int>(args.m) - row;
    pitch_ = static_cast<int>(args.k * sizeof(T));
    at_ = static_cast<const char*>(args.a) + static_cast<std::int64_t>(row) * pitch_ + threadIdx.x % 4 * 16;
#pragma unroll 1
    for (int s = 0; s < Stages; ++s) push();
  }
  __device__ __forceinline__ void begin(int) {}
  /// The next chunk of the tile's rows; `taken` once its words are used.
  __device__ __forceinline__ void take(uint4 (&values)[vectors], int) {
    if constexpr (!in_tile_order<T>) return this->pop(values);
    wait_for_copies<Stages - 1>();
    __syncwarp();  // other lanes' copies, too
    // Lanes 8 i to 8 i + 7 have the rows of matrix i: 0 and 1 those of a vector each, 2 and 3 their next 16 bytes.
    const int lane = threadIdx.x % lanes, matrix = lane / 8, row = lane % 8;
    const auto stage = static_cast<unsigned>(__cvta_generic_to_shared(this->stage()));
#pragma unroll
    for (int v = 0; v < vectors; v += 2) {
      unsigned words[chunk_steps][4];
#pragma unroll
      for (int step = 0; step < chunk_steps; ++step)
        weft::cuda::load_matrices(words[step], stage + (v + matrix % 2) * Base::slot_bytes + row * 64 +
                                                   exchanged_bytes(row, step * 2 + matrix / 2));
#pragma unroll
      for (int half = 0; half < 2; ++half)
        values[v + half] = {words[0][half], words[0][2 + half], words[1][half], words[1][2 + half]};
    }
  }
  __device__ __forceinline__ void taken() { push(); }
  /// Asks for more, into the place of what was popped last.
  __device__ __forceinline__ void push() {
    if constexpr (in_tile_order<T>) __syncwarp();  // all lanes have left that place
    const int quad = threadIdx.x % 4;
    if (left_ + static_cast<int>(threadIdx.x % lanes / 4) > 0) {  // the warp's tile begins before the end
      if (step_ < chunks_) {
        const unsigned to = place_of_row<T>(this->stage());
        const bool inside = (step_ * 4 + quad) * 16 < pitch_;
#pragma unroll
        for (int v = 0; v < vectors; ++v)
          copy_async_of_line(to + v * Base::slot_bytes, at_ + v * 8 * pitch_, inside && 8 * v < left_);
        at_ += chunk_words * 4;
      } else {
        this->ask_extra(step_ - chunks_, left_);
      }
      if (++step_ == steps_) {
        step_ = 0;
        left_ -= rows_stride_;
        at_ += static_cast<std::int64_t>(rows_stride_) * pitch_ - chunks_ * (chunk_words * 4);
      }
    }
    this->asked();
  }

 private:
  int chunks_, rows_stride_, left_, pitch_, steps_;  // rows from this lane's first on; bytes of a row of a
  const char* at_;
  int step_ = 0;
};

}  // namespace weft::dense::cuda
