// Sums over neighbours that meet weights on a GPU, in one kernel and in several: against plain loops in float64.
#include <algorithm>
#include <limits>

#include "cuda/gpu.hpp"
#include "cuda/replay.hpp"
#include "dense/gemm.hpp"
#include "support/errors.hpp"
#include "support/graphs.hpp"
#include "support/linear_case.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

class cuda_spmm_linear : public GpuTest {};

constexpr double units = 40;

struct Widths {
  std::int64_t in, out;
};

void expect_right(Context& context, const LinearCase& host, const LinearExpected& wanted, bool fuse,
                  const std::string& what) {
  const LinearCase there = host.to(context);
  expect_linear(run_linear(context, there, fuse), wanted, host.dtype,
                std::string(name(host.dtype)) + " " + std::to_string(host.in) + "x" + std::to_string(host.out) + " " +
                    what + describe(host.terms) + (fuse ? " fused" : ""),
                units);
}

TEST_F(cuda_spmm_linear, of_every_graph_and_term_is_that_of_plain_loops_fused_or_not) {
  Context context = Context::cuda();
  std::uint64_t seed = 1;
  for (const BatteryGraph& graph : battery_graphs()) {
    if (graph.graph.num_edges() > 20'000) continue;
    for (const LinearTerms& terms : linear_terms()) {
      const LinearCase c(graph.graph, Dtype::f32, 24, 20, terms, ++seed);
      const LinearExpected wanted = expected_linear(c);
      for (const bool fuse : {false, true})
        expect_right(context, c, wanted, fuse, graph.name + ", seed " + std::to_string(seed));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(cuda_spmm_linear, of_every_storage_type_and_width_is_that_of_plain_loops) {
  Context context = Context::cuda();
  const Graph graph = test::skewed_graph(300, 1500, 3);
  std::uint64_t seed = 100;
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const auto& [in, out] : {Widths{8, 8},
                                  {16, 16},
                                  {32, 64},
                                  {64, 32},
                                  {64, 64},
                                  {104, 40},
                                  {48, 120},
                                  {128, 128},
                                  {7, 5},
                                  {200, 136}})  // the last two have no kernel of their own
      for (const LinearTerms& terms : linear_terms()) {
        const LinearCase c(graph, dtype, in, out, terms, ++seed);
        const LinearExpected wanted = expected_linear(c);
        for (const bool fuse : {false, true}) expect_right(context, c, wanted, fuse, "seed " + std::to_string(seed));
        if (HasFatalFailure()) return;
      }
}

TEST_F(cuda_spmm_linear, of_rows_of_every_length_is_that_of_plain_loops) {
  Context context = Context::cuda();
  const Graph graph = graph_of_every_longest_row(36);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16})
    for (const LinearTerms& terms : linear_terms()) {
      const LinearCase c(graph, dtype, 72, 32, terms, 15);
      expect_right(context, c, expected_linear(c), true, "rows of every length");
      if (HasFatalFailure()) return;
    }
}

TEST_F(cuda_spmm_linear, of_tiles_with_as_many_edges_as_slots_and_one_more_is_that_of_plain_loops) {
  Context context = Context::cuda();
  const Graph graph = graph_of_full_tiles();
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const LinearTerms& terms : linear_terms()) {
      const LinearCase c(graph, dtype, 64, 40, terms, 16);
      expect_right(context, c, expected_linear(c), true, "full tiles");
      if (HasFatalFailure()) return;
    }
}

TEST_F(cuda_spmm_linear, takes_many_tiles_of_rows_a_warp) {
  Context context = Context::cuda();
  const Graph graph = battery::molecule_graph(12'000);
  for (const Dtype dtype : {Dtype::f32, Dtype::bf16})
    for (const LinearTerms& terms :
         {LinearTerms{}, {.self = true, .eps = true}, {.edges = true, .mean = true, .col_scale = true}}) {
      const LinearCase c(graph, dtype, 16, 16, terms, 9);
      expect_right(context, c, expected_linear(c), true, "molecules");
      if (HasFatalFailure()) return;
    }
}

TEST_F(cuda_spmm_linear, fuses_where_it_pays_or_is_asked_for_and_rows_are_short) {
  Context context = Context::cuda();
  const auto fused = [&](const Graph& graph, std::int64_t width, std::optional<bool> wish) {
    const SpmmLinear made(context, graph.to(gpu), {Dtype::f32, width, width, Reduce::sum, false, true, wish});
    return std::pair(made.fused(), made.fused_backward());
  };
  const Graph molecules = battery::molecule_graph(12'000);
  EXPECT_EQ(fused(molecules, 64, {}), std::pair(true, false)) << "the backward of f32 stores its sums";
  EXPECT_EQ(fused(molecules, 128, {}), std::pair(false, false)) << "it does not pay";
  EXPECT_EQ(fused(molecules, 64, true), std::pair(true, true));
  EXPECT_EQ(fused(molecules, 64, false), std::pair(false, false));
  EXPECT_EQ(fused(molecules, 256, true), std::pair(false, false));
  EXPECT_EQ(fused(molecules, 30, true), std::pair(false, false)) << "rows of whole 16 bytes alone";
  battery::GrowingEdges edges;
  for (NodeId u = 1; u <= 600; ++u) edges.add(u, 0);
  EXPECT_EQ(fused(edges.graph(1000, 1000), 64, true), std::pair(false, true)) << "one long row, and short ones back";
}

TEST_F(cuda_spmm_linear, gives_the_same_bits_every_time_allocates_nothing_and_can_be_replayed) {
  const Stream stream;
  Context context = Context::cuda(0, stream);
  const LinearCase host(battery::molecule_graph(3000), Dtype::f32, 64, 48, {.edges = true, .self = true, .eps = true},
                        12);
  const LinearCase c = host.to(context);
  const auto empty = [&](Shape shape) { return Tensor::zeros(shape, Dtype::f32, "result", gpu, stream); };
  Tensor out = empty(Shape(c.graph.num_rows(), 48)), x_grad = empty(c.x.shape()), weight_grad = empty(Shape(64, 48));
  SpmmLinear layer(context, c.graph, c.desc(true, true));
  ASSERT_TRUE(layer.fused() && layer.fused_backward());
  const auto run = [&] {
    layer(c.x, c.edge, c.weight, out, c.options());
    layer.backward(c.x, c.edge, c.weight, c.out_grad, {x_grad, weight_grad}, c.options());
  };
  run();
  const Tensor first[] = {out.to(Device{}, stream), x_grad.to(Device{}, stream), weight_grad.to(Device{}, stream)};
  const auto expect_same = [&](int times) {
    EXPECT_TRUE(bitwise_equal(out.to(Device{}, stream), first[0])) << times;
    EXPECT_TRUE(bitwise_equal(x_grad.to(Device{}, stream), first[1])) << times;
    EXPECT_TRUE(bitwise_equal(weight_grad.to(Device{}, stream), first[2])) << times;
  };
  for (int i = 0; i < 20; ++i) {
    const std::size_t before = memory_stats(gpu).allocations;
    run();
    EXPECT_EQ(memory_stats(gpu).allocations, before);
    expect_same(i);
  }
  replay(stream, 3, run, [] {});
  expect_same(-1);
}

TEST_F(cuda_spmm_linear, refuses_rows_that_do_not_begin_at_whole_16_bytes) {
  Context context = Context::cuda();
  const Graph graph = battery::molecule_graph(10).to(gpu);
  const std::int64_t rows = graph.num_rows();
  const Tensor x = Tensor::zeros(Shape(rows + 1, 16), Dtype::f32, "x", gpu),
               weight = Tensor::zeros(Shape(16, 16), Dtype::f32, "weight", gpu);
  Tensor out = Tensor::zeros(Shape(rows, 16), Dtype::f32, "out", gpu);
  SpmmLinear layer(context, graph, {Dtype::f32, 16, 16});
  const ConstTensorView shifted(static_cast<const float*>(x.view().data) + 1, Dtype::f32, Shape(rows, 16), gpu);
  const std::string message = refusal_of([&] { layer(shifted, {}, weight, out); });
  EXPECT_NE(message.find("x begins at an address that is no multiple of 16: clone it first"), message.npos) << message;
}

TEST_F(cuda_spmm_linear, makes_no_rows_of_more_edges_than_it_counts) {
  Context context = Context::cuda();
  dense::Gemm gemm(context);
  const Graph graph = hub_graph(513).to(gpu);
  const Tensor x = Tensor::zeros(Shape(513, 16), Dtype::f32, "x", gpu),
               weight = Tensor::zeros(Shape(16, 16), Dtype::f32, "weight", gpu);
  Tensor out = Tensor::zeros(Shape(3, 16), Dtype::f32, "out", gpu);
  dense::NeighbourRows from;
  from.graph = graph.view();
  from.x = x.view().data;
  const std::string message = refusal_of([&] { gemm.multiply(from, weight, dense::Transposed::no, out, {}); });
  EXPECT_NE(message.find("rows have up to 513 edges: expected 0 to 512"), message.npos) << message;
}

/// What layers take along in their backward, and keep for it.
TEST_F(cuda_spmm_linear, gives_the_bits_of_the_product_of_the_rows_it_keeps_with_every_finish) {
  Context context = Context::cuda();
  const Graph graph = battery::molecule_graph(400).to(gpu);
  const std::int64_t rows = graph.num_rows();
  dense::Gemm gemm(context);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const auto& [in, out] : {Widths{32, 64}, {64, 32}, {40, 24}, {104, 128}})  // each kernel, parts of chunks
      for (const bool transposed : {false, true})
        for (int bits = 0; bits < 8; ++bits) {
          const bool wide = (bits & 1) != 0, adds = (bits & 2) != 0, gates = (bits & 4) != 0;
          const Tensor x = random_tensor(Shape(rows, in), dtype, 1).to(gpu),
                       weight = random_tensor(transposed ? Shape(out, in) : Shape(in, out), dtype, 2).to(gpu),
                       bias = random_tensor(Shape(out), Dtype::f32, 3).to(gpu),
                       gate = random_integers(Shape(rows, out), dtype, 4, -1, 1).to(gpu);
          const Tensor before = random_tensor(Shape(rows, out), wide ? Dtype::f32 : dtype, 5);
          Tensor kept = Tensor::zeros(Shape(rows, in), dtype, "kept", gpu), made = before.to(gpu),
                 again = before.to(gpu);
          dense::NeighbourRows from;
          from.graph = graph.view();
          from.x = x.view().data;
          from.adds_self = true;
          from.kept = kept.view().mutable_data();
          const auto as = transposed ? dense::Transposed::yes : dense::Transposed::no;
          dense::Finish finish{adds, bias, true, gates ? gate.view() : ConstTensorView{}, 1.5f, true};
          gemm.multiply(from, weight, as, made, finish);
          gemm.multiply(kept, weight, as, again, finish);
          EXPECT_TRUE(bitwise_equal(made.to(Device{}), again.to(Device{})))
              << name(dtype) << " " << in << "x" << out << transposed << wide << adds << gates;
        }
}

TEST_F(cuda_spmm_linear, keeps_what_is_not_finite_to_the_rows_that_have_it) {
  Context context = Context::cuda();
  const Graph graph = battery::molecule_graph(400), there = graph.to(gpu);
  const std::int64_t rows = graph.num_rows(), in = 64, out = 32;
  constexpr std::int64_t sick = 70, feature = 3;
  dense::Gemm gemm(context);
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16}) {
    const Tensor weight = random_integers(Shape(in, out), dtype, 2, -3, 3).to(gpu);
    std::vector<double> values = doubles(random_integers(Shape(rows, in), dtype, 1, -3, 3)), kept_rows[2], products[2];
    for (const int infinite : {0, 1}) {
      if (infinite == 1) values[sick * in + feature] = std::numeric_limits<double>::infinity();
      const Tensor x = Tensor::from(values, Shape(rows, in), dtype).to(gpu);
      Tensor kept = Tensor::zeros(Shape(rows, in), dtype, "kept", gpu),
             made = Tensor::zeros(Shape(rows, out), dtype, "made", gpu);
      dense::NeighbourRows from;
      from.graph = there.view();
      from.x = x.view().data;
      from.kept = kept.view().mutable_data();
      gemm.multiply(from, weight, dense::Transposed::no, made, {});
      kept_rows[infinite] = doubles(kept.to(Device{}));
      products[infinite] = doubles(made.to(Device{}));
    }
    const GraphView view = graph.view();
    for (std::int64_t v = 0; v < rows; ++v) {
      const auto* const cols = view.cols;
      const bool has =
          std::find(cols + view.offsets[v], cols + view.offsets[v + 1], sick) != cols + view.offsets[v + 1];
      for (std::int64_t f = 0; f < in; ++f) {
        const auto at = static_cast<std::size_t>(v * in + f);
        if (has && f == feature)
          ASSERT_EQ(kept_rows[1][at], std::numeric_limits<double>::infinity()) << name(dtype) << " row " << v;
        else
          ASSERT_EQ(kept_rows[1][at], kept_rows[0][at]) << name(dtype) << " row " << v << " feature " << f;
      }
      for (std::int64_t f = 0; f < out && !has; ++f) {
        const auto at = static_cast<std::size_t>(v * out + f);
        ASSERT_EQ(products[1][at], products[0][at]) << name(dtype) << " row " << v << " column " << f;
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
