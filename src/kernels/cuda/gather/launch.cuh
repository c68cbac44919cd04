// From a GatherShape to the instantiation of gather_edges that has it.
#pragma once

#include "kernels/cuda/gather/launch.hpp"
#include "kernels/cuda/gather/walk.cuh"
#include "kernels/cuda/launch_check.hpp"
#include "plan/tuning/cuda.hpp"

namespace weft::cuda {

/// Rows in flight. A second row an edge takes as many registers again, and doubles take twice as many.
template <class Message, int Vector, int Lanes, int Steps>
inline constexpr int loads_of = sizeof(typename Message::Storage) > 4 || Message::rows_an_edge > 1
                                    ? 4 / Steps
                                    : rows_in_flight(Vector, Lanes, Steps);

template <class S, Reduction Kind, class Message>
void launch_shape(const GatherArgs<Message>& args, CUstream_st* stream) {
  const EdgeSplit& split = args.split;
  const dim3 grid(static_cast<unsigned>(split.blocks(S::groups)),
                  static_cast<unsigned>((args.features + S::tile - 1) / S::tile));
  gather_edges<Message, S, Kind><<<grid, block_threads, 0, stream>>>(args);
  check_launch("spmm", split.graph.num_rows, split.graph.num_edges, args.features);
}

template <class Message, Reduction Kind>
void launch_gather(const GatherArgs<Message>& args, const GatherShape& given, CUstream_st* stream) {
  using Storage = typename Message::Storage;
  // Packs of eight halves are for sums: see widest_load.
  constexpr bool sums = Kind == Reduction::sum && Message::rows_an_edge == 1;
  constexpr int most = sizeof(Storage) < 4 && !sums ? tuning::most_halves_a_load_otherwise : 16 / sizeof(Storage);
  // Doubles are for checks; of halves those messages that no model sends by the million: each shape takes a second to
  // compile.
  constexpr bool rare = sizeof(Storage) > 4 ||
                        (sizeof(Storage) < 4 &&
                         (Kind == Reduction::winner || (Kind == Reduction::extremum && Message::rows_an_edge > 1)));
  with_shape<most, rare>(given, [&](auto vector, auto lanes, auto steps) {
    launch_shape<Shape<vector, lanes, steps, loads_of<Message, vector, lanes, steps>>, Kind>(args, stream);
  });
}

}  // namespace weft::cuda
