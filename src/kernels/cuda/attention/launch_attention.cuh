// From a GatherShape to the instantiation of attend_edges that has it.
#pragma once

#include "core/cuda/each.cuh"
#include "kernels/cuda/attention/attention_launch.hpp"
#include "kernels/cuda/attention/kernel.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft::cuda {

template <class Storage>
void launch_attention(const AttentionKernelArgs<Storage>& args, const GatherShape& given, CUstream_st* stream) {
  constexpr int most = sizeof(Storage) < 4 ? tuning::most_halves_a_load_otherwise : 16 / sizeof(Storage);
  with_shape<most, (sizeof(Storage) > 4)>(given, [&](auto vector, auto lanes, auto steps) {
    const auto launch = [&]<int Loads, int Sub>() {
      using S = Shape<vector, lanes, steps, Loads>;
      const EdgeSplit& split = args.split;
      const dim3 grid(static_cast<unsigned>(split.blocks(S::groups)),
                      static_cast<unsigned>((args.features + S::tile - 1) / S::tile));
      attend_edges<Storage, S, Sub><<<grid, block_threads, 0, stream>>>(args);
      check_launch("attention", split.graph.num_rows, split.graph.num_edges, args.features);
    };
    // Where the lanes of a head are a power of two and cover it alone they share their scores.
    if constexpr (steps == 1 && lanes >= 8 && sizeof(Storage) <= 4) {
      const int head_lanes = args.width / vector;
      if ((head_lanes & (head_lanes - 1)) == 0 && head_lanes <= lanes) {
        if (head_lanes >= 8) return launch.template operator()<8, 8>();
        if (head_lanes == 4) return launch.template operator()<8, 4>();
      }
    }
    launch.template operator()<4 / steps, 0>();  // scores and weights of a batch take registers
  });
}

template <class Storage>
void launch_attention_finish(const AttentionKernelArgs<Storage>& args, CUstream_st* stream) {
  const GraphView& g = args.split.graph;
  finish_attention<<<blocks_for(g.num_rows), block_threads, 0, stream>>>(args);
  check_launch("the last pass of attention", g.num_rows, g.num_edges, args.features);
}

}  // namespace weft::cuda
