// Sums over the dense columns of row windows, on tensor cores.
#pragma once

#include "graph/windows/row_windows.hpp"
#include "kernels/cuda/gather/args.hpp"

namespace weft::cuda {

template <class Storage>
struct WindowSumArgs {
  WindowsView windows;
  int window_rows = 0;
  std::int64_t tiles = 0;           // of all windows
  const EdgeId* offsets = nullptr;  // of the graph, for means
  const Storage* x = nullptr;
  std::uint32_t x_pitch_bytes = 0;
  int features = 0;
  const float* residual = nullptr;  // [rows, features]: sums of all other edges; null: there are none
  RowEpilogue<Storage> epilogue;
};

/// Of f16 and bf16; features come in whole packs of eight, and rows of x are aligned to 16 bytes.
template <class Storage>
void launch_window_sums(const WindowSumArgs<Storage>& args, CUstream_st* stream);
/// The same by wgmma: windows of 64 and 128 rows on Hopper, in builds that have it (WEFT_WGMMA).
template <class Storage>
void launch_window_sums_sm90(const WindowSumArgs<Storage>& args, int multiprocessors, CUstream_st* stream);

}  // namespace weft::cuda
