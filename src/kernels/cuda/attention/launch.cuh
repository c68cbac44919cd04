// From a GatherShape and the way heads lie in it to the instantiations of gather_edges for attention and its backward.
#pragma once

#include "kernels/cuda/attention/launch.hpp"
#include "kernels/cuda/gather/launch.cuh"

namespace weft::cuda {

template <class Message>
void launch_by_heads(GatherArgs<Message> args, const GatherShape& given, CUstream_st* stream) {
  constexpr int bytes = sizeof(typename Message::Storage);
  with_shape<16 / bytes, (bytes > 4)>(given, [&](auto vector, auto lanes, auto steps) {
    using S = Shape<vector, lanes, steps, loads_of<Message, vector, lanes, steps>>;
    const auto launch = [&]<class Headed>() { launch_shape<Headed, Reduction::sum>(args, stream); };
    auto& layout = args.message;
    if (layout.heads == 1) return launch.template operator()<WithHeads<S, HeadMap::one>>();
    const int of_head = layout.width / vector;
    layout.head_lanes = of_head < lanes ? of_head : static_cast<int>(lanes);
    // Whether some heads of that shape share: two that fill the lanes would.
    if constexpr (shares_weights(2, lanes * vector, bytes, S::value)) {
      if constexpr (S::steps > 1)
        if (folds_heads(layout.heads, layout.width, bytes, S::value)) {
          layout.head_lanes = of_head / S::steps;
          return launch.template operator()<WithHeads<S, HeadMap::shared, 1>>();
        }
      if (shares_weights(layout.heads, layout.width, bytes, S::value))
        return launch.template operator()<WithHeads<S, HeadMap::shared>>();
    }
    launch.template operator()<WithHeads<S, HeadMap::any>>();
  });
}

/// For messages with two rows of features an edge. Calls f(vector, lanes, steps) with constants that cover `shape`:
/// packs of 16 bytes (of halves 8) or none, and eight lanes or more.
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
void launch_vector_scored(GatherArgs<VectorScored<Storage>> args, const GatherShape& given, bool shared,
                          CUstream_st* stream) {
  with_few_shapes<Storage>(given, [&](auto vector, auto lanes, auto steps) {
    using S = Shape<vector, lanes, steps, loads_of<VectorScored<Storage>, vector, lanes, steps>>;
    const auto launch = [&]<HeadMap Map>() { launch_shape<WithHeads<S, Map>, Reduction::sum>(args, stream); };
    if constexpr (vector == 1)
      if (!shared) return launch.template operator()<HeadMap::any>();
    if (args.message.heads == 1) return launch.template operator()<HeadMap::one>();
    const int of_head = args.message.width / vector;
    args.message.head_lanes = of_head < lanes ? of_head : static_cast<int>(lanes);
    launch.template operator()<HeadMap::shared>();
  });
}

template <class Storage>
void launch_leaky_sum(const GatherArgs<LeakySum<Storage>>& args, const GatherShape& given, CUstream_st* stream) {
  with_few_shapes<Storage>(given, [&](auto vector, auto lanes, auto steps) {
    using S = Shape<vector, lanes, steps, loads_of<LeakySum<Storage>, vector, lanes, steps>>;
    launch_shape<S, Reduction::sum>(args, stream);
  });
}

}  // namespace weft::cuda
