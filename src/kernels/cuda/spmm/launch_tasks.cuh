// From a GatherShape to the instantiation of reduce_edges that has it.
#pragma once

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/spmm/kernel.cuh"
#include "kernels/cuda/spmm/spmm_launch.hpp"

namespace weft::cuda {

/// Rows in flight: eight of 16 bytes a lane fill the registers; an edge's own row takes as many again.
template <class Storage, Message Sent>
inline constexpr int rows_in_flight = sizeof(Storage) > 4 || Sent == Message::edgewise ? 4 : 8;

template <class Storage, Message Sent, Reduction Kind, class S>
void launch_shape(const SpmmKernelArgs<Storage>& args, CUstream_st* stream) {
  const EdgeSplit& split = args.split;
  const dim3 grid(static_cast<unsigned>(split.blocks(S::groups)),
                  static_cast<unsigned>((args.features + S::tile - 1) / S::tile));
  reduce_edges<Storage, S, Sent, Kind><<<grid, block_threads, 0, stream>>>(args);
  check_launch("spmm", split.graph.num_rows, split.graph.num_edges, args.features);
}

template <class Storage, Message Sent, Reduction Kind>
void launch_tasks(const SpmmKernelArgs<Storage>& args, const GatherShape& given, CUstream_st* stream) {
  // Halves have every shape for sums alone: the others would take as long again to compile.
  constexpr bool coarse =
      sizeof(Storage) > 4 || (sizeof(Storage) < 4 && (Kind != Reduction::sum || Sent == Message::edgewise));
  with_shape<16 / sizeof(Storage), coarse>(given, [&](auto vector, auto lanes, auto steps) {
    launch_shape<Storage, Sent, Kind, Shape<vector, lanes, steps, rows_in_flight<Storage, Sent> / steps>>(args, stream);
  });
}

}  // namespace weft::cuda
