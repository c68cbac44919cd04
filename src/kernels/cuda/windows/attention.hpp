// Attention over row windows: the edges of dense columns on tensor cores, which take the residual's rows in and finish
// all.
#pragma once

#include "kernels/cuda/attention/messages.hpp"
#include "kernels/cuda/windows/windows.hpp"

namespace weft::cuda {

/// Of f16 and bf16 on Hopper. Values and results come in packs of 16 and 4 bytes, heads are one or of whole 64
/// features.
template <class Storage>
struct WindowAttentionArgs {
  WindowsView windows;  // of 128 rows
  /// Attention over all edges: values, scores and results. Rows whose weights have no room in f16, or are not finite,
  /// are left to it.
  GatherArgs<Gat<Storage>> whole;
  /// Attention over the residual, by itself; null: it has no edges.
  const EdgeId* residual_offsets = nullptr;
  const float* residual = nullptr;                               // [rows, heads * width]
  const float *residual_max = nullptr, *residual_sum = nullptr;  // [rows, heads]
};

/// What an edge weighs is exp(leaky_relu(src[u] + dst[v])). For slopes from 0 to 1 leaky_relu is the larger of two
/// sums, so a weight is the larger of two products of a source's term and a destination's: no edge has an exponential
/// of its own. These are a source's, exp(src - typical) and exp(slope * (src - typical)).
struct alignas(8) SourceTerms {
  float above, below;  // where leaky_relu's argument is positive, and where not
};

template <class Storage>
struct WindowGatArgs : WindowAttentionArgs<Storage> {
  const SourceTerms* sources = nullptr;  // [columns, heads]
};

/// `columns` nodes have scores.
template <class Storage>
void find_source_terms(const GatherArgs<Gat<Storage>>& whole, std::int64_t columns, SourceTerms* to,
                       CUstream_st* stream);
template <class Storage>
void launch_window_gat_sm90(const WindowGatArgs<Storage>& args, CUstream_st* stream);

/// With scores that are dot products, times a finite scale above 0, of up to most_window_scores features in whole packs
/// of eight; rows of src and dst, of every head, begin at multiples of 16 bytes.
template <class Storage>
void launch_window_dot_sm90(const WindowAttentionArgs<Storage>& args, CUstream_st* stream);

}  // namespace weft::cuda
