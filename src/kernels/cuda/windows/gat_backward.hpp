// GAT's gradients over row windows of the transpose: rows are sources, the columns of tiles destinations.
#pragma once

#include "kernels/cuda/attention/messages.hpp"
#include "kernels/cuda/windows/windows.hpp"

namespace weft::cuda {

/// Features of a head: the values of a window's rows and some tiles of gradients fit into a block's shared memory.
inline constexpr int most_gradient_features = 2 * tile_features;

/// A destination's: a weight is 2^(leaky_relu(src + dst) - reference) * share, with scores in units of ln 2.
struct alignas(16) ColumnTerms {
  float dst, reference;
  float share;  // weight_unit / the row's sum of exponentials
  float mean;   // of the gradients of the row's weights
};
/// Weights are times this, as those of long rows would have no room in f16.
inline constexpr float weight_unit = 0x1p15f;

template <class Storage>
struct WindowGradientArgs {
  WindowsView windows;  // of 128 rows
  /// The gradients by all edges: operands and results. Rows whose weights have no room in f16 are left to it.
  GatherArgs<GatBackward<Storage>> whole;
  const ColumnTerms* columns = nullptr;  // [columns, heads]
  /// Of every head and tile: the sums, over a window's rows, of the gradients of the scores of 64 columns.
  float* column_sums = nullptr;  // [heads, tiles, 64]
  std::int64_t tiles = 0;        // of all windows
  /// The residual's, by itself; null: it has no edges.
  const EdgeId* residual_offsets = nullptr;
  const float *residual_value = nullptr, *residual_src = nullptr;  // [rows, heads * width], [rows, heads]
};

/// `to` [rows, heads].
void find_column_terms(const DestinationTerms<float>* destinations, std::int64_t count, ColumnTerms* to,
                       CUstream_st* stream);
/// The gradients of value and src. Of f16 and bf16 on Hopper; values and gradients come in packs of 16 bytes, heads are
/// one of up to most_gradient_features, or of whole 64.
template <class Storage>
void launch_window_gradients_sm90(const WindowGradientArgs<Storage>& args, CUstream_st* stream);

/// The gradients of dst: what the tiles of a column have for it, in their order, and the residual's.
struct ColumnGradients {
  TilePlacesView places;
  const float* column_sums = nullptr;  // as above
  std::int64_t tiles = 0;
  const float* residual = nullptr;  // [columns, heads]; null: none
  std::int64_t columns = 0;
  int heads = 1;
};
template <class Storage>
void add_column_gradients(const ColumnGradients& args, Storage* to, std::int64_t pitch, CUstream_st* stream);

}  // namespace weft::cuda
