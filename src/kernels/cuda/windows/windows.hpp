// Sums and dot products over the dense columns of row windows, on tensor cores.
#pragma once

#include "graph/windows/row_windows.hpp"
#include "kernels/cuda/gather/args.hpp"

namespace weft::cuda {

inline constexpr int tile_features = 64;  // of a block: 128 bytes of a row of halves
inline constexpr int split_pieces = 3;
inline constexpr float per_ln2 = 1.4426950408889634f;  // scores are powers of two where there are many

template <class Storage>
struct WindowSumArgs {
  WindowsView windows;
  int window_rows = 0;
  std::int64_t tiles = 0;           // of all windows
  const EdgeId* offsets = nullptr;  // of the graph, for means
  const Storage* x = nullptr;
  std::uint32_t x_pitch_bytes = 0;
  int features = 0;
  const BFloat16* pieces = nullptr;  // of x in f32 times col_scale, as split_rows leaves them; null: x itself, as TF32
  const float* col_scale = nullptr;  // of f32; null: none
  const Storage* weights = nullptr;  // of edges, by id, with the edges of tiles; null: none
  std::int64_t weights_pitch = 1;
  TileEdgesView edges;
  const float* residual = nullptr;  // [rows, features]: sums of all other edges; null: there are none
  RowEpilogue<Storage> epilogue;
};

/// An f32, times its row's scale where there is one, as the sum of three bf16: `pieces` [rows, features / 64 rounded
/// up, split_pieces, 64], the leading ones last. Below 2^-110 or so the last bits are lost.
struct SplitArgs {
  const float* x = nullptr;
  const float* scale = nullptr;      // [rows] or null
  std::int64_t rows = 0, pitch = 0;  // floats
  int features = 0;
  BFloat16* pieces = nullptr;
};
void split_rows(const SplitArgs& args, CUstream_st* stream);
/// bf16 of a row.
WEFT_ANYWHERE constexpr std::int64_t split_pitch(std::int64_t features) {
  return (features + tile_features - 1) / tile_features * split_pieces * tile_features;
}

/// Features come in whole packs of eight, and rows of x are aligned to 16 bytes. Weights are of f16 and bf16 alone;
/// TF32 takes no col_scale.
template <class Storage>
void launch_window_sums(const WindowSumArgs<Storage>& args, CUstream_st* stream);
/// The same by wgmma, but for TF32: windows of 64 and 128 rows on Hopper, in builds that have it (has_wgmma).
template <class Storage>
void launch_window_sums_sm90(const WindowSumArgs<Storage>& args, int multiprocessors, CUstream_st* stream);

/// Dot products of both ends of the edges that windows have, 128 rows per window, of f16 and bf16 on Hopper.
template <class Storage>
struct TileDotArgs {
  WindowsView windows;
  TileEdgesView edges;
  const Storage *source = nullptr, *destination = nullptr;  // rows aligned to 16 bytes
  std::uint32_t source_pitch_bytes = 0, destination_pitch_bytes = 0;
  int features = 0;        // whole packs of eight, up to most_window_dots
  Storage* out = nullptr;  // by edge id
  bool wide = false;       // out holds accumulators instead
  std::int64_t out_pitch = 1;
};
template <class Storage>
void launch_tile_dots_sm90(const TileDotArgs<Storage>& args, CUstream_st* stream);

}  // namespace weft::cuda
