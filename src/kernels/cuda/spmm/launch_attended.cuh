// From a GatherShape and the way heads lie in it to the instantiations of reduce_edges for attention and its gradients.
//
// Scores from vectors and GATv2's gradients wait for two rows of features an edge, and have fewer shapes.
#pragma once

#include "kernels/cuda/spmm/launch_tasks.cuh"

namespace weft::cuda {

template <class Storage, Message Sent>
void launch_by_heads(SpmmKernelArgs<Storage> args, const GatherShape& given, CUstream_st* stream) {
  constexpr int most = 16 / sizeof(Storage);
  with_shape<most, (sizeof(Storage) > 4)>(given, [&](auto vector, auto lanes, auto steps) {
    using S = Shape<vector, lanes, steps, loads_of<Storage, Sent, vector, lanes, steps>>;
    const auto launch = [&]<class Headed>() { launch_shape<Storage, Sent, Reduction::sum, Headed>(args, stream); };
    if (args.attended.heads == 1) return launch.template operator()<WithHeads<S, 1>>();
    const int of_head = args.width / vector;
    args.attended.head_lanes = of_head < lanes ? of_head : static_cast<int>(lanes);
    // Whether some heads of that shape share: two that fill the lanes would.
    if constexpr (shares_weights(2, lanes * vector, sizeof(Storage), S::value)) {
      if constexpr (S::steps > 1)
        if (folds_heads(args.attended.heads, args.width, sizeof(Storage), S::value)) {
          args.attended.head_lanes = of_head / S::steps;
          return launch.template operator()<WithHeads<S, shared_weights, 1>>();
        }
      if (shares_weights(args.attended.heads, args.width, sizeof(Storage), S::value))
        return launch.template operator()<WithHeads<S, shared_weights>>();
    }
    launch.template operator()<WithHeads<S, 0>>();
  });
}

template <class Storage>
void launch_attended(SpmmKernelArgs<Storage> args, const GatherShape& given, CUstream_st* stream) {
  launch_by_heads<Storage, Message::attended>(args, given, stream);
}
template <class Storage>
void launch_returned(SpmmKernelArgs<Storage> args, const GatherShape& given, CUstream_st* stream) {
  launch_by_heads<Storage, Message::returned>(args, given, stream);
}

/// Calls f(vector, lanes, steps) with constants that cover `shape`: packs of 16 bytes (of halves 8) or none, and eight
/// lanes or more.
template <class Storage, class F>
void with_few_shapes(const GatherShape& shape, const F& f) {
  constexpr std::integral_constant<int, 1> one;
  constexpr std::integral_constant<int, 4> four;
  constexpr std::integral_constant<int, 8> eight;
  constexpr std::integral_constant<int, 16> sixteen;
  constexpr std::integral_constant<int, 32> warp;
  constexpr std::integral_constant<int, few_shapes_vector<Storage>> widest;
  const auto with_vector = [&](auto vector) {
    const int covered = shape.lanes * shape.steps;
    if (covered <= 8) return f(vector, eight, one);
    if (covered <= 16) return f(vector, sixteen, one);
    if (covered <= 32) return f(vector, warp, one);
    f(vector, warp, four);
  };
  shape.vector == widest ? with_vector(widest) : with_vector(one);
}

template <class Storage>
void launch_scored(SpmmKernelArgs<Storage> args, const GatherShape& given, bool shared, CUstream_st* stream) {
  with_few_shapes<Storage>(given, [&](auto vector, auto lanes, auto steps) {
    using S = Shape<vector, lanes, steps, loads_of<Storage, Message::scored, vector, lanes, steps>>;
    const auto launch = [&]<int Held>() {
      launch_shape<Storage, Message::scored, Reduction::sum, WithHeads<S, Held>>(args, stream);
    };
    if constexpr (vector == 1)
      if (!shared) return launch.template operator()<0>();
    if (args.attended.heads == 1) return launch.template operator()<1>();
    const int of_head = args.width / vector;
    args.attended.head_lanes = of_head < lanes ? of_head : static_cast<int>(lanes);
    launch.template operator()<2>();
  });
}
template <class Storage>
void launch_leaned(SpmmKernelArgs<Storage> args, const GatherShape& given, CUstream_st* stream) {
  with_few_shapes<Storage>(given, [&](auto vector, auto lanes, auto steps) {
    using S = Shape<vector, lanes, steps, loads_of<Storage, Message::leaned, vector, lanes, steps>>;
    launch_shape<Storage, Message::leaned, Reduction::sum, S>(args, stream);
  });
}

}  // namespace weft::cuda
