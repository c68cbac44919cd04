// The weighted sum with fewer rows in flight, or two packs a lane: shapes only a policy asks for.
#include "kernels/cuda/spmm/other_shapes.hpp"

#include "kernels/cuda/gather/launch.cuh"
#include "kernels/cuda/messages/scalar.cuh"

namespace weft::cuda {
namespace {

template <int Lanes, int Steps, int Loads>
void launch(const GatherArgs<Weighted<float>>& args, CUstream_st* stream) {
  launch_shape<Shape<4, Lanes, Steps, Loads>, Reduction::sum>(args, stream);
}

template <int Lanes>
void launch_lanes(const GatherArgs<Weighted<float>>& args, const GatherShape& shape, CUstream_st* stream) {
  if constexpr (Lanes < 32)
    if (shape.steps == 2) return launch<Lanes, 2, 4>(args, stream);
  if constexpr (Lanes > 1) shape.loads == 2 ? launch<Lanes, 1, 2>(args, stream) : launch<Lanes, 1, 4>(args, stream);
}

}  // namespace

void launch_other_shape(const GatherArgs<Weighted<float>>& args, const GatherShape& shape, CUstream_st* stream) {
  if (shape.lanes == 1) return launch_lanes<1>(args, shape, stream);
  if (shape.lanes == 2) return launch_lanes<2>(args, shape, stream);
  if (shape.lanes == 4) return launch_lanes<4>(args, shape, stream);
  if (shape.lanes == 8) return launch_lanes<8>(args, shape, stream);
  if (shape.lanes == 16) return launch_lanes<16>(args, shape, stream);
  launch_lanes<32>(args, shape, stream);
}

}  // namespace weft::cuda
