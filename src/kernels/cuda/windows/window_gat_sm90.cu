// GAT over the dense columns of windows by wgmma: operands are weights of edges, made in registers from terms of the
// tile's columns and of the warp's rows where a bit says that there is an edge. No edge has an exponential, an id or a
// gather of its own.
//
// A weight is relative to the score that a row would have for the largest source of its window, times 2^15, and the sum
// of two f16 or three bf16, each the nearest to what those before it leave: 22 and 24 bits. f16 ends at 2^-24, so small
// weights have fewer; a row whose edges weigh less than 2^-12 of the largest in the mean, and what is not finite, is
// computed once more from all its edges.
#include "core/loops/cuda/each.cuh"
#include "kernels/cuda/attention/redo_row.cuh"
#include "kernels/cuda/gather/epilogue.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/primitives/mma.cuh"
#include "kernels/cuda/windows/gat.hpp"
#include "kernels/cuda/windows/tile_pipeline.cuh"

namespace weft::cuda {
namespace {

constexpr int gat_rows = 128, multiplying = gat_rows * 2, gat_threads = multiplying + copying_threads;
constexpr int gat_blocks = 2;                                       // of a multiprocessor
constexpr int copying_registers = 32, multiplying_registers = 104;  // as window_sums_sm90.cu has them
constexpr int chain = 2;                                            // tiles between settlings
constexpr float unit = 0x1p15f;                                     // the weight of a window's largest source
constexpr float least_share = 0x1p-12f;                             // of it, that an edge has to weigh in the mean
constexpr float farthest = 60;                                      // of scores from the typical one

template <class Storage>
inline constexpr int weight_pieces = std::is_same_v<Storage, Half> ? 2 : 3;

struct alignas(1024) GatStage {
  unsigned char x[1][window_step * tile_features * 2];
  alignas(16) std::uint32_t bits[gat_rows][window_step / 32];
  alignas(16) SourceTerms sources[window_step];
};
inline constexpr int gat_stages = stages_that_fit<GatStage, gat_blocks, 1024>();
struct GatMemory : TilePipeline<GatStage, gat_stages> {
  float largest[multiplying / 32];
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/// The terms of a tile's columns, copied by the warp that copies their rows.
struct TileSources {
  const SourceTerms* of_head;  // of column 0
  int heads;
  __device__ __forceinline__ void operator()(GatStage& stage, int2 columns) const {
    SourceTerms* const to = stage.sources + threadIdx.x % 32;
    copy_async<8>(to, of_head + std::int64_t{columns.x} * heads, 8);
    copy_async<8>(to + 32, of_head + std::int64_t{columns.y} * heads, 8);
  }
};

/// 64 features of a row by a warp. A call, so that what it takes of registers is not taken from the products.
template <class Storage>
__device__ __noinline__ void attend_again(const GatherArgs<Gat<Storage>>& whole, NodeId row, int feature) {
  if (feature < whole.features) redo_row<2>(whole, row, feature);
}

template <class Storage>
struct GatWindow {
  const WindowGatArgs<Storage>& args;
  GatMemory& shared;
  const ScoreArgs<Storage>& message = args.whole.message;
  GatScores<Storage> scores{args.whole.message, args.whole.split};
  WindowWork work = work_at(args.windows.work + blockIdx.x);
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32, group = lane / 4, quad = lane % 4;
  int first_feature = static_cast<int>(blockIdx.y) * tile_features;  // of all heads
  int head = first_feature / message.width;

  __device__ __forceinline__ NodeId row_at_place(int row_in_window) const {
    return __ldg(args.windows.rows + std::int64_t{work.window} * gat_rows + row_in_window);
  }

  __device__ __forceinline__ TileCopies copies() const {
    const int in_head = first_feature - head * message.width + lane % 8 * 8;
    const bool there = in_head < message.width;
    const Storage* const x = args.whole.x + head * message.x_head;
    TileCopies copies{args.windows.cols + std::int64_t{work.first_tile} * window_step, work.tiles,
                      warp - multiplying / 32};
    copies.x = reinterpret_cast<const unsigned char*>(there ? x + in_head : x);
    copies.pitch = there ? args.whole.x_pitch_bytes : 0;
    copies.there = there ? 1 : 0;
    copies.bits = args.windows.bits + std::int64_t{work.first_tile} * (window_step / 32 * gat_rows);
    return copies;
  }

  /// The largest finite score of the window's columns; all warps that multiply find it together.
  __device__ __forceinline__ float largest_source() const {
    const NodeId* const cols = args.windows.cols + std::int64_t{work.first_tile} * window_step;
    float largest = -INFINITY;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < work.tiles * window_step; i += multiplying) {
      const float score = widen(scores.source(static_cast<std::uint32_t>(__ldg(cols + i)), head));
      if (score < INFINITY) largest = fmaxf(largest, score);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
    if (lane == 0) shared.largest[warp] = largest;
    meet<gat_rows>();
#pragma unroll
    for (int w = 0; w < multiplying / 32; ++w) largest = fmaxf(largest, shared.largest[w]);
    return largest;
  }

  float top;                 // the window's largest source
  float above[2], below[2];  // of this lane's rows, `group` and 8 later of the warp's 16
  float near[32], far[32];   // see multiply_group
  float near_total[2], far_total[2];

  /// What this lane's rows make of the terms of sources.
  __device__ __forceinline__ void begin() {
    top = largest_source();
    const float typical = scores.typical(head);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const NodeId row = row_at_place(warp * 16 + group + i * 8);
      const float dst = row < 0 ? 0.0f : widen(scores.destination(static_cast<std::uint32_t>(row), head));
      const float z = typical + dst, reference = scores.leaky(top + dst);
      const bool near_enough = fabsf(top - typical) < farthest;  // else terms may leave the range of f32
      above[i] = near_enough ? exponential(z - reference) * unit : NAN;
      below[i] = near_enough ? exponential(message.slope * z - reference) * unit : NAN;
    }
  }

  /// The weights of 16 columns' edges as operands, see multiply_group, and their sums.
  using Operands = unsigned[weight_pieces<Storage>][4];
  __device__ __forceinline__ void weigh(const GatStage& stage, const uint2 (&bits)[2], int k, Operands& a) {
#pragma unroll
    for (int later = 0; later < 2; ++later) {
      const auto terms = *reinterpret_cast<const float4*>(stage.sources + k * 16 + later * 8 + quad * 2);
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        const unsigned word = (k / 2 == 0 ? bits[i].x : bits[i].y) >> (k % 2 * 8 + later * 4);
        float first = larger(terms.x * above[i], terms.y * below[i]);
        float second = larger(terms.z * above[i], terms.w * below[i]);
        first = (word & 1u) != 0 ? first : 0.0f;
        second = (word & 0x10000u) != 0 ? second : 0.0f;
        near_total[i] += first;
        near_total[i] += second;
#pragma unroll
        for (int p = 0; p < weight_pieces<Storage>; ++p) {
          const unsigned pair = pair_of<Storage>(first, second);
          a[p][i + later * 2] = pair;
          if (p + 1 == weight_pieces<Storage>) break;
          const float2 taken = values_of<Storage>(pair);
          first -= taken.x;
          second -= taken.y;
        }
      }
    }
  }

  __device__ __forceinline__ void multiply_tile(const GatStage& stage, std::uint64_t x) {
    uint2 bits[2];
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      bits[i] = *reinterpret_cast<const uint2*>(stage.bits[warp * 16 + group + i * 8]);
      bits[i].x >>= quad;
      bits[i].y >>= quad;
    }
    Operands a[2];  // of 16 columns while those of the 16 before them are multiplied
#pragma unroll
    for (int k = 0; k < window_step / 16; ++k) {
      if (k >= 2) wait_for_all_but_last();
      weigh(stage, bits, k, a[k % 2]);
      if (k == 0)
        fence_sums(near);
      else
        fence_operands();
#pragma unroll
      for (int p = weight_pieces<Storage> - 1; p >= 0; --p)
        multiply_group<Storage>(near, a[k % 2][p], x + k * (2048 / 16));
      commit_products();
    }
    wait_for_products(near);
  }

  __device__ __forceinline__ void sum_tiles() {
#pragma unroll
    for (int i = 0; i < 32; ++i) near[i] = far[i] = 0;
    near_total[0] = near_total[1] = far_total[0] = far_total[1] = 0;
    const std::uint64_t tiles_at = describe_rows(shared.stages[0].x[0]);
    StageOfTile<gat_stages> at;
    for (int first = 0; first < work.tiles; first += chain) {
      for (int tile = first; tile < min(first + chain, work.tiles); ++tile, at.advance(1)) {
        shared.full[at.stage].wait(at.parity);
        show_copies();
        multiply_tile(shared.stages[at.stage], tiles_at + at.stage * (sizeof(GatStage) / 16));
        if (lane == 0) shared.empty[at.stage].arrive();
      }
#pragma unroll
      for (int i = 0; i < 32; ++i) settle(far[i], near[i]);
#pragma unroll
      for (int i = 0; i < 2; ++i) settle(far_total[i], near_total[i]);
    }
  }

  /// How the two parts of a row add up: the window's by `tile`, the residual's by `rest`.
  struct Shares {
    float tile = 0, rest = 0;
    float top = -INFINITY, total = 0;  // the row's statistics
    bool usable = true;
  };
  __device__ __forceinline__ Shares shares_of(NodeId row, float weights) const {
    Shares shares;
    const GraphView& graph = args.whole.split.graph;
    float edges = static_cast<float>(__ldg(graph.offsets + row + 1) - __ldg(graph.offsets + row));
    float rest_top = -INFINITY, rest_sum = 0;
    if (args.residual != nullptr) {
      edges -= static_cast<float>(__ldg(args.residual_offsets + row + 1) - __ldg(args.residual_offsets + row));
      rest_top = __ldg(args.residual_max + std::int64_t{row} * message.heads + head);
      rest_sum = __ldg(args.residual_sum + std::int64_t{row} * message.heads + head);
    }
    const bool in_tiles = edges > 0, in_rest = rest_sum != 0;
    if (!in_tiles && !in_rest) return shares;
    const float dst = widen(scores.destination(static_cast<std::uint32_t>(row), head));
    const float tile_top = scores.leaky(top + dst);
    shares.top = !in_tiles ? rest_top : !in_rest ? tile_top : larger(tile_top, rest_top);
    const float of_tiles = in_tiles ? rescale(tile_top, shares.top) / unit : 0.0f;
    const float of_rest = in_rest ? rescale(rest_top, shares.top) * rest_sum : 0.0f;
    shares.total = (in_tiles ? of_tiles * weights : 0.0f) + of_rest;
    if (in_tiles) shares.tile = of_tiles / shares.total;
    if (in_rest) shares.rest = of_rest / shares.total;
    shares.usable = shares.total < INFINITY && (!in_tiles || weights >= edges * (least_share * unit));
    return shares;
  }

  /// Rows of this warp, from all their edges where a window's weights do not fit.
  __device__ __forceinline__ void write_rows() const {
    unsigned again = 0;  // a bit for each of this lane's rows
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float weights = far_total[i];
      weights += __shfl_xor_sync(~0u, weights, 1);
      weights += __shfl_xor_sync(~0u, weights, 2);
      const NodeId row = row_at_place(warp * 16 + group + i * 8);
      bool finite = true;
      Shares shares;
      if (row >= 0) {
        shares = shares_of(row, weights);
#pragma unroll
        for (int n = 0; n < 8; ++n) {
          const int feature = first_feature + n * 8 + quad * 2;
          if (feature >= args.whole.features) continue;
          float value[2] = {0, 0};
          if (shares.tile != 0) {
            value[0] = far[n * 4 + i * 2] * shares.tile;
            value[1] = far[n * 4 + i * 2 + 1] * shares.tile;
          }
          if (shares.rest != 0) {
            const auto rest = Pack<float, 2>::load(args.residual + std::int64_t{row} * args.whole.features + feature);
            value[0] += rest.values[0] * shares.rest;
            value[1] += rest.values[1] * shares.rest;
          }
          finite = finite && fabsf(value[0]) < INFINITY && fabsf(value[1]) < INFINITY;
          store_row<2>(args.whole.epilogue, row, feature, value);
        }
      }
      const bool bad = row >= 0 && !(finite && shares.usable);
      const bool row_bad = (__ballot_sync(~0u, bad) >> (group * 4) & 0xf) != 0;
      if (row_bad) again |= 1u << i;
      if (row >= 0 && !row_bad && quad == 0 && head * message.width == first_feature) {
        message.row_max[row * message.max_pitch + head] = shares.top;
        message.row_sum[row * message.sum_pitch + head] = shares.total;
      }
    }
    if (__ballot_sync(~0u, again != 0) == 0) return;
    __syncwarp();  // what was stored above is stored again
    for (int place = 0; place < 16; ++place)
      if ((__shfl_sync(~0u, again, place % 8 * 4) >> (place / 8) & 1) != 0)
        attend_again(args.whole, row_at_place(warp * 16 + place), first_feature + lane * 2);
  }
};
#endif

template <class Storage>
__global__ void __launch_bounds__(gat_threads, gat_blocks)
    attend_windows(const __grid_constant__ WindowGatArgs<Storage> args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  auto& shared = *reinterpret_cast<GatMemory*>(aligned_shared(memory));
  GatWindow<Storage> window{args, shared};
  const bool copies = threadIdx.x >= multiplying;
  const TileCopies job = window.copies();
  const int2 columns = copies ? job.columns_of(job.warp) : int2{};
  shared.prepare(multiplying / 32);
  if (copies) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(copying_registers));
    return job.run(shared, columns, TileSources{args.sources + window.head, args.whole.message.heads});
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(multiplying_registers));
  window.begin();
  window.sum_tiles();
  cudaGridDependencySynchronize();  // the residual's rows
  window.write_rows();
#endif
}

/// A thread has a source and head.
template <class Storage>
struct SourceTermOf {
  GatherArgs<Gat<Storage>> whole;
  SourceTerms* to;
  __device__ void operator()(std::int64_t i) const {
    const GatScores<Storage> scores{whole.message, whole.split};
    const int heads = whole.message.heads;
    const int head = heads == 1 ? 0 : static_cast<int>(i % heads);
    const float z =
        widen(scores.source(static_cast<std::uint32_t>(heads == 1 ? i : i / heads), head)) - scores.typical(head);
    to[i] = {exponential(z), exponential(whole.message.slope * z)};
  }
};

}  // namespace

template <class Storage>
void find_source_terms(const GatherArgs<Gat<Storage>>& whole, std::int64_t columns, SourceTerms* to,
                       CUstream_st* stream) {
  each(columns * whole.message.heads, stream, "terms of sources", SourceTermOf<Storage>{whole, to});
}

template <class Storage>
void launch_window_gat_sm90(const WindowGatArgs<Storage>& args, CUstream_st* stream) {
  const auto kernel = attend_windows<Storage>;
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(args.windows.windows),
                        static_cast<unsigned>((args.whole.features + tile_features - 1) / tile_features));
  config.blockDim = gat_threads;
  config.dynamicSmemBytes = allow_shared(reinterpret_cast<const void*>(kernel),
                                         static_cast<std::int64_t>(sizeof(GatMemory)) + alignment_room);
  config.stream = stream;
  config.attrs = &early;
  // With a residual the kernel in front is that one's last, and only its rows have to be waited for.
  config.numAttrs = args.residual != nullptr ? 1 : 0;
  cudaLaunchKernelEx(&config, kernel, args);
  check_launch("GAT over row windows", args.windows.windows * gat_rows, 0, args.whole.features);
}

#define WEFT_WINDOW_GAT(STORAGE)                                                                              \
  template void find_source_terms(const GatherArgs<Gat<STORAGE>>&, std::int64_t, SourceTerms*, CUstream_st*); \
  template void launch_window_gat_sm90(const WindowGatArgs<STORAGE>&, CUstream_st*);
WEFT_WINDOW_GAT(Half)
WEFT_WINDOW_GAT(BFloat16)

}  // namespace weft::cuda
