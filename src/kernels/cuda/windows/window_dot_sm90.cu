// Attention by dot products over the dense columns of windows by wgmma: the scores of a tile are products of the
// window's destinations, which stay in shared memory, with its sources; they become weights in the registers where
// they are, 0 where there is no bit, and these are operands of the products with its values.
//
// A row's weights are relative to the largest of its scores so far (online softmax), times 2^11: a later score may be
// 2^4 times it before all that was added up is scaled down, and the largest weight is 2^15, as f16 ends at 2^16. It
// also ends at 2^-24: a weight is within 2^-36 of the reference's. Rows whose sums are not finite are computed once
// more from all their edges.
#include "kernels/cuda/windows/attention_window.cuh"
#include "kernels/cuda/windows/row_operand.cuh"

namespace weft::cuda {
namespace {

constexpr float unit_bits = 11, most_bits = 15;  // as powers of two: the weight of the reference, and the largest
constexpr float unit = 0x1p11f;
constexpr float no_offset = 1e30f;  // of a row without scores; finite, so that -inf stays that

/// Panels: sources and values. Two warps share the copies of a tile, a panel each.
constexpr int panels = 2;
using DotStage = WindowStage<attention_rows, panels>;

/// A lane's two rows: powers of two that are added to their products', and the sums of the weights of its columns.
struct RowSums {
  float offset[2] = {no_offset, no_offset}, total[2] = {0, 0};
};

/// What the products leave a lane no registers for. Every one has a place of its own.
struct LaneMemory {
  float4 settled[8][attention_multiplying];  // sums of eight columns each, as products leave them
  float4 settled_rows[attention_multiplying], rows[attention_multiplying];
};

constexpr int dot_stages =
    stages_that_fit<DotStage, attention_blocks, sizeof(RowOperand<1>) + sizeof(LaneMemory), panels>();
/// Stages first: their patterns of banks, and those of rows, repeat after 1024 bytes.
struct DotMemory : TilePipeline<DotStage, dot_stages, panels> {
  alignas(1024) RowOperand<1> rows;
  LaneMemory lanes;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
template <class Storage>
struct DotWindow : AttentionWindow<Storage> {
  using Base = AttentionWindow<Storage>;
  using Base::args, Base::message, Base::work, Base::lane, Base::warp, Base::head;
  DotMemory& shared;
  float steepness = message.scale * per_ln2;  // powers of two a unit of a product

  __device__ __forceinline__ DotWindow(const WindowAttentionArgs<Storage>& args, DotMemory& shared)
      : Base{args}, shared(shared) {}

  __device__ __forceinline__ TileCopies copies() const {
    TileCopies copies = this->copies_of_values();
    copies.share = copies.warp % panels;
    copies.warp /= panels;
    if (copies.share == 1) return copies;
    const int feature = lane % 8 * 8;
    const bool there = feature < message.score_width;
    const Storage* const sources = message.src + head * message.src_head;
    copies.x = reinterpret_cast<const unsigned char*>(there ? sources + feature : sources);
    copies.pitch = there ? message.src_pitch_bytes : 0;
    copies.there = there ? 1 : 0;
    return copies;
  }
  __device__ __forceinline__ void copy_destinations() const {
    copy_rows(shared.rows, args.windows.rows + std::int64_t{work.window} * attention_rows,
              message.dst + head * message.dst_head, message.dst_pitch_bytes,
              lane % 8 * 8 < message.score_width ? 1 : 0);
  }

  /// The rows' sums since the last settling. They are read and written just where this is said: the compiler would
  /// rather add weights up later, and keep them until then.
  __device__ __forceinline__ RowSums load_rows() const {
    RowSums rows;
    asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(rows.offset[0]), "=f"(rows.offset[1]), "=f"(rows.total[0]), "=f"(rows.total[1])
                 : "r"(rows_at()));
    return rows;
  }
  __device__ __forceinline__ void store_rows(const RowSums& rows) const {
    asm volatile("st.volatile.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(rows_at()), "f"(rows.offset[0]),
                 "f"(rows.offset[1]), "f"(rows.total[0]), "f"(rows.total[1]));
  }
  __device__ __forceinline__ unsigned rows_at() const {
    return static_cast<unsigned>(__cvta_generic_to_shared(shared.lanes.rows + threadIdx.x));
  }

  /// Starts the products of the rows with a tile's sources.
  __device__ __forceinline__ void start_products(float (&products)[32], std::uint64_t rows,
                                                 std::uint64_t sources) const {
    fence_operands();
    begin_rows<Storage>(products, rows, sources);
#pragma unroll
    for (int k = 1; k < tile_features / 16; ++k)
      multiply_rows<Storage>(products, rows + k * (32 / 16), sources + k * (32 / 16), true);
    commit_products();
  }

  /// Leaves -inf of products that are no edges, and the largest of each row.
  __device__ __forceinline__ void mask(float (&products)[32], const uint2 (&bits)[2], float (&largest)[2]) const {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      largest[i] = -INFINITY;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        const unsigned word = (n < 4 ? bits[i].x : bits[i].y) >> (n % 4 * 4);
        float &first = products[n * 4 + i * 2], &second = products[n * 4 + i * 2 + 1];
        first = (word & 1u) != 0 ? first : -INFINITY;
        second = (word & 0x10000u) != 0 ? second : -INFINITY;
        largest[i] = fmaxf(largest[i], fmaxf(first, second));  // a NaN shows in the sum of weights
      }
      largest[i] = fmaxf(largest[i], __shfl_xor_sync(~0u, largest[i], 1));
      largest[i] = fmaxf(largest[i], __shfl_xor_sync(~0u, largest[i], 2));
    }
  }

  /// Where weights would be too large for their row's reference, the largest product is that from now on.
  __device__ __forceinline__ void make_room(const float (&largest)[2], float (&near)[32]) const {
    RowSums rows = load_rows();
    const bool fits = !(fmaf(largest[0], steepness, rows.offset[0]) > most_bits) &&
                      !(fmaf(largest[1], steepness, rows.offset[1]) > most_bits);
    if (__all_sync(~0u, fits)) return;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const float offset = fminf(rows.offset[i], fmaf(-largest[i], steepness, unit_bits));
      const float factor = power_of_two(offset - rows.offset[i]);
      rows.offset[i] = offset;
      rows.total[i] *= factor;
#pragma unroll
      for (int n = 0; n < 8; ++n) {
        near[n * 4 + i * 2] *= factor;
        near[n * 4 + i * 2 + 1] *= factor;
      }
    }
    store_rows(rows);
  }

  /// The weights of 16 columns' edges as operands, and their sums. A power's argument is one rounding of what it says,
  /// which is 2^-24 of the distance t from the reference in powers of two: t 2^-24, of a weight that is 2^-t itself, is
  /// below 2^-24 of the row's sum. Rounding the reference moves all weights of a row alike.
  __device__ __forceinline__ void weigh(const float (&products)[32], int k, RowSums& rows,
                                        WeightOperands<Storage>& a) const {
#pragma unroll
    for (int later = 0; later < 2; ++later)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int at = (k * 2 + later) * 4 + i * 2;
        const float first = power_of_two(fmaf(products[at], steepness, rows.offset[i]));
        const float second = power_of_two(fmaf(products[at + 1], steepness, rows.offset[i]));
        rows.total[i] += first;
        rows.total[i] += second;
        put_weights<Storage>(a, i + later * 2, first, second);
      }
  }

  /// The sums near into those that have settled, which are relative to the reference of then.
  __device__ __forceinline__ void settle_sums(float (&near)[32]) const {
    RowSums rows = load_rows();
    const float4 before = shared.lanes.settled_rows[threadIdx.x];
    const float factor[2] = {power_of_two(rows.offset[0] - before.x), power_of_two(rows.offset[1] - before.y)};
    float total[2] = {before.z * factor[0], before.w * factor[1]};
    settle(total[0], rows.total[0]);
    settle(total[1], rows.total[1]);
    store_rows(rows);
    shared.lanes.settled_rows[threadIdx.x] = {rows.offset[0], rows.offset[1], total[0], total[1]};
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      float4 far = shared.lanes.settled[n][threadIdx.x];
      far = {far.x * factor[0], far.y * factor[0], far.z * factor[1], far.w * factor[1]};
      settle(far.x, near[n * 4]);
      settle(far.y, near[n * 4 + 1]);
      settle(far.z, near[n * 4 + 2]);
      settle(far.w, near[n * 4 + 3]);
      shared.lanes.settled[n][threadIdx.x] = far;
    }
  }

  __device__ __forceinline__ void sum_tiles() const {
    float near[32];  // see multiply_group
#pragma unroll
    for (int i = 0; i < 32; ++i) near[i] = 0;
#pragma unroll
    for (int n = 0; n < 8; ++n) shared.lanes.settled[n][threadIdx.x] = {0, 0, 0, 0};
    shared.lanes.settled_rows[threadIdx.x] = {no_offset, no_offset, 0, 0};
    store_rows({});
    if (work.tiles == 0) return;
    // A warpgroup's, the same in all its lanes: said so, it needs no registers of them.
    const std::uint64_t destinations = describe_rows(shared.rows[0]) + __shfl_sync(~0u, warp / 4, 0) * (64 * 128 / 16);
    const std::uint64_t tiles_at = describe_rows(shared.stages[0].x[0]);
    const auto stage_at = [&](int stage) { return tiles_at + stage * (sizeof(DotStage) / 16); };
    StageOfTile<dot_stages> at;
    float products[32];
    uint2 bits[2];
    const auto start_tile = [&] {
      shared.full[at.stage].wait(at.parity);
      show_copies();
      start_products(products, destinations, stage_at(at.stage));
      this->load_bits(shared.stages[at.stage], bits);
    };
    start_tile();
    wait_for_products(products);
    for (int tile = 0; tile < work.tiles; ++tile) {
      float largest[2];
      mask(products, bits, largest);
      make_room(largest, near);
      const std::uint64_t values = stage_at(at.stage) + sizeof(DotStage::x[0]) / 16;
      WeightOperands<Storage> a[2];  // of 16 columns while those of the 16 before them are multiplied
      RowSums rows;
#pragma unroll
      for (int k = 0; k < window_step / 16; ++k) {
        if (k >= 2) wait_for_all_but_last();
        if (k % 2 == 0) rows = load_rows();
        weigh(products, k, rows, a[k % 2]);
        if (k % 2 == 1) store_rows(rows);
        if (k == 0)
          fence_sums(near);
        else
          fence_operands();
        multiply_weights<Storage>(near, a[k % 2], values + k * (2048 / 16));
      }
      const int done = at.stage;
      // Behind the last products of this tile come the first of the next one; behind the last tile's its own once more,
      // as the compiler lets no products overlap whose registers come from either side of a branch.
      if (tile + 1 < work.tiles) at.advance(1);
      wait_for_all_but_last();
      start_tile();
      wait_for_products(products);
      wait_for_products(near);
      if (lane == 0) shared.empty[done].arrive();
      if ((tile + 1) % attention_chain == 0 || tile + 1 == work.tiles) settle_sums(near);
    }
  }

  __device__ __forceinline__ void write_rows() const {
    const float4 rows = shared.lanes.settled_rows[threadIdx.x];
    const float offsets[2] = {rows.x, rows.y}, totals[2] = {rows.z, rows.w};
    float sums[32];
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      const float4 far = shared.lanes.settled[n][threadIdx.x];
      sums[n * 4] = far.x;
      sums[n * 4 + 1] = far.y;
      sums[n * 4 + 2] = far.z;
      sums[n * 4 + 3] = far.w;
    }
    // One edge at least weighs a unit, unless scores are not finite.
    Base::write_rows(sums, totals, unit, [&](int i, NodeId, float, float weights) {
      return typename Base::OfTiles{(unit_bits - offsets[i]) / per_ln2, weights >= unit / 2};
    });
  }
};
#endif

template <class Storage>
__global__ void __launch_bounds__(attention_threads, attention_blocks)
    attend_by_products(const __grid_constant__ WindowAttentionArgs<Storage> args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  auto& shared = *reinterpret_cast<DotMemory*>(aligned_shared(memory));
  DotWindow<Storage> window{args, shared};
  const bool copies = threadIdx.x >= attention_multiplying;
  const TileCopies job = window.copies();
  const int2 columns = copies ? job.columns_of(job.warp) : int2{};
  shared.prepare(attention_multiplying / 32);
  if (copies) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(attention_copying_registers));
    return job.run(shared, columns);
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(attention_multiplying_registers));
  window.copy_destinations();
  window.sum_tiles();
  cudaGridDependencySynchronize();  // the residual's rows
  window.write_rows();
#endif
}

}  // namespace

template <class Storage>
void launch_window_dot_sm90(const WindowAttentionArgs<Storage>& args, CUstream_st* stream) {
  launch_attention_windows<DotMemory>(attend_by_products<Storage>, args, "dot-product attention over row windows",
                                      stream);
}

template void launch_window_dot_sm90(const WindowAttentionArgs<Half>&, CUstream_st*);
template void launch_window_dot_sm90(const WindowAttentionArgs<BFloat16>&, CUstream_st*);

}  // namespace weft::cuda
