// GAT over the dense columns of windows by wgmma: operands are weights of edges, made in registers from terms of the
// tile's columns and of the warp's rows where a bit says that there is an edge. No edge has an exponential, an id or a
// gather of its own.
//
// A weight is relative to the score that a row would have for the largest source of its window, times 2^15, and the sum
// of two f16 or three bf16, each the nearest to what those before it leave: 22 and 24 bits. f16 ends at 2^-24, so small
// weights have fewer; a row whose edges weigh less than 2^-12 of the largest in the mean, and what is not finite, is
// computed once more from all its edges.
#include "core/loops/cuda/each.cuh"
#include "kernels/cuda/windows/attention_window.cuh"

namespace weft::cuda {
namespace {

constexpr float unit = 0x1p15f;          // the weight of a window's largest source
constexpr float least_share = 0x1p-12f;  // of it, that an edge has to weigh in the mean
constexpr float farthest = 60;           // of scores from the typical one

struct alignas(1024) GatStage {
  unsigned char x[1][window_step * tile_features * 2];
  alignas(16) std::uint32_t bits[attention_rows][window_step / 32];
  alignas(16) SourceTerms sources[window_step];
};
inline constexpr int gat_stages = stages_that_fit<GatStage, attention_blocks, 1024>();
struct GatMemory : TilePipeline<GatStage, gat_stages> {
  float largest[attention_multiplying / 32];
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

template <class Storage>
struct GatWindow : AttentionWindow<Storage> {
  using Base = AttentionWindow<Storage>;
  using Base::args, Base::message, Base::work, Base::lane, Base::warp, Base::quad, Base::head;
  GatMemory& shared;
  GatScores<Storage> scores{args.whole.message, args.whole.split};

  __device__ __forceinline__ GatWindow(const WindowGatArgs<Storage>& args, GatMemory& shared)
      : Base{args}, shared(shared) {}

  /// The largest finite score of the window's columns; all warps that multiply find it together.
  __device__ __forceinline__ float largest_source() const {
    const NodeId* const cols = args.windows.cols + std::int64_t{work.first_tile} * window_step;
    float largest = -INFINITY;
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x); i < work.tiles * window_step; i += attention_multiplying) {
      const float score = widen(scores.source(static_cast<std::uint32_t>(__ldg(cols + i)), head));
      if (score < INFINITY) largest = fmaxf(largest, score);
    }
#pragma unroll
    for (int step = 16; step > 0; step /= 2) largest = fmaxf(largest, __shfl_xor_sync(~0u, largest, step));
    if (lane == 0) shared.largest[warp] = largest;
    meet<attention_rows>();
#pragma unroll
    for (int w = 0; w < attention_multiplying / 32; ++w) largest = fmaxf(largest, shared.largest[w]);
    return largest;
  }

  float top;                 // the window's largest source
  float above[2], below[2];  // of this lane's rows
  float near[32], far[32];   // see multiply_group
  float near_total[2], far_total[2];

  /// What this lane's rows make of the terms of sources.
  __device__ __forceinline__ void begin() {
    top = largest_source();
    const float typical = scores.typical(head);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const NodeId row = this->own_row(i);
      const float dst = row < 0 ? 0.0f : widen(scores.destination(static_cast<std::uint32_t>(row), head));
      const float z = typical + dst, reference = scores.leaky(top + dst);
      const bool near_enough = fabsf(top - typical) < farthest;  // else terms may leave the range of f32
      above[i] = near_enough ? exponential(z - reference) * unit : NAN;
      below[i] = near_enough ? exponential(message.slope * z - reference) * unit : NAN;
    }
  }

  /// The weights of 16 columns' edges as operands, and their sums.
  __device__ __forceinline__ void weigh(const GatStage& stage, const uint2 (&bits)[2], int k,
                                        WeightOperands<Storage>& a) {
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
        put_weights<Storage>(a, i + later * 2, first, second);
      }
    }
  }

  __device__ __forceinline__ void multiply_tile(const GatStage& stage, std::uint64_t x) {
    uint2 bits[2];
    this->load_bits(stage, bits);
    WeightOperands<Storage> a[2];  // of 16 columns while those of the 16 before them are multiplied
#pragma unroll
    for (int k = 0; k < window_step / 16; ++k) {
      if (k >= 2) wait_for_all_but_last();
      weigh(stage, bits, k, a[k % 2]);
      if (k == 0)
        fence_sums(near);
      else
        fence_operands();
      multiply_weights<Storage>(near, a[k % 2], x + k * (2048 / 16));
    }
    wait_for_products(near);
  }

  __device__ __forceinline__ void sum_tiles() {
#pragma unroll
    for (int i = 0; i < 32; ++i) near[i] = far[i] = 0;
    near_total[0] = near_total[1] = far_total[0] = far_total[1] = 0;
    const std::uint64_t tiles_at = describe_rows(shared.stages[0].x[0]);
    StageOfTile<gat_stages> at;
    for (int first = 0; first < work.tiles; first += attention_chain) {
      for (int tile = first; tile < min(first + attention_chain, work.tiles); ++tile, at.advance(1)) {
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

  __device__ __forceinline__ void write_rows() const {
    Base::write_rows(far, far_total, unit, [&](int, NodeId row, float edges, float weights) {
      const float dst = widen(scores.destination(static_cast<std::uint32_t>(row), head));
      return typename Base::OfTiles{scores.leaky(top + dst), weights >= edges * (least_share * unit)};
    });
  }
};
#endif

template <class Storage>
__global__ void __launch_bounds__(attention_threads, attention_blocks)
    attend_windows(const __grid_constant__ WindowGatArgs<Storage> args) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char memory[];
  auto& shared = *reinterpret_cast<GatMemory*>(aligned_shared(memory));
  GatWindow<Storage> window{args, shared};
  const bool copies = threadIdx.x >= attention_multiplying;
  const TileCopies job = window.copies_of_values();
  const int2 columns = copies ? job.columns_of(job.warp) : int2{};
  shared.prepare(attention_multiplying / 32);
  if (copies) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(attention_copying_registers));
    return job.run(shared, columns, TileSources{args.sources + window.head, args.whole.message.heads});
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(attention_multiplying_registers));
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
  launch_attention_windows<GatMemory>(attend_windows<Storage>, args, "GAT over row windows", stream);
}

#define WEFT_WINDOW_GAT(STORAGE)                                                                              \
  template void find_source_terms(const GatherArgs<Gat<STORAGE>>&, std::int64_t, SourceTerms*, CUstream_st*); \
  template void launch_window_gat_sm90(const WindowGatArgs<STORAGE>&, CUstream_st*);
WEFT_WINDOW_GAT(Half)
WEFT_WINDOW_GAT(BFloat16)

}  // namespace weft::cuda
