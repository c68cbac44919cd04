// Sums of rows of one to four features on a GPU, where lanes lie along the edges: rows that end at, before and behind
// the 32 edges a warp looks at together, and the 128 it has in flight.
#include <cmath>

#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "cuda/repeatable.hpp"

namespace weft::test {
namespace {

class cuda_narrow : public GpuTest {};

constexpr const char* policies[] = {"",           "edges=8",          "edges=32",          "edges=128",
                                    "edges=2048", "edges=40,join=no", "edges=256,join=no", "edges=64,order=columns"};

/// Rows of one degree each, and of all of them in turn.
std::vector<BatteryGraph> graphs_of_slabs() {
  std::vector<BatteryGraph> graphs;
  for (const std::int64_t degree : {1, 2, 31, 32, 33, 127, 128, 129, 256})
    graphs.push_back({fmt::format("rows of {} edges", degree),
                      battery::graph_of_degrees(std::vector<std::int64_t>(50, degree), 300, 31)});
  graphs.push_back({"rows of every length",
                    battery::graph_of_degrees(
                        {32, 0, 33, 256, 1, 1, 30, 0, 0, 129, 5000, 31, 1, 2, 3, 64, 127, 1, 0, 700, 32}, 900, 32)});
  graphs.push_back({"edges in no order", battery::random_graph(130, 570, 4000, 33)});
  graphs.push_back({"one hub", battery::hub_graph()});
  return graphs;
}

Shape with_rows(Shape shape, std::int64_t rows) {
  shape.rows = rows;
  return shape;
}

struct Inputs {
  Tensor x, edge;
  SpmmOptions options;
};

Inputs inputs(const Graph& graph, Shape features, Dtype dtype, bool weighted, std::uint64_t seed) {
  Inputs given;
  given.x = random_tensor(with_rows(features, graph.num_cols()), dtype, seed);
  if (weighted) given.edge = random_tensor(Shape(graph.num_edges()), dtype, seed + 1);
  given.options.op = weighted ? SpmmOp::u_mul_e : SpmmOp::copy_u;
  return given;
}

/// By spmv where x has no features, else by spmm; the output is NaN before.
Tensor run_on_gpu(Context& context, const Graph& graph, const Inputs& given, const Policy& policy) {
  const bool vector = given.x.shape().rank == 1;
  const Graph there = graph.to(gpu);
  const Tensor x = given.x.to(gpu), edge = given.edge ? given.edge.to(gpu) : Tensor{};
  const Plan plan = make_plan(context, there,
                              {vector ? OpKind::spmv : OpKind::spmm, given.x.dtype(), 1, given.x.shape().width,
                               Reduce::sum, uses_edge(given.options.op)},
                              policy);
  context.reserve(plan.workspace_bytes);
  Tensor out = constant(with_rows(given.x.shape(), graph.num_rows()), given.x.dtype(), std::nan("")).to(gpu);
  const ConstTensorView values = edge ? edge.view() : ConstTensorView{};
  if (vector) {
    spmv(context, plan, there, x, values, out);
  } else {
    spmm(context, plan, there, x, values, out, given.options);
  }
  return out.to(Device{});
}

TEST_F(cuda_narrow, a_warp_is_the_group_of_sums_only) {
  Context context = Context::cuda();
  const Graph there = battery::power_law_graph().to(gpu);
  const auto lanes = [&](std::int64_t width, Reduce reduce, OpKind kind = OpKind::spmm) {
    return make_plan(context, there, {kind, Dtype::f32, 1, width, reduce, true}).cuda().lanes;
  };
  for (const std::int64_t width : {1, 2, 3, 4}) {
    EXPECT_EQ(lanes(width, Reduce::sum), 32) << width;
    EXPECT_EQ(lanes(width, Reduce::mean), 32) << width;
  }
  EXPECT_EQ(lanes(1, Reduce::sum, OpKind::spmv), 32);
  EXPECT_EQ(lanes(1, Reduce::max), 1);
  EXPECT_EQ(lanes(3, Reduce::min), 4);
  EXPECT_EQ(lanes(5, Reduce::sum), 8);
}

TEST_F(cuda_narrow, agrees_with_the_reference_wherever_rows_end) {
  Context context = Context::cuda();
  std::uint64_t seed = 500;
  for (const BatteryGraph& tested : graphs_of_slabs()) {
    for (const Dtype dtype : floating_dtypes) {
      for (const Shape& features : {Shape(1), Shape(1, 1), Shape(1, 2), Shape(1, 3), Shape(1, 4)}) {
        for (const bool weighted : {false, true}) {
          const Inputs given = inputs(tested.graph, features, dtype, weighted, ++seed);
          const SpmmExpected expected = expected_spmm(tested.graph, given.x, given.edge, given.options);
          for (const char* policy : policies) {
            expect_within_bound(
                run_on_gpu(context, tested.graph, given, parse_policy(policy)), expected,
                fmt::format("{} {} {} {} policy '{}' seed {}", tested.name, name(dtype), to_string(given.x.shape()),
                            weighted ? "weighted" : "unweighted", policy, seed));
            if (HasFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(cuda_narrow, edges_in_the_order_of_clusters_find_their_values) {
  Context context = Context::cuda();
  const Graph graph = battery::power_law_graph();
  for (const char* policy : {"order=clusters", "edges=64,order=clusters", "edges=32,order=clusters+columns"}) {
    for (const Shape& features : {Shape(1), Shape(1, 3), Shape(1, 4)}) {
      const Inputs given = inputs(graph, features, Dtype::f32, true, 71);
      expect_within_bound(run_on_gpu(context, graph, given, parse_policy(policy)),
                          expected_spmm(graph, given.x, given.edge, given.options),
                          fmt::format("{} {}", policy, to_string(given.x.shape())));
    }
  }
}

TEST_F(cuda_narrow, a_hub_of_a_million_equal_terms_stays_within_the_bound) {
  Context context = Context::cuda();
  const Graph graph = battery::bipartite_one_row(1 << 20);
  for (const Shape& features : {Shape(1), Shape(1, 2), Shape(1, 3)}) {
    Inputs given;
    given.x = constant(with_rows(features, graph.num_cols()), Dtype::f32, 0.1);
    given.options.op = SpmmOp::copy_u;
    const SpmmExpected expected = expected_spmm(graph, given.x, {}, given.options);
    for (const char* policy : {"", "edges=32", "edges=2048", "edges=65536", "edges=128,join=no"})
      expect_within_bound(run_on_gpu(context, graph, given, parse_policy(policy)), expected,
                          fmt::format("{} '{}'", to_string(features), policy));
  }
}

TEST_F(cuda_narrow, rows_of_a_single_edge_are_products_to_the_bit) {
  Context context = Context::cuda();
  constexpr std::int64_t nodes = 100'007, step = 37;  // coprime: each row has a source of its own
  std::vector<EdgeId> offsets(nodes + 1);
  std::vector<NodeId> cols(nodes);
  for (std::int64_t r = 0; r < nodes; ++r) {
    offsets[static_cast<std::size_t>(r + 1)] = r + 1;
    cols[static_cast<std::size_t>(r)] = static_cast<NodeId>(r * step % nodes);
  }
  const Graph graph = Graph::from_csr(nodes, nodes, offsets, cols);
  const Inputs given = inputs(graph, Shape(1), Dtype::f32, true, 41);
  const auto x = given.x.span<float>(), edge = given.edge.span<float>();
  for (const char* policy : policies) {
    const Tensor y = run_on_gpu(context, graph, given, parse_policy(policy));
    for (std::size_t r = 0; r < cols.size(); ++r)
      ASSERT_EQ(y.span<float>()[r], edge[r] * x[static_cast<std::size_t>(cols[r])]) << r << " '" << policy << "'";
  }
}

TEST_F(cuda_narrow, reads_and_writes_columns_of_wider_tensors_at_any_alignment) {
  Context context = Context::cuda();
  const Graph graph = battery::graph_of_degrees({3, 40, 0, 32, 1, 1, 200, 64, 7}, 100, 51);
  const Graph there = graph.to(gpu);
  const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 52);
  const Tensor edge_there = edge.to(gpu);
  for (const std::int64_t width : {1, 2, 3, 4}) {
    for (const std::int64_t pitch : {7, 8}) {
      for (const std::int64_t before : {0, 1, 2, 3, 4}) {
        if (before + width > pitch) continue;
        SCOPED_TRACE(fmt::format("{} columns of {} from {}", width, pitch, before));
        const Tensor x = random_tensor(Shape(graph.num_cols(), pitch), Dtype::f32, 53);
        const Tensor x_there = x.to(gpu);
        Tensor out = constant(Shape(graph.num_rows(), pitch), Dtype::f32, 5.0).to(gpu);
        const OpKind kind = width == 1 ? OpKind::spmv : OpKind::spmm;
        const Plan plan = make_plan(context, there, {kind, Dtype::f32, 1, width, Reduce::sum, true});
        context.reserve(plan.workspace_bytes);
        const ConstTensorView from = columns(x_there.view(), before, width);
        const TensorView to = columns(out.view(), before, width);
        if (width == 1) {
          spmv(context, plan, there, from, edge_there, to);
        } else {
          spmm(context, plan, there, from, edge_there, to);
        }
        const Tensor back = out.to(Device{});
        expect_within_bound(columns(back.view(), before, width),
                            expected_spmm(graph, columns(x.view(), before, width), edge, {}), "the columns");
        for (std::int64_t i = 0; i < graph.num_rows() * pitch; ++i) {
          if (i % pitch >= before && i % pitch < before + width) continue;
          ASSERT_EQ(back.span<float>()[static_cast<std::size_t>(i)], 5.0f) << i;
        }
      }
    }
  }
}

TEST_F(cuda_narrow, a_nan_stays_in_the_rows_that_read_it) {
  Context context = Context::cuda();
  // Source 0, which pads unfinished slabs, is read by no edge; source 7 by row 2 alone.
  const Graph graph = Graph::from_csr(5, 8, std::vector<EdgeId>{0, 3, 40, 44, 44, 45}, [] {
    std::vector<NodeId> cols(45);
    for (std::size_t k = 0; k < cols.size(); ++k) cols[k] = static_cast<NodeId>(1 + k % 6);
    cols[41] = 7;
    return cols;
  }());
  for (const bool weighted : {false, true}) {
    for (const Shape& features : {Shape(1), Shape(1, 2), Shape(1, 3)}) {
      const Inputs given = inputs(graph, features, Dtype::f32, weighted, 61);
      Inputs spoilt = inputs(graph, features, Dtype::f32, weighted, 61);
      const auto width = static_cast<std::size_t>(features.row_size());
      for (std::size_t f = 0; f < width; ++f)
        spoilt.x.span<float>()[f] = spoilt.x.span<float>()[7 * width + f] = std::nanf("");
      for (const char* policy : policies) {
        const Tensor clean = run_on_gpu(context, graph, given, parse_policy(policy));
        const Tensor y = run_on_gpu(context, graph, spoilt, parse_policy(policy));
        for (std::size_t i = 0; i < 5 * width; ++i) {
          if (i / width == 2) {
            EXPECT_TRUE(std::isnan(y.span<float>()[i])) << i << " '" << policy << "'";
          } else {
            EXPECT_EQ(y.span<float>()[i], clean.span<float>()[i]) << i << " '" << policy << "'";
          }
        }
      }
    }
  }
}

TEST_F(cuda_narrow, gives_the_same_bits_in_a_hundred_runs_without_allocating) {
  expect_repeatable(battery::hub_graph(), {"", "edges=64", "edges=128,join=no", "order=clusters"}, {1, 3, 4});
}

}  // namespace
}  // namespace weft::test
