// Fused attention on a GPU against the float64 reference.
#include <cmath>
#include <limits>

#include "battery/sweep.hpp"
#include "cuda/attention_on_gpu.hpp"
#include "support/score_noise.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

class cuda_attention : public GpuTest, public ::testing::WithParamInterface<Dtype> {};
INSTANTIATE_TEST_SUITE_P(storage, cuda_attention, ::testing::ValuesIn(floating_dtypes),
                         [](const auto& tested) { return std::string(name(tested.param)); });

/// The same inputs on the host and on the GPU.
struct Gat {
  Tensor value, src, dst, bias, value_there, src_there, dst_there, bias_there;
  AttentionInputs here, there;
  static constexpr double largest_score = 6;  // |src| + |dst| + |bias|

  Gat(const Graph& graph, Dtype dtype, std::int64_t heads, std::int64_t width, bool biased, std::uint64_t seed)
      : value(random_tensor(Shape(graph.num_cols(), heads, width), dtype, seed + 1)),
        src(random_tensor(Shape(graph.num_cols(), heads, 1), dtype, seed + 2)),
        dst(random_tensor(Shape(graph.num_rows(), heads, 1), dtype, seed + 3)) {
    if (biased) bias = random_tensor(Shape(graph.num_edges(), heads, 1), statistics_of(dtype), seed + 4);
    move();
  }
  void move() {
    value_there = value.to(gpu);
    src_there = src.to(gpu);
    dst_there = dst.to(gpu);
    if (bias) bias_there = bias.to(gpu);
    here.value = value;
    here.src = src;
    here.dst = dst;
    there.value = value_there;
    there.src = src_there;
    there.dst = dst_there;
    if (!bias) return;
    here.bias = bias;
    there.bias = bias_there;
  }
};

AttentionResult attention_on_gpu(Context& context, const Graph& there, const Gat& gat, std::string_view policy) {
  return test::attention_on_gpu(context, there, gat.there, policy);
}

constexpr const char* policies[] = {"", "edges=16", "edges=64,order=columns", "edges=32,order=clusters"};

TEST_P(cuda_attention, of_gat_agrees_with_the_reference_on_every_graph_head_count_and_width) {
  Context context = Context::cuda();
  std::uint64_t seed = 800;
  constexpr std::pair<std::int64_t, std::int64_t> shapes[] = {{1, 1},   {1, 7},  {8, 8},   {1, 64}, {4, 16},  {4, 64},
                                                              {3, 10},  {2, 47}, {6, 121}, {4, 32}, {3, 32},  {3, 16},
                                                              {4, 128}, {8, 64}, {16, 64}, {3, 64}, {2, 128}, {5, 128}};
  std::size_t turn = 0;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = battery.graph.to(gpu);
    for (const auto& [heads, width] : shapes) {
      const bool biased = ++turn % 2 == 0;
      const Gat gat(battery.graph, GetParam(), heads, width, biased, seed += 10);
      const AttentionExpected expected = expected_attention(battery.graph, gat.here, Gat::largest_score);
      const double tolerance = (GetParam() == Dtype::f64 ? 0x1p-52 : 0x1p-23) * 2 *
                               (error_factor(battery.graph.num_edges()) + expected.out.more);
      for (const char* policy : policies) {
        const std::string where = fmt::format("{} heads {} width {}{} policy '{}' seed {}", battery.name, heads, width,
                                              biased ? " biased" : "", policy, seed);
        const AttentionResult r = attention_on_gpu(context, there, gat, policy);
        expect_within_bound(r.out, expected.out, where);
        expect_near(normalisers(r), normalisers(expected), tolerance, where + " statistics");
        EXPECT_TRUE(bitwise_equal(attention_on_gpu(context, there, gat, policy).out, r.out)) << where;
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(cuda_attention, drops_the_edges_that_the_reference_drops) {
  Context context = Context::cuda();
  std::uint64_t seed = 1000;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = battery.graph.to(gpu);
    for (const auto& [heads, width] :
         {std::pair<std::int64_t, std::int64_t>{1, 64}, {4, 16}, {5, 7}, {8, 8}, {4, 64}}) {
      Gat gat(battery.graph, GetParam(), heads, width, heads == 5, seed += 10);
      for (AttentionInputs* inputs : {&gat.here, &gat.there}) {
        inputs->dropout = 0.4f;
        inputs->seed = seed << 33;
      }
      const AttentionExpected expected = expected_attention(battery.graph, gat.here, Gat::largest_score);
      for (const char* policy : policies) {
        const std::string where =
            fmt::format("{} heads {} width {} policy '{}' seed {}", battery.name, heads, width, policy, seed);
        expect_within_bound(attention_on_gpu(context, there, gat, policy).out, expected.out, where);
        if (HasFailure()) return;
      }
    }
  }
}

TEST_P(cuda_attention, masked_edges_and_rows_without_any_other_send_nothing) {
  Context context = Context::cuda();
  const Graph graph = Graph::from_csr(4, 3, std::vector<EdgeId>{0, 3, 5, 5, 6}, std::vector<NodeId>{0, 1, 2, 0, 1, 2});
  for (const std::int64_t width : {8, 32, 64}) {
    Gat gat(graph, GetParam(), 1, width, true, 900);
    gat.bias = tensor_of(Shape(6, 1, 1), {0, -inf, 0, -inf, -inf, 0}, statistics_of(GetParam()));
    gat.move();
    const AttentionExpected expected = expected_attention(graph, gat.here, Gat::largest_score);
    for (const char* policy : {"", "edges=8", "schedule=rows"}) {
      const AttentionResult r = attention_on_gpu(context, graph.to(gpu), gat, policy);
      const std::vector<double> out = doubles(r.out);
      expect_within_bound(r.out, expected.out, policy);
      for (const std::size_t row : {1, 2}) {
        for (std::size_t f = 0; f < static_cast<std::size_t>(width); ++f)
          EXPECT_EQ(out[row * static_cast<std::size_t>(width) + f], 0) << policy << " row " << row;
        EXPECT_EQ(doubles(r.row_sum)[row], 0) << policy;
        EXPECT_EQ(doubles(r.row_max)[row], -inf) << policy;
      }
    }
  }
}

TEST_P(cuda_attention, scores_that_lie_far_apart_are_as_right_as_others) {
  Context context = Context::cuda();
  std::uint64_t seed = 980;
  for (const BatteryGraph& battery : battery_graphs()) {
    const Graph there = battery.graph.to(gpu);
    for (const double spread : {25.0, 45.0, 200.0}) {
      for (const auto& [heads, width] : {std::pair<std::int64_t, std::int64_t>{1, 64}, {4, 16}, {3, 7}}) {
        Gat gat(battery.graph, GetParam(), heads, width, false, seed += 10);
        gat.src = random_tensor(gat.src.shape(), GetParam(), seed + 5, -spread, spread);
        gat.move();
        const AttentionExpected expected = expected_attention(battery.graph, gat.here, spread + 2);
        for (const char* policy : {"", "edges=16"}) {
          const std::string where = fmt::format("{} spread {} heads {} width {} policy '{}' seed {}", battery.name,
                                                spread, heads, width, policy, seed);
          expect_within_bound(attention_on_gpu(context, there, gat, policy).out, expected.out, where);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST_P(cuda_attention, odd_sources_that_no_edge_comes_from_change_nothing) {
  Context context = Context::cuda();
  // Nodes 0, 4, 8 ... have no out-edges: whatever they hold, results are those of the others.
  std::vector<EdgeId> offsets = {0};
  std::vector<NodeId> cols;
  for (NodeId row = 0; row < 64; ++row) {
    for (NodeId k = 0; k < 64; ++k)
      if (k % 4 != 0 && (row + k) % 3 != 0) cols.push_back(k);
    offsets.push_back(static_cast<EdgeId>(cols.size()));
  }
  const Graph graph = Graph::from_csr(64, 64, offsets, cols);
  for (const double odd : {-1e4, 3e4, inf, std::nan("")}) {
    Gat gat(graph, GetParam(), 2, 16, false, 990);
    const AttentionExpected expected = expected_attention(graph, gat.here, Gat::largest_score);
    std::vector<double> sources = doubles(gat.src);
    for (std::size_t i = 0; i < sources.size(); ++i)
      if (i / 2 % 4 == 0) sources[i] = odd;
    gat.src = Tensor::from(sources, gat.src.shape(), GetParam());
    gat.move();
    for (const char* policy : {"", "edges=16"})
      expect_within_bound(attention_on_gpu(context, graph.to(gpu), gat, policy).out, expected.out,
                          fmt::format("odd {} policy '{}'", odd, policy));
  }
}

TEST_P(cuda_attention, one_nan_or_infinite_score_makes_its_row_nan_and_no_other) {
  Context context = Context::cuda();
  // Rows of 100, 3 and 100 edges: the long ones are cut by tasks of 16.
  std::vector<NodeId> cols(203);
  for (std::size_t k = 0; k < cols.size(); ++k) cols[k] = static_cast<NodeId>(k % 3);
  const Graph graph = Graph::from_csr(3, 3, std::vector<EdgeId>{0, 100, 103, 203}, cols);
  for (const double odd : {std::nan(""), inf}) {
    for (const std::int64_t width : {7, 16, 64}) {
      Gat gat(graph, GetParam(), 1, width, true, 960);
      std::vector<double> bias(203, 0.0);
      bias[50] = odd;
      gat.bias = Tensor::from(bias, Shape(203, 1, 1), statistics_of(GetParam()));
      gat.move();
      for (const char* policy : {"", "edges=16,join=no", "schedule=rows"}) {
        const std::vector<double> out = doubles(attention_on_gpu(context, graph.to(gpu), gat, policy).out);
        for (std::size_t i = 0; i < out.size(); ++i)
          ASSERT_EQ(std::isnan(out[i]), i < static_cast<std::size_t>(width))
              << policy << " width " << width << " " << i;
      }
    }
  }
}

TEST_P(cuda_attention, a_hub_of_many_gives_the_mean_of_what_all_send_alike) {
  Context context = Context::cuda();
  const Graph graph = generate(StarSpec{(1 << 16) + 1});
  Gat gat(graph, GetParam(), 2, 16, false, 910);
  gat.value = constant(gat.value.shape(), GetParam(), 3);
  gat.src = constant(gat.src.shape(), GetParam(), 30000);  // exp of it is infinite
  gat.move();
  const std::vector<double> out = doubles(attention_on_gpu(context, graph.to(gpu), gat, "").out);
  for (std::size_t f = 0; f < 32; ++f) EXPECT_NEAR(out[f], 3, 1e-2) << f;
}

TEST_P(cuda_attention, weights_and_gradients_are_those_of_the_cpu_in_float64) {
  Context context = Context::cuda(), cpu = Context::cpu();
  const double tolerance = GetParam() == Dtype::f64   ? 1e-9
                           : GetParam() == Dtype::f32 ? 1e-3
                           : GetParam() == Dtype::f16 ? 2e-2
                                                      : 1.5e-1;
  for (const bool biased : {false, true}) {
    // Those whose heads lie evenly in the lanes take one kernel, the others several.
    for (const auto& [heads, width] : {std::pair<std::int64_t, std::int64_t>{1, 64},
                                       {4, 16},
                                       {3, 7},
                                       {1, 7},
                                       {8, 8},
                                       {1, 1},
                                       {1, 2},
                                       {1, 3},
                                       {1, 12},
                                       {1, 24},
                                       {4, 64},
                                       {3, 64},
                                       {8, 32},
                                       {2, 128},
                                       {5, 128},
                                       {2, 256},
                                       {4, 128},
                                       {1, 400},
                                       {1, 1032},
                                       {3, 32}}) {
      const Graph graph = battery::power_law_graph(), there = graph.to(gpu);
      Gat gat(graph, GetParam(), heads, width, biased, 930);
      const Tensor grad = random_tensor(Shape(graph.num_rows(), heads, width), GetParam(), 940);
      Gat exact(graph, Dtype::f64, heads, width, false, 930);
      exact.value = gat.value.to(Dtype::f64);
      exact.src = gat.src.to(Dtype::f64);
      exact.dst = gat.dst.to(Dtype::f64);
      if (biased) exact.bias = gat.bias.to(Dtype::f64);
      exact.move();
      for (AttentionInputs* inputs : {&gat.there, &exact.here}) {
        inputs->dropout = width % 8 == 0 ? 0.25f : 0.0f;
        inputs->seed = 950;
      }
      const AttentionResult wanted = attention(cpu, graph, exact.here);
      const AttentionGradients by_cpu = attention_backward(cpu, graph, exact.here, wanted, grad.to(Dtype::f64));
      const AttentionResult result = attention(context, there, gat.there);
      const AttentionGradients by_gpu = attention_backward(context, there, gat.there, result, grad.to(gpu));
      AttentionInputs undropped = exact.here;
      undropped.dropout = 0;
      const ScoreNoise noise(graph, GetParam(), wanted.out, grad, attention_weights(cpu, graph, undropped, wanted));
      // Where several kernels give the gradients, nothing comes from the rounded output.
      const bool at_once = plan_attention_backward(context, there, gat.there).at_once;
      const auto noise_of = [&](const std::vector<double>& all) { return at_once ? all : std::vector<double>{}; };
      const auto alike = [&](const Tensor& got_there, const Tensor& want, const char* what,
                             const std::vector<double>& more = {}) {
        const std::vector<double> got = doubles(got_there.to(Device{})), expected = doubles(want);
        ASSERT_EQ(got.size(), expected.size()) << what;
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i])) + (more.empty() ? 0 : more.at(i)))
              << what << " heads " << heads << " width " << width << (biased ? " biased" : "") << " element " << i;
      };
      alike(attention_weights(context, there, gat.there, result), attention_weights(cpu, graph, exact.here, wanted),
            "weights");
      alike(by_gpu.value, by_cpu.value, "value");
      alike(by_gpu.src, by_cpu.src, "src", noise_of(noise.src));
      alike(by_gpu.dst, by_cpu.dst, "dst", noise_of(noise.dst));
      if (biased) alike(by_gpu.bias, by_cpu.bias, "bias");
      EXPECT_EQ(by_gpu.src.dtype(), GetParam());
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace weft::test
