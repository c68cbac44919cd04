// The kernel that sums windows by mma.sync, by itself: on Hopper plans have it for windows of 16 rows alone.
#include <cmath>
#include <limits>
#include <vector>

#include "cuda/windows_on_gpu.hpp"
#include "graph/graph_internals.hpp"
#include "graph/windows/row_windows.hpp"
#include "kernels/cuda/windows/windows.hpp"

namespace weft::test {
namespace {

class cuda_window_sums : public GpuTest {};

struct Call {
  WindowShape shape;
  std::int64_t width;
  bool weighted, scaled, mean;
  bool finite;  // or one value is an infinity
  std::uint64_t seed;
};

template <class T>
const T* data_of(const Tensor& tensor) {
  return tensor ? static_cast<const T*>(tensor.view().data) : nullptr;
}

/// Sums of the edges outside of tiles, as the reference adds them up.
Tensor residual_sums(const Graph& residual, const Tensor& x, const Tensor& weights, SpmmOptions options) {
  options.reduce = Reduce::sum;
  return Tensor::from(expected_spmm(residual, x, weights, options).y, Shape(residual.num_rows(), x.shape().width),
                      Dtype::f32);
}
template <class Storage>
void expect_sum(const BatteryGraph& battery, const Graph& there, const Call& call) {
  constexpr Dtype dtype = dtype_of<Storage>;
  const Graph& graph = battery.graph;
  const std::string where = fmt::format("{} {} width {}, windows of {} rows, threshold {}{}{}{}{}, seed {}",
                                        battery.name, name(dtype), call.width, call.shape.rows, call.shape.threshold,
                                        call.weighted ? ", weighted" : "", call.scaled ? ", scaled" : "",
                                        call.mean ? ", mean" : "", call.finite ? "" : ", with an infinity", call.seed);
  std::vector<double> values =
      doubles(random_tensor(Shape(graph.num_cols(), call.width), dtype, call.seed, call.seed % 2 == 0 ? 0.5 : -2, 2));
  if (!call.finite)
    values[static_cast<std::size_t>(graph.cols()[0] * call.width + 5)] = std::numeric_limits<double>::infinity();
  const Tensor x = Tensor::from(values, Shape(graph.num_cols(), call.width), dtype), x_there = x.to(gpu);
  Tensor weights, weights_there, scale, scale_there;
  SpmmOptions options;
  options.op = call.weighted ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  options.reduce = call.mean ? Reduce::mean : Reduce::sum;
  if (call.weighted) weights = random_tensor(Shape(graph.num_edges()), dtype, call.seed + 1, 0.25, 2);
  if (call.scaled) options.epilogue.col_scale = scale = random_tensor(Shape(graph.num_cols()), Dtype::f32, 3, 0.5, 2);
  const SpmmExpected expected = expected_spmm(graph, x, weights, options);
  weights_there = on(gpu, weights);
  scale_there = on(gpu, scale);

  const auto windows = GraphInternals::row_windows(there, call.shape, nullptr);
  Tensor residual, pieces;
  if (windows->residual().num_edges() > 0)
    residual = residual_sums(windows->residual().to(Device{}), x, weights, options).to(gpu);
  Tensor out = constant(Shape(graph.num_rows(), call.width), dtype, std::nan("")).to(gpu);
  cuda::WindowSumArgs<Storage> args;
  args.windows = windows->view();
  args.window_rows = call.shape.rows;
  args.tiles = windows->tiles();
  args.offsets = GraphInternals::view_without_ids(there).offsets;
  args.x = data_of<Storage>(x_there);
  args.x_pitch_bytes = static_cast<std::uint32_t>(static_cast<std::size_t>(call.width) * sizeof(Storage));
  args.features = static_cast<int>(call.width);
  args.col_scale = data_of<float>(scale_there);
  args.weights = data_of<Storage>(weights_there);
  if (call.weighted) args.edges = windows->tile_edges();
  args.residual = data_of<float>(residual);
  args.epilogue.out = static_cast<Storage*>(out.view().mutable_data());
  args.epilogue.pitch_bytes = args.x_pitch_bytes;
  args.epilogue.mean = call.mean;
  if constexpr (dtype == Dtype::f32) {
    pieces = constant(Shape(graph.num_cols(), cuda::split_pitch(call.width)), Dtype::bf16, std::nan("")).to(gpu);
    auto* const split = static_cast<BFloat16*>(pieces.view().mutable_data());
    args.pieces = split;
    cuda::split_rows({args.x, args.col_scale, graph.num_cols(), call.width, args.features, split}, nullptr);
  }
  cuda::launch_window_sums(args, nullptr);
  const Tensor first = out.to(Device{});
  expect_within_bound(first, expected, where);
  cuda::launch_window_sums(args, nullptr);
  EXPECT_TRUE(bitwise_equal(out.to(Device{}), first)) << where;
}

TEST_F(cuda_window_sums, are_those_of_the_reference_for_windows_of_any_size) {
  std::uint64_t seed = 10'000;
  for (const BatteryGraph& battery : graphs_with_windows()) {
    const Graph there = battery.graph.to(gpu);
    for (const int rows : {16, 64, 128})
      for (const int threshold : {1, 3})
        for (const std::int64_t width : {8, 72, 128}) {
          ++seed;
          const WindowShape bits{.rows = rows,
                                 .threshold = threshold,
                                 .layout = seed % 3 == 0 ? WindowLayout::clusters : WindowLayout::none};
          WindowShape lists = bits;
          lists.edges = true;
          const bool mean = seed % 5 == 0, finite = seed % 4 != 0;
          expect_sum<float>(battery, there, {bits, width, false, seed % 7 < 3, mean, finite, seed});
          expect_sum<Half>(battery, there, {lists, width, true, false, mean, finite, seed});
          expect_sum<BFloat16>(battery, there, {lists, width, true, false, mean, finite, seed});
          if (seed % 2 == 0) {
            expect_sum<Half>(battery, there, {bits, width, false, false, mean, finite, seed});
          } else {
            expect_sum<BFloat16>(battery, there, {bits, width, false, false, mean, finite, seed});
          }
          if (HasFailure()) return;
        }
  }
}

}  // namespace
}  // namespace weft::test
