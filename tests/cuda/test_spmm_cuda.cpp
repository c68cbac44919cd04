// SpMM on a GPU against the float64 reference, over every graph of the battery, width, task size and order.
#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "cuda/repeatable.hpp"
#include "support/errors.hpp"

namespace weft::test {
namespace {

class cuda_spmm : public GpuTest {};

struct Given {
  Tensor x, edge;
  SpmmOptions options;
};

/// The same call on the GPU, its output filled with NaN before, back on the host.
Tensor run_on_gpu(Context& context, const Graph& graph, const Given& given, const Policy& policy, std::int64_t width) {
  const Graph there = graph.to(gpu);
  const Tensor x = given.x.to(gpu), edge = given.edge ? given.edge.to(gpu) : Tensor{};
  const auto moved = [&](ConstTensorView view, Tensor& kept) -> ConstTensorView {
    if (!view) return {};
    Tensor host = Tensor::empty(view.shape, view.dtype);
    std::memcpy(host.view().mutable_data(), view.data, host.bytes());
    kept = host.to(gpu);
    return kept;
  };
  SpmmOptions options = given.options;
  Tensor row_scale, col_scale, self_scale, bias;
  options.epilogue.row_scale = moved(given.options.epilogue.row_scale, row_scale);
  options.epilogue.col_scale = moved(given.options.epilogue.col_scale, col_scale);
  options.epilogue.self_scale = moved(given.options.epilogue.self_scale, self_scale);
  options.epilogue.bias = moved(given.options.epilogue.bias, bias);
  const Plan plan =
      make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, width, options.reduce, uses_edge(options.op)}, policy);
  context.reserve(plan.workspace_bytes);
  Tensor out = constant(Shape(graph.num_rows(), width), Dtype::f32, std::nan("")).to(gpu);
  spmm(context, plan, there, x, edge ? edge.view() : TensorView{}, out, options);
  return out.to(Device{});
}

Given inputs(const Graph& graph, std::int64_t width, bool weighted, std::uint64_t seed) {
  Given given;
  given.x = random_tensor(Shape(graph.num_cols(), width), Dtype::f32, seed);
  if (weighted) given.edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, seed + 1);
  given.options.op = weighted ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  return given;
}

TEST_F(cuda_spmm, agrees_with_the_reference_on_every_graph_width_and_policy) {
  Context context = Context::cuda();
  std::uint64_t seed = 1000;
  for (const BatteryGraph& battery : battery_graphs()) {
    for (const std::int64_t width : battery_widths) {
      for (const bool weighted : {false, true}) {
        Given given = inputs(battery.graph, width, weighted, ++seed);
        for (const Reduce reduce : {Reduce::sum, Reduce::mean}) {
          given.options.reduce = reduce;
          const SpmmExpected expected = expected_spmm(battery.graph, given.x, given.edge, given.options);
          for (const char* policy : {"", "edges=32,order=none", "edges=64,order=columns", "edges=512,order=columns",
                                     "edges=8", "edges=64,join=no"}) {
            if (reduce == Reduce::mean && *policy != '\0') continue;
            const Tensor out = run_on_gpu(context, battery.graph, given, parse_policy(policy), width);
            expect_within_bound(out, expected,
                                fmt::format("{} width {} {} {} policy '{}' seed {}", battery.name, width,
                                            weighted ? "weighted" : "unweighted", name(reduce), policy, seed));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(cuda_spmm, applies_scales_bias_and_relu_before_the_one_rounding) {
  Context context = Context::cuda();
  for (const BatteryGraph& battery : battery_graphs()) {
    for (const std::int64_t width : {1, 7, 32, 100}) {
      Given given = inputs(battery.graph, width, true, 77);
      const Tensor rows = random_tensor(Shape(battery.graph.num_rows()), Dtype::f32, 78);
      const Tensor cols = random_tensor(Shape(battery.graph.num_cols()), Dtype::f32, 79);
      const Tensor bias = random_tensor(Shape(width), Dtype::f32, 80);
      const Tensor own = random_tensor(Shape(battery.graph.num_rows()), Dtype::f32, 81);
      given.options.reduce = Reduce::mean;
      given.options.epilogue.row_scale = rows;
      given.options.epilogue.col_scale = cols;
      given.options.epilogue.bias = bias;
      given.options.epilogue.relu = true;
      if (battery.graph.num_rows() == battery.graph.num_cols()) given.options.epilogue.self_scale = own;
      SpmmExpected expected = expected_spmm(battery.graph, given.x, given.edge, given.options);
      expected.more = 5;  // the scales, the mean, x's own row and the bias round once each
      expect_within_bound(run_on_gpu(context, battery.graph, given, {}, width), expected,
                          fmt::format("{} width {}", battery.name, width));
    }
  }
}

TEST_F(cuda_spmm, adds_the_own_rows_of_x_to_sums_with_values_and_without) {
  Context context = Context::cuda();
  for (const BatteryGraph& battery : battery_graphs()) {
    if (battery.graph.num_rows() != battery.graph.num_cols()) continue;
    const Tensor own = random_tensor(Shape(battery.graph.num_rows()), Dtype::f32, 82);
    for (const std::int64_t width : {1, 3, 8, 16, 33, 64, 100}) {
      for (const bool weighted : {false, true}) {
        Given given = inputs(battery.graph, width, weighted, 83);
        given.options.epilogue.self_scale = own;
        SpmmExpected expected = expected_spmm(battery.graph, given.x, given.edge, given.options);
        expected.more = 1;
        for (const char* policy : {"", "edges=8"})
          expect_within_bound(run_on_gpu(context, battery.graph, given, parse_policy(policy), width), expected,
                              fmt::format("{} width {} {} policy '{}'", battery.name, width,
                                          weighted ? "weighted" : "unweighted", policy));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(cuda_spmm, reads_and_writes_only_its_own_columns_of_wider_tensors) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph();
  const Graph there = graph.to(gpu);
  for (const std::int64_t width : {1, 3, 4, 8, 33, 64}) {
    for (const std::int64_t before : {1, 2, 4}) {
      const std::int64_t pitch = width + before + 3;
      const Tensor x = random_tensor(Shape(graph.num_cols(), pitch), Dtype::f32, 5);
      const Tensor x_there = x.to(gpu);
      Tensor out = constant(Shape(graph.num_rows(), pitch), Dtype::f32, 5.0).to(gpu);
      SpmmOptions options;
      options.op = SpmmOp::copy_u;
      const Plan plan = make_plan(context, there, {OpKind::spmm, Dtype::f32, 1, width, Reduce::sum, false});
      context.reserve(plan.workspace_bytes);
      spmm(context, plan, there, columns(x_there.view(), before, width), {}, columns(out.view(), before, width),
           options);
      const Tensor back = out.to(Device{});
      const ConstTensorView inner = columns(x.view(), before, width);
      const SpmmExpected expected = expected_spmm(graph, inner, {}, options);
      expect_within_bound(columns(back.view(), before, width), expected,
                          fmt::format("width {} from {}", width, before));
      for (std::int64_t row = 0; row < graph.num_rows(); ++row) {
        for (std::int64_t c = 0; c < pitch; ++c) {
          if (c >= before && c < before + width) continue;
          ASSERT_EQ(back.span<float>()[static_cast<std::size_t>(row * pitch + c)], 5.0f) << row << " " << c;
        }
      }
    }
  }
}

TEST_F(cuda_spmm, adds_own_rows_that_begin_anywhere_in_wider_tensors) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph();
  ASSERT_EQ(graph.num_rows(), graph.num_cols());
  const Graph there = graph.to(gpu);
  const Tensor own = random_tensor(Shape(graph.num_rows()), Dtype::f32, 84), own_there = own.to(gpu);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const std::int64_t width : {8, 24, 64, 100})
      for (const std::int64_t before : {1, 2, 4, 8}) {
        const std::int64_t pitch = width + 2 * before;
        const Tensor x = random_tensor(Shape(graph.num_cols(), pitch), dtype, 85), x_there = x.to(gpu);
        Tensor out = constant(Shape(graph.num_rows(), width), dtype, 5.0).to(gpu);
        SpmmOptions options;
        options.op = SpmmOp::copy_u;
        options.epilogue.self_scale = own;
        const ConstTensorView inner = columns(x.view(), before, width);
        SpmmExpected expected = expected_spmm(graph, inner, {}, options);
        expected.more = 1;
        options.epilogue.self_scale = own_there;
        const Plan plan = make_plan(context, there, {OpKind::spmm, dtype, 1, width, Reduce::sum, false});
        context.reserve(plan.workspace_bytes);
        spmm(context, plan, there, columns(x_there.view(), before, width), {}, out, options);
        expect_within_bound(out.to(Device{}), expected, fmt::format("{} width {} from {}", name(dtype), width, before));
      }
}

TEST_F(cuda_spmm, a_row_without_edges_is_not_touched_by_a_nan_in_x) {
  Context context = Context::cuda();
  // No edge reads source 0, so what pads the last task must not let it in either.
  const std::vector<EdgeId> offsets = {0, 3, 3, 5, 5};
  const std::vector<NodeId> cols = {1, 2, 3, 3, 1};
  const Graph graph = Graph::from_csr(4, 4, offsets, cols);
  Given given = inputs(graph, 8, true, 9);
  for (int f = 0; f < 8; ++f) given.x.span<float>()[static_cast<std::size_t>(f)] = std::nanf("");
  const SpmmExpected expected = expected_spmm(graph, given.x, given.edge, given.options);
  expect_within_bound(run_on_gpu(context, graph, given, {}, 8), expected, "NaN in a source without edges");
}

TEST_F(cuda_spmm, a_hub_of_a_million_equal_terms_stays_within_the_bound) {
  Context context = Context::cuda();
  const Graph graph = battery::bipartite_one_row(1 << 20);
  for (const char* policy : {"edges=64", "edges=128", "edges=512", "edges=8", "edges=128,join=no"}) {
    Given given;
    given.x = constant(Shape(graph.num_cols(), 4), Dtype::f32, 0.1);
    given.options.op = SpmmOp::copy_u;
    const SpmmExpected expected = expected_spmm(graph, given.x, {}, given.options);
    expect_within_bound(run_on_gpu(context, graph, given, parse_policy(policy), 4), expected, policy);
  }
}

TEST_F(cuda_spmm, gives_the_same_bits_in_a_hundred_runs_without_allocating) {
  expect_repeatable(battery::power_law_graph(),
                    {"order=none", "order=columns,edges=64", "order=clusters", "order=clusters+columns,edges=64"},
                    {7, 64, 256});
}

TEST_F(cuda_spmm, products_of_rows_and_width_may_pass_2_to_31) {
  constexpr std::int64_t nodes = 9'000'000, width = 256;
  std::size_t memory = cuda_devices().front().memory_bytes;
  if (memory < (std::size_t{40} << 30)) GTEST_SKIP() << "needs 40 GiB of GPU memory, found " << (memory >> 30);
  Context context = Context::cuda();
  // Every node has its mirror as only source: row r of the result is row n - 1 - r of x.
  std::vector<EdgeId> offsets(nodes + 1);
  std::vector<NodeId> cols(nodes);
  for (std::int64_t r = 0; r < nodes; ++r) {
    offsets[static_cast<std::size_t>(r)] = r;
    cols[static_cast<std::size_t>(r)] = static_cast<NodeId>(nodes - 1 - r);
  }
  offsets.back() = nodes;
  const Graph there = Graph::from_csr(nodes, nodes, offsets, cols).to(gpu);
  Tensor x = Tensor::empty(Shape(nodes, width), Dtype::f32);
  for (std::int64_t r = 0; r < nodes; ++r)
    for (std::int64_t f = 0; f < width; ++f)
      x.span<float>()[static_cast<std::size_t>(r * width + f)] = static_cast<float>((r * 31 + f) % 1021);
  const Tensor x_there = x.to(gpu);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  const Tensor y = spmm(context, there, x_there, {}, options).to(Device{});
  for (std::int64_t r = 0; r < nodes; r += 997)
    for (std::int64_t f = 0; f < width; f += 51)
      ASSERT_EQ(y.span<float>()[static_cast<std::size_t>(r * width + f)],
                x.span<float>()[static_cast<std::size_t>((nodes - 1 - r) * width + f)]);
}

TEST_F(cuda_spmm, a_long_row_beside_short_ones_keeps_to_the_bound_for_values_made_to_break_it) {
  // One row of 64 edges, then 64 rows of one: groups of the same warp. Half an eps added to 1 is lost each time, unless
  // such terms are added up among themselves first.
  constexpr NodeId blocks = 8, nodes = 65;
  std::vector<EdgeId> offsets = {0};
  std::vector<NodeId> cols;
  for (NodeId block = 0; block < blocks; ++block) {
    for (NodeId k = 0; k < 64; ++k) cols.push_back(k);
    offsets.push_back(static_cast<EdgeId>(cols.size()));
    for (NodeId k = 0; k < 64; ++k) {
      cols.push_back(64);
      offsets.push_back(static_cast<EdgeId>(cols.size()));
    }
  }
  const Graph graph = Graph::from_csr(static_cast<NodeId>(offsets.size()) - 1, nodes, offsets, cols);
  const Graph there = graph.to(gpu);
  Context context = Context::cuda();
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    for (const std::int64_t width : {5, 8, 16, 33, 41, 64, 100, 128, 256, 512, 1024}) {
      Tensor x = constant(Shape(nodes, width), Dtype::f32, 0x1p-24);
      for (std::int64_t f = 0; f < width; ++f) x.span<float>()[static_cast<std::size_t>(f)] = 1;
      x = x.to(dtype);
      SpmmOptions options;
      options.op = SpmmOp::copy_u;
      const SpmmExpected expected = expected_spmm(graph, x, {}, options);
      for (const char* policy : {"edges=64,join=no", "edges=64", "edges=512", "edges=64,join=no,vector=1"}) {
        const Plan plan =
            make_plan(context, there, {OpKind::spmm, dtype, 1, width, Reduce::sum, false}, parse_policy(policy));
        context.reserve(plan.workspace_bytes);
        Tensor out = constant(Shape(graph.num_rows(), width), Dtype::f32, std::nan("")).to(gpu);
        spmm(context, plan, there, x.to(gpu), {}, out, options);
        expect_within_bound(out.to(Device{}), expected,
                            fmt::format("{} width {} policy '{}'", name(dtype), width, policy));
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(cuda_spmm, says_what_has_no_kernel) {
  Context context = Context::cuda();
  const Graph there = battery::power_law_graph().to(gpu);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  const Tensor x = Tensor::zeros(Shape(there.num_cols(), 4), Dtype::f32, "x", gpu);
  const Tensor bias = Tensor::zeros(Shape(4), Dtype::f64, "bias", gpu);
  options.epilogue.bias = bias;
  expect_refused([&] { spmm(context, there, x, {}, options); }, "bias", ErrorCode::unsupported);
}

}  // namespace
}  // namespace weft::test
