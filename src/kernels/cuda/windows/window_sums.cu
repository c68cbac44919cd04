// Sums of windows by mma.sync, for every GPU that has it for halves (sm_80 and later). A block sums 64 features of a
// window. Tiles of 64 dense columns come to shared memory in a pipeline; their bits become operands in registers (0 and
// a power of two are exact), so that products of halves, and of the three that an f32 is split into, are exact and only
// sums round. Weights of edges become operands by way of shared memory. Where f32 is asked for as TF32, x is rounded.
#include "core/cuda/copy_async.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/windows/weight_feed.cuh"

namespace weft::cuda {
namespace {

constexpr int window_threads = 256, window_warps = window_threads / 32;
constexpr unsigned two_as_f32 = 0x40000000;  // of two_edges the later half and 16 bits behind it

/// Whether tiles are pieces that split_rows made, and not x itself.
template <class Storage, class Operand>
constexpr bool splits = !std::is_same_v<Storage, typename Operand::type>;

/// A block, whose warps share `Rows` x 64 sums: 16 rows each, and where there are more warps than that, a part of the
/// features. `Weighted`: operands are values of edges instead of bits.
template <class Storage, int Rows, bool Weighted, class Operand>
struct BlockShape {
  static constexpr int row_warps = Rows / 16;
  static constexpr int feature_warps = window_warps / row_warps;
  static constexpr int feature_tiles = tile_features / 8 / feature_warps;  // of 8 features, a warp's

  using Stage = std::conditional_t<Weighted, TileStage<Operand::pieces>, WindowStage<Rows, Operand::pieces>>;
  using Slab = OperandSlab<typename Operand::type>;
  /// A warp that has its rows to itself fills and reads one slab. Those that share rows have two in turns: one is
  /// filled while some still read the other.
  static constexpr int slabs_of_rows = !Weighted ? 0 : feature_warps == 1 ? 1 : 2;
  /// A warp that has its rows to itself also has all their sums in registers, and room for fewer edges there.
  using Feed = WeightFeed<Storage, Rows, feature_warps == 1 ? 2 : 4>;
  /// The smallest multiprocessors have 100 KiB (sm_86, sm_89), of which every block takes one more: there two blocks of
  /// halves run at once, or one of f32.
  static constexpr int least_blocks = Operand::pieces == 1 ? 2 : 1;
  static constexpr int room = 100 * 1024 / least_blocks - 1024 - static_cast<int>(alignment_room) -
                              row_warps * slabs_of_rows * static_cast<int>(sizeof(Slab));
  static constexpr int stages_that_fit = room / static_cast<int>(sizeof(Stage));
  static_assert(stages_that_fit >= 2);
  static constexpr int stages = stages_that_fit < 4 ? stages_that_fit : 4;
};

template <class Storage, int Rows, bool Weighted, class Operand>
struct BlockMemory {
  using Shape = BlockShape<Storage, Rows, Weighted, Operand>;
  typename Shape::Stage stages[Shape::stages];
  typename Shape::Slab slabs[Shape::slabs_of_rows][Shape::row_warps];
};
template <class Storage, int Rows, class Operand>
struct BlockMemory<Storage, Rows, false, Operand> {
  using Shape = BlockShape<Storage, Rows, false, Operand>;
  typename Shape::Stage stages[Shape::stages];
};

template <class Storage, int Rows, bool Weighted, class Operand>
struct WindowSums : WindowBlock<Storage, Rows, Weighted> {
  using Block = WindowBlock<Storage, Rows, Weighted>;
  using Shape = BlockShape<Storage, Rows, Weighted, Operand>;
  using Memory = BlockMemory<Storage, Rows, Weighted, Operand>;
  using Stage = typename Shape::Stage;
  using Type = typename Operand::type;
  using Block::lane, Block::warp, Block::tiles, Block::args, Block::first_tile, Block::first_feature;
  Memory& shared;
  int row_warp = warp % Shape::row_warps, feature_warp = warp / Shape::row_warps;
  float near[Shape::feature_tiles][4] = {}, far[Shape::feature_tiles * 4] = {};

  __device__ __forceinline__ WindowSums(const WindowSumArgs<Storage>& args, Memory& shared)
      : Block{args}, shared(shared) {}

  static constexpr int packs_a_thread = window_step * 8 / window_threads;  // of each piece
  using Columns = NodeId[packs_a_thread];
  const NodeId* cols = args.windows.cols + first_tile * window_step + threadIdx.x / 8;  // this thread's of tile 0

  /// The columns whose packs this thread copies of a tile; asked for one tile ahead, as addresses wait for them.
  __device__ __forceinline__ void columns_of(int tile, Columns& columns) const {
    const std::uint32_t first = static_cast<std::uint32_t>(tile) * window_step;
#pragma unroll
    for (int i = 0; i < packs_a_thread; ++i)
      columns[i] = tile < tiles ? __ldg(cols + first + i * (window_threads / 8)) : 0;
  }
  /// 16 bytes of a row, of every piece: a thread has the same pack of all its columns.
  __device__ __forceinline__ void copy_pack(Stage& stage, int column, int pack, NodeId id) const {
    const auto row = static_cast<std::uint32_t>(id);
    if constexpr (splits<Storage, Operand>) {
      const auto pitch = static_cast<std::uint32_t>(split_pitch(args.features) * sizeof(BFloat16));
      const BFloat16* const from = row_at(args.pieces + first_feature * Operand::pieces + pack * 8, row, pitch);
#pragma unroll
      for (int p = 0; p < Operand::pieces; ++p)
        copy_async<16>(stage.x[p] + place_of_pack(column, pack), from + p * tile_features, 16);
    } else {
      const Storage* const from = row_at(args.x, row, args.x_pitch_bytes);
#pragma unroll
      for (int p = 0; p < Operand::pieces; ++p) {
        const int feature = first_feature + (p * 8 + pack) * static_cast<int>(16 / sizeof(Storage));
        const bool there = feature < args.features;
        copy_async<16>(stage.x[p] + place_of_pack(column, pack), there ? from + feature : args.x, there ? 16 : 0);
      }
    }
  }
  __device__ __forceinline__ void start_copies(int tile, const Columns& columns) const {
    if (tile < tiles) {
      Stage& stage = shared.stages[tile % Shape::stages];
#pragma unroll
      for (int i = 0; i < packs_a_thread; ++i) {
        const int at = i * window_threads + static_cast<int>(threadIdx.x);
        copy_pack(stage, at / 8, at % 8, columns[i]);
      }
      if constexpr (!Weighted) {
        constexpr int bit_packs = sizeof(stage.bits) / 16;
        if (static_cast<int>(threadIdx.x) < bit_packs)
          copy_async<16>(stage.bits[0] + threadIdx.x * 4,
                         args.windows.bits + (first_tile + tile) * (window_step / 32) * Rows + threadIdx.x * 4, 16);
      }
    }
    commit_copies();
  }
  /// All but the last of the pipeline's tiles are on their way then, and `columns` are those of the last.
  __device__ __forceinline__ void fill_pipeline(Columns& columns) const {
    columns_of(0, columns);
#pragma unroll
    for (int s = 0; s < Shape::stages - 1; ++s) {
      start_copies(s, columns);
      columns_of(s + 1, columns);
    }
  }

  /// Of the warps that share rows the first.
  __device__ __forceinline__ bool feeds() const { return Shape::feature_warps == 1 || feature_warp == 0; }
  __device__ __forceinline__ auto weight_feed() const {
    if constexpr (Weighted)
      return typename Shape::Feed{args, args.edges.starts + first_tile * (Rows / 16) + row_warp, tiles,
                                  static_cast<std::uint32_t>(row_warp * 16 * TileEdge::pitch)};
    else
      return 0;
  }
  __device__ __forceinline__ auto& slab_of(int tile) const {
    return shared.slabs[Shape::slabs_of_rows == 1 ? 0 : tile % 2][row_warp];
  }

  /// `load(k, a)`: the operands of the k-th 16 columns.
  template <class Load>
  __device__ __forceinline__ void multiply_tile(const Stage& stage, const Load& load) {
    const auto x = static_cast<unsigned>(__cvta_generic_to_shared(stage.x[0]));
#pragma unroll 1  // all at once take more registers than there are
    for (int p = 0; p < Operand::pieces; ++p)
#pragma unroll
      for (int k = 0; k < window_step / 16; ++k) {
        unsigned a[4];
        load(k, a);
        // Lanes 0 to 7 have the first eight columns, 8 to 15 the next; 16 to 31 the same of the next eight features.
        const int column = k * 16 + lane % 16;
        const unsigned piece = x + p * sizeof(stage.x[0]);
        if constexpr (Shape::feature_tiles == 1) {
          unsigned b[2];
          load_transposed(b, piece + place_of_pack(column, feature_warp));
          multiply<Type>(near[0], a, b);
        } else {
#pragma unroll
          for (int n = 0; n < Shape::feature_tiles; n += 2) {
            unsigned words[4];
            load_transposed(words, piece + place_of_pack(column, feature_warp * Shape::feature_tiles + n + lane / 16));
            const unsigned left[2] = {words[0], words[1]}, right[2] = {words[2], words[3]};
            multiply<Type>(near[n], a, left);
            multiply<Type>(near[n + 1], a, right);
          }
        }
      }
  }

  /// Of a pair of columns each is an operand of its own; of eight the even ones come first.
  __device__ __forceinline__ void multiply_tf32(const Stage& stage) {
    const int group = lane / 4, quad = lane % 4, row = row_warp * 16 + group;
    const RowBits low(stage.bits[row], quad), high(stage.bits[row + 8], quad);
    const auto number = [&](int column, int feature) {
      const unsigned char* const pack = stage.x[feature / 32] + place_of_pack(column, feature % 32 / 4);
      return nearest_tf32(reinterpret_cast<const float*>(pack)[feature % 4]);
    };
#pragma unroll
    for (int k = 0; k < window_step / 8; ++k) {
      const unsigned first = low.halves(k / 2, k % 2 != 0), later = high.halves(k / 2, k % 2 != 0);
      const unsigned a[4] = {first << 16 & two_as_f32, later << 16 & two_as_f32, first & two_as_f32,
                             later & two_as_f32};
#pragma unroll
      for (int n = 0; n < Shape::feature_tiles; ++n) {
        const int feature = (feature_warp * Shape::feature_tiles + n) * 8 + group;
        const unsigned b[2] = {number(k * 8 + quad * 2, feature), number(k * 8 + quad * 2 + 1, feature)};
        multiply<Type>(near[n], a, b);
      }
    }
  }

  __device__ __forceinline__ void run() {
    Columns columns;
    fill_pipeline(columns);
    [[maybe_unused]] auto weights = weight_feed();
    if constexpr (Weighted)
      if (feeds()) weights.begin();
    for (int first = 0; first < tiles; first += Operand::chain) {
#pragma unroll 1
      for (int tile = first; tile < min(first + Operand::chain, tiles); ++tile) {
        // All warps have passed the last tile's barrier, and so left the slab of the tile before it.
        if constexpr (Weighted)
          if (feeds()) weights.fill(tile, slab_of(tile));
        wait_for_copies<Shape::stages - 2>();
        __syncthreads();
        start_copies(tile + Shape::stages - 1, columns);  // over the tile that all warps have left
        columns_of(tile + Shape::stages, columns);
        const Stage& stage = shared.stages[tile % Shape::stages];
        if constexpr (Weighted) {
          multiply_tile(stage, [&slab = slab_of(tile)](int k, unsigned(&a)[4]) { slab.load(k, a); });
        } else if constexpr (std::is_same_v<Type, float>) {
          multiply_tf32(stage);
        } else {
          TileOperands edges;
          operands_of_bits(stage.bits, row_warp * 16 + lane / 4, lane % 4, edges);
          multiply_tile(stage, [&](int k, unsigned(&a)[4]) {
#pragma unroll
            for (int i = 0; i < 4; ++i) a[i] = edges[k][i];
          });
        }
      }
#pragma unroll
      for (int n = 0; n < Shape::feature_tiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) settle(far[n * 4 + i], near[n][i]);
    }
    this->template write_rows<Shape::feature_tiles>(row_warp * 16,
                                                    first_feature + feature_warp * Shape::feature_tiles * 8, far);
  }
};

template <class Storage, int Rows, bool Weighted, class Operand>
__global__ void __launch_bounds__(window_threads, 2) sum_windows(const WindowSumArgs<Storage> args) {
  extern __shared__ unsigned char memory[];
  using Sums = WindowSums<Storage, Rows, Weighted, Operand>;
  Sums(args, *reinterpret_cast<typename Sums::Memory*>(aligned_shared(memory))).run();
}

template <class Storage, int Rows, bool Weighted, class Operand>
void launch_block(const WindowSumArgs<Storage>& args, CUstream_st* stream) {
  const auto kernel = sum_windows<Storage, Rows, Weighted, Operand>;
  constexpr auto room =
      static_cast<std::int64_t>(sizeof(BlockMemory<Storage, Rows, Weighted, Operand>)) + alignment_room;
  static_assert(room <= 99 * 1024, "what a block can have on every GPU from sm_80 on");
  const std::size_t bytes = allow_shared(reinterpret_cast<const void*>(kernel), room);
  const dim3 grid(static_cast<unsigned>(args.windows.windows),
                  static_cast<unsigned>((args.features + tile_features - 1) / tile_features));
  kernel<<<grid, window_threads, bytes, stream>>>(args);
  check_launch("sums of row windows", args.windows.windows * Rows, 0, args.features);
}

template <class Storage, int Rows>
void launch_rows(const WindowSumArgs<Storage>& args, CUstream_st* stream) {
  using Operand = WindowOperand<Storage>;
  if constexpr (sizeof(Storage) == 2) {
    if (args.weights != nullptr) return launch_block<Storage, Rows, true, Operand>(args, stream);
  } else {
    if (args.pieces == nullptr) return launch_block<Storage, Rows, false, Tf32Operand>(args, stream);
  }
  launch_block<Storage, Rows, false, Operand>(args, stream);
}

}  // namespace

template <class Storage>
void launch_window_sums(const WindowSumArgs<Storage>& args, CUstream_st* stream) {
  if (args.window_rows == 16) return launch_rows<Storage, 16>(args, stream);
  if (args.window_rows == 64) return launch_rows<Storage, 64>(args, stream);
  launch_rows<Storage, 128>(args, stream);
}

template void launch_window_sums(const WindowSumArgs<float>&, CUstream_st*);
template void launch_window_sums(const WindowSumArgs<Half>&, CUstream_st*);
template void launch_window_sums(const WindowSumArgs<BFloat16>&, CUstream_st*);

}  // namespace weft::cuda
