// GAT's gradients over the dense columns of windows by wgmma. Rows of a window are sources, and their values stay in
// shared memory; columns of tiles are destinations v with their rows of out_grad. A tile is multiplied twice: values by
// rows of out_grad, which are the gradients of weights, and weights by rows of out_grad, which add up to the gradients
// of values. Between the two a lane makes the weight and the gradient of the score of each place that has an edge:
//   ds = alpha (out_grad[v] . value[u] - mean[v]) leaky_relu'
// Its sums over a row are src's gradient, over a column dst's: these go into the tile's stage, whence the warps that
// copy take them to memory, and a pass behind this kernel adds up what a column's tiles have.
//
// A weight is the sum of two f16 or three bf16, as in window_gat_sm90.cu, times 2^15. In f16 a row whose edges weigh
// less than 2^-17 in the mean, and what is not finite, has its gradient of value computed once more from all its edges.
#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/primitives/softmax_part.cuh"
#include "kernels/cuda/windows/gat_backward.hpp"
#include "kernels/cuda/windows/launch_windows.cuh"
#include "kernels/cuda/windows/row_operand.cuh"
#include "kernels/cuda/windows/tile_pipeline.cuh"
#include "kernels/cuda/windows/weight_operands.cuh"

namespace weft::cuda {
namespace {

constexpr int gradient_rows = 128, multiplying = gradient_rows * 2, gradient_threads = multiplying + copying_threads;
constexpr int copying_registers = 32;
constexpr int chain = 4;  // tiles between settlings

template <class Storage>
inline constexpr float least_mean = std::is_same_v<Storage, Half> ? 0x1p-17f * weight_unit : 0.0f;

template <int Panels>
struct alignas(1024) GradientStage {
  unsigned char x[Panels][window_step * tile_features * 2];
  alignas(16) std::uint32_t bits[gradient_rows][window_step / 32];
  alignas(16) ColumnTerms columns[window_step];
  alignas(16) float2 sums[multiplying / 32][window_step / 2];  // of a warp's rows, by column
};

template <int Panels>
struct GradientShape {
  static constexpr int blocks = Panels == 1 ? 2 : 1;  // of a multiprocessor
  static constexpr int multiplying_registers = Panels == 1 ? 104 : 200;
  static constexpr int rows_bytes = gradient_rows * Panels * 128, far_bytes = gradient_rows * tile_features * 4;
  static constexpr int stages = stages_that_fit<GradientStage<Panels>, blocks, rows_bytes + far_bytes + 1024>();
};

/// Stages first: their patterns of banks, and those of rows, repeat after 1024 bytes.
template <int Panels>
struct GradientMemory : TilePipeline<GradientStage<Panels>, GradientShape<Panels>::stages> {
  alignas(1024) RowOperand<Panels> rows;
  float far[32][multiplying];  // a thread's sums: in registers there is no room for them
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/// The terms of a tile's columns, copied by the warp that copies their rows, and their sums on the way back.
struct TileColumns {
  const ColumnTerms* of_head;  // of column 0
  int heads;
  float2* sums;  // of the window's first tile; null: another block of this head has them
  template <int Panels>
  __device__ __forceinline__ void operator()(GradientStage<Panels>& stage, int2 columns) const {
    ColumnTerms* const to = stage.columns + threadIdx.x % 32;
    copy_async<16>(to, of_head + std::int64_t{columns.x} * heads, 16);
    copy_async<16>(to + 32, of_head + std::int64_t{columns.y} * heads, 16);
  }
  template <int Panels>
  __device__ __forceinline__ void drain(const GradientStage<Panels>& stage, int tile) const {
    if (sums == nullptr) return;
    const int lane = threadIdx.x % 32;
    float2 sum = stage.sums[0][lane];
#pragma unroll
    for (int w = 1; w < multiplying / 32; ++w) {
      sum.x += stage.sums[w][lane].x;
      sum.y += stage.sums[w][lane].y;
    }
    sums[std::int64_t{tile} * (window_step / 2) + lane] = sum;
  }
};

/// Of two values what is left where one of the bits of `mask` is set; 0 elsewhere, whatever they are. (One test for
/// both in two instructions less than the compiler makes of it.)
__device__ __forceinline__ void where_edge(unsigned bits, unsigned mask, float first, float second, float& first_left,
                                           float& second_left) {
  asm("{\n"
      ".reg .pred edge;\n"
      ".reg .b32 masked;\n"
      "and.b32 masked, %2, %3;\n"
      "setp.ne.u32 edge, masked, 0;\n"
      "selp.f32 %0, %4, 0f00000000, edge;\n"
      "selp.f32 %1, %5, 0f00000000, edge;\n"
      "}\n"
      : "=f"(first_left), "=f"(second_left)
      : "r"(bits), "r"(mask), "f"(first), "f"(second));
}

/// 64 features of a row's gradient of value by all its edges, by a warp: right for any weights. A call, so that what it
/// takes of registers is not taken from the products.
template <class Storage>
__device__ __noinline__ void gather_again(const GatherArgs<GatBackward<Storage>>& whole, NodeId row, int feature) {
  const auto& terms = whole.message;
  if (feature >= whole.features) return;
  const int head = feature / terms.width;
  const GraphView& g = whole.split.graph;
  const float src = widen(
      load_element(row_at(terms.src + head * terms.src_head, static_cast<std::uint32_t>(row), terms.src_pitch_bytes)));
  const Storage* const x = whole.x + head * terms.x_head + (feature - head * terms.width);
  float sum[2] = {}, rest[2] = {};
  const EdgeId end = __ldg(g.offsets + row + 1);
#pragma unroll 4
  for (EdgeId k = __ldg(g.offsets + row); k < end; ++k) {
    const auto col = static_cast<std::uint32_t>(__ldg(g.cols + k));
    const auto to = Pack<float, 4>::load(
        reinterpret_cast<const float*>(terms.destinations + std::int64_t{col} * terms.heads + head));
    const float z = src + to.values[0];
    const float alpha = exponential((z > 0 ? z : z * terms.slope) - to.values[1]) * to.values[2];
    const auto values = Pack<Storage, 2>::load(row_at(x, col, whole.x_pitch_bytes));
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      rest[i] += alpha * widen(values.values[i]);
      if (!settle(sum[i], rest[i])) drop_rest(rest[i]);
    }
  }
  store_row<2>(whole.epilogue, row, feature, sum);
}

template <class Storage, int Panels>
struct GradientWindow {
  using Stage = GradientStage<Panels>;
  const WindowGradientArgs<Storage>& args;
  GradientMemory<Panels>& shared;
  const typename GatBackward<Storage>::Args& message = args.whole.message;
  WindowWork work = work_at(args.windows.work + blockIdx.x);
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, quad = lane % 4;
  int first_feature = static_cast<int>(blockIdx.y) * tile_features;  // of all heads
  int head = first_feature / message.width;
  int panel = (first_feature - head * message.width) / tile_features;

  __device__ __forceinline__ NodeId row_at_place(int row_in_window) const {
    return __ldg(args.windows.rows + std::int64_t{work.window} * gradient_rows + row_in_window);
  }
  __device__ __forceinline__ TileCopies copies() const {
    const unsigned there = panels_there<Panels>(lane % 8, message.width);
    const Storage* const x = args.whole.x + head * message.x_head;
    TileCopies copies{args.windows.cols + std::int64_t{work.first_tile} * window_step, work.tiles,
                      warp - multiplying / 32};
    copies.x = reinterpret_cast<const unsigned char*>(there != 0 ? x + lane % 8 * 8 : x);
    copies.pitch = there != 0 ? args.whole.x_pitch_bytes : 0;
    copies.there = there;
    copies.bits = args.windows.bits + std::int64_t{work.first_tile} * (window_step / 32 * gradient_rows);
    return copies;
  }
  __device__ __forceinline__ TileColumns columns() const {
    float* const sums = args.column_sums + (head * args.tiles + work.first_tile) * window_step;
    return {args.columns + head, message.heads, panel == 0 ? reinterpret_cast<float2*>(sums) : nullptr};
  }

  __device__ __forceinline__ void copy_values() const {
    copy_rows(shared.rows, args.windows.rows + std::int64_t{work.window} * gradient_rows,
              message.value + head * message.value_head, message.value_pitch_bytes,
              panels_there<Panels>(lane % 8, message.width));
  }

  float src[2];                // of this lane's rows, `group` and 8 later of the warp's 16, in units of ln 2
  float near[32];              // see multiply_group
  float weights[2], score[2];  // sums of weights, and of the gradients of scores
  float far_weights[2] = {0, 0}, far_score[2] = {0, 0};

  __device__ __forceinline__ void begin() {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const NodeId row = row_at_place(warp * 16 + group + i * 8);
      src[i] = row < 0 ? 0.0f
                       : widen(load_element(row_at(message.src + head * message.src_head,
                                                   static_cast<std::uint32_t>(row), message.src_pitch_bytes))) *
                             per_ln2;
      weights[i] = score[i] = 0;
    }
  }

  /// Of 16 columns, `k` of the tile's four: their edges' weights as operands, and the gradients of their scores added
  /// up by row, and of this lane's two rows by column. `products`: of the lane's rows and columns, as tensor cores
  /// leave them.
  using Operands = WeightOperands<Storage>;
  __device__ __forceinline__ void weigh(const Stage& stage, const uint2 (&bits)[2], int k, const float* products,
                                        Operands& a, float* by_column) {
#pragma unroll
    for (int later = 0; later < 2; ++later) {
      const float4* const columns = reinterpret_cast<const float4*>(stage.columns + k * 16 + later * 8 + quad * 2);
      const float4 terms[2] = {columns[0], columns[1]};
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned word = k / 2 == 0 ? bits[i].x : bits[i].y;
        float alpha[2];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          const float z = src[i] + terms[j].x;
          const float slope = z > 0 ? 1.0f : message.slope;
          const float w = power_of_two(fmaf(z, slope, -terms[j].y)) * terms[j].z;
          const float gradient = w * slope * (products[later * 4 + i * 2 + j] - terms[j].w);
          float counted;
          where_edge(word, 1u << (k % 2 * 8 + later * 4 + j * 16), w, gradient, alpha[j], counted);
          weights[i] += alpha[j];
          score[i] += counted;
          if (i == 0)
            by_column[later * 2 + j] = counted;
          else
            by_column[later * 2 + j] += counted;
        }
        put_weights<Storage>(a, i + later * 2, alpha[0], alpha[1]);
      }
    }
  }

  /// Adds up over lanes that are `Step` apart: the one with that bit of its number has the sums of the upper columns
  /// then, the other of the lower ones.
  template <int Step, int Count>
  __device__ __forceinline__ void share_out(const float (&sums)[2 * Count], float (&own)[Count]) const {
    const bool upper = (lane & Step) != 0;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const float kept = upper ? sums[Count + i] : sums[i], sent = upper ? sums[i] : sums[Count + i];
      own[i] = kept + __shfl_xor_sync(~0u, sent, Step);
    }
  }

  __device__ __forceinline__ void multiply_tile(Stage& stage, std::uint64_t x, std::uint64_t rows) {
    uint2 bits[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) bits[i] = RowBits(stage.bits[warp * 16 + group + i * 8], quad).words;
    float by_column[4];  // of half a tile two: over the groups of a warp they are shared out, so that a lane ends with
    Operands a[2];       // the sums of columns 2 lane and 2 lane + 1
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float products[16];
      fence_sums(products);
#pragma unroll
      for (int p = 0; p < Panels; ++p)
#pragma unroll
        for (int k = 0; k < tile_features / 16; ++k)
          multiply_rows<Storage>(products, rows + (p * sizeof(shared.rows[0]) + k * 32) / 16,
                                 x + (p * sizeof(stage.x[0]) + half * 4096 + k * 32) / 16, p + k > 0);
      commit_products();
      wait_for_products(products);
      float of_half[8];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const int k = half * 2 + i;
        weigh(stage, bits, k, products + i * 8, a[i], of_half + i * 4);
        if (k == 0)
          fence_sums(near);
        else
          fence_operands();
        multiply_weights<Storage>(near, a[i], x + (panel * sizeof(stage.x[0]) + k * 2048) / 16);
      }
      float of_quarter[4], of_eighth[2];
      share_out<8>(of_half, of_quarter);
      share_out<4>(of_quarter, of_eighth);
      by_column[half * 2] = of_eighth[0];
      by_column[half * 2 + 1] = of_eighth[1];
    }
    float own[2];
    share_out<16>(by_column, own);
    stage.sums[warp][lane] = {own[0], own[1]};
    wait_for_products(near);
  }

  __device__ __forceinline__ void settle_sums() {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      float far = shared.far[i][threadIdx.x];
      settle(far, near[i]);
      shared.far[i][threadIdx.x] = far;
    }
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      settle(far_weights[i], weights[i]);
      settle(far_score[i], score[i]);
    }
  }

  __device__ __forceinline__ void sum_tiles() {
#pragma unroll
    for (int i = 0; i < 32; ++i) near[i] = shared.far[i][threadIdx.x] = 0;
    const std::uint64_t tiles_at = describe_rows(shared.stages[0].x[0]);
    const std::uint64_t rows_at = describe_rows(shared.rows[0]) + warp / 4 * (64 * 128 / 16);
    StageOfTile<GradientShape<Panels>::stages> at;
    for (int first = 0; first < work.tiles; first += chain) {
      for (int tile = first; tile < min(first + chain, work.tiles); ++tile, at.advance(1)) {
        shared.full[at.stage].wait(at.parity);
        show_copies();
        multiply_tile(shared.stages[at.stage], tiles_at + at.stage * (sizeof(Stage) / 16), rows_at);
        __syncwarp();  // the columns' sums of all lanes
        if (lane == 0) shared.empty[at.stage].arrive();
      }
      settle_sums();
    }
  }

  /// Rows of this warp, from all their edges where their weights do not fit.
  __device__ __forceinline__ void write_rows() const {
    const GraphView& graph = args.whole.split.graph;
    unsigned again = 0;  // a bit for each of this lane's rows
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float weight = far_weights[i], gradient = far_score[i];
#pragma unroll
      for (int step = 1; step < 4; step *= 2) {
        weight += __shfl_xor_sync(~0u, weight, step);
        gradient += __shfl_xor_sync(~0u, gradient, step);
      }
      const NodeId row = row_at_place(warp * 16 + group + i * 8);
      bool bad = false;
      if (row >= 0) {
        if constexpr (least_mean < Storage >> 0) {
          EdgeId edges = __ldg(graph.offsets + row + 1) - __ldg(graph.offsets + row);
          if (args.residual_offsets != nullptr)
            edges -= __ldg(args.residual_offsets + row + 1) - __ldg(args.residual_offsets + row);
          bad = weight != 0 && !(weight >= static_cast<float>(edges) * least_mean<Storage>);
        }
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const int in_head = panel * tile_features + n * 8 + quad * 2;
          if (in_head >= message.width) continue;
          const int feature = head * message.width + in_head;
          float value[2] = {shared.far[n * 4 + i * 2][threadIdx.x] * (1 / weight_unit),
                            shared.far[n * 4 + i * 2 + 1][threadIdx.x] * (1 / weight_unit)};
          if (args.residual_value != nullptr) {
            const auto rest =
                Pack<float, 2>::load(args.residual_value + std::int64_t{row} * args.whole.features + feature);
            value[0] += rest.values[0];
            value[1] += rest.values[1];
          }
          bad = bad || !(fabsf(value[0]) < INFINITY && fabsf(value[1]) < INFINITY);
          store_row<2>(args.whole.epilogue, row, feature, value);
        }
        if (quad == 0 && panel == 0) {
          gradient *= 1 / weight_unit;
          if (args.residual_src != nullptr) gradient += args.residual_src[std::int64_t{row} * message.heads + head];
          store_once(message.src_grad, message.src_grad_wide, row * message.src_grad_pitch + head, gradient);
        }
      }
      if ((__ballot_sync(~0u, bad) >> (group * 4) & 0xf) != 0) again |= 1u << i;
    }
    if (__ballot_sync(~0u, again != 0) == 0) return;
    __syncwarp();  // what was stored above is stored again
    for (int place = 0; place < 16; ++place)
      if ((__shfl_sync(~0u, again, place % 8 * 4) >> (place / 8) & 1) != 0) {
        const int in_head = panel * tile_features + lane * 2;
        gather_again(args.whole, row_at_place(warp * 16 + place),
                     in_head < message.width ? head * message.width + in_head : args.whole.features);
      }
  }
};
#endif

template <class Storage, int Panels>
__global__ void __launch_bounds__(gradient_threads, GradientShape<Panels>::blocks)
    add_window_gradients(const __grid_constant__ WindowGradientArgs<Storage> args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  auto& shared = *reinterpret_cast<GradientMemory<Panels>*>(aligned_shared(memory));
  GradientWindow<Storage, Panels> window{args, shared};
  const bool copies = threadIdx.x >= multiplying;
  const TileCopies job = window.copies();
  const int2 columns = copies ? job.columns_of(job.warp) : int2{};
  shared.prepare(multiplying / 32);
  if (copies) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(copying_registers));
    return job.run(shared, columns, window.columns());
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GradientShape<Panels>::multiplying_registers));
  window.copy_values();
  window.begin();
  window.sum_tiles();
  cudaGridDependencySynchronize();  // the residual's rows
  window.write_rows();
#endif
}

template <class Storage, int Panels>
void launch_panels(const WindowGradientArgs<Storage>& args, CUstream_st* stream) {
  const int panels = (args.whole.message.width + tile_features - 1) / tile_features * args.whole.message.heads;
  launch_windows<GradientMemory<Panels>>(add_window_gradients<Storage, Panels>, args, panels, gradient_threads,
                                         args.residual_value != nullptr, "GAT's gradients over row windows", stream);
}

}  // namespace

template <class Storage>
void launch_window_gradients_sm90(const WindowGradientArgs<Storage>& args, CUstream_st* stream) {
  if (args.whole.message.width <= tile_features) return launch_panels<Storage, 1>(args, stream);
  launch_panels<Storage, 2>(args, stream);
}

template void launch_window_gradients_sm90(const WindowGradientArgs<Half>&, CUstream_st*);
template void launch_window_gradients_sm90(const WindowGradientArgs<BFloat16>&, CUstream_st*);

}  // namespace weft::cuda
