// From a GatherShape to the instantiation of reduce_edges that has it.
#pragma once

#include "kernels/cuda/launch_check.hpp"
#include "kernels/cuda/spmm/kernel.cuh"
#include "kernels/cuda/spmm/spmm_launch.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft::cuda {

/// Rows in flight. An edge's own row takes as many registers again, and doubles take twice as many.
template <class Storage, Message Sent, int Vector, int Lanes, int Steps>
inline constexpr int loads_of = sizeof(Storage) > 4 || Sent == Message::edgewise || Sent == Message::scored
                                        || Sent == Message::leaned
                                    ? 4 / Steps
                                    : rows_in_flight(Vector, Lanes, Steps);

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
  // Packs of eight halves are for sums: see widest_load.
  constexpr bool sums = Kind == Reduction::sum && Sent != Message::edgewise;
  constexpr int most = sizeof(Storage) < 4 && !sums ? tuning::most_halves_a_load_otherwise : 16 / sizeof(Storage);
  // Doubles are for checks; of halves those messages that no model sends by the million: each shape takes a second to
  // compile.
  constexpr bool rare = sizeof(Storage) > 4 ||
                        (sizeof(Storage) < 4 &&
                         (Kind == Reduction::winner || (Kind == Reduction::extremum && Sent == Message::edgewise)));
  with_shape<most, rare>(given, [&](auto vector, auto lanes, auto steps) {
    launch_shape<Storage, Sent, Kind, Shape<vector, lanes, steps, loads_of<Storage, Sent, vector, lanes, steps>>>(
        args, stream);
  });
}

}  // namespace weft::cuda
