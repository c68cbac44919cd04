// What kernels take of attention's arguments for the scores of edges and the statistics of rows.
#pragma once

#include "kernels/cuda/attention/messages.hpp"
#include "kernels/cuda/pitch.hpp"
#include "kernels/signatures.hpp"

namespace weft::cuda {

template <class Storage>
ScoreArgs<Storage> score_args(const AttentionArgs& given) {
  using Acc = AccumulatorOf<Storage>;
  ScoreArgs<Storage> scores;
  scores.heads = static_cast<int>(given.heads);
  scores.width = static_cast<int>(given.width);
  scores.x_head = given.value.head_stride;
  scores.src = static_cast<const Storage*>(given.src.data);
  scores.src_pitch_bytes = pitch_bytes<Storage>("src", given.src.row_stride);
  scores.src_head = given.src.head_stride;
  scores.dst = static_cast<const Storage*>(given.dst.data);
  scores.dst_pitch_bytes = pitch_bytes<Storage>("dst", given.dst.row_stride);
  scores.dst_head = given.dst.head_stride;
  scores.by_edge = given.edge.given() || given.bias.given();
  scores.edge = static_cast<const Storage*>(given.edge.data);
  scores.edge_pitch = given.edge.row_stride;
  scores.edge_head = given.edge.head_stride;
  if (given.bias.given()) {
    scores.bias = maybe_wide<Storage>(given.bias.data, given.bias.dtype);
    scores.bias_pitch = given.bias.row_stride;
    scores.bias_head = given.bias.head_stride;
  }
  scores.slope = static_cast<Acc>(given.slope);
  scores.score = given.score;
  scores.score_width = static_cast<int>(given.score_width);
  scores.attn = static_cast<const Storage*>(given.attn.data);
  scores.attn_head = given.attn.head_stride;
  scores.scale = static_cast<Acc>(given.scale);
  // Scores may lie 20 above the reference and 27 below, or the other way round where it is of the row's own.
  scores.margin = static_cast<Acc>(given.score == Score::gat ? 0x1p-30 : 0x1p-40);
  scores.per_margin = 1 / scores.margin;
  scores.dropout = given.dropout;
  scores.kept = static_cast<Acc>(given.dropout.scale());
  scores.row_max = static_cast<Acc*>(given.row_max.data);
  scores.max_pitch = given.row_max.row_stride;
  scores.row_sum = static_cast<Acc*>(given.row_sum.data);
  scores.sum_pitch = given.row_sum.row_stride;
  return scores;
}

}  // namespace weft::cuda
