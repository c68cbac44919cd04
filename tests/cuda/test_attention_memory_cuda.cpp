// What attention takes of a GPU's memory beside its inputs and results: nothing that grows with edges times features,
// and in the forward nothing that grows with edges times heads.
#include <functional>

#include "cuda/gpu.hpp"
#include "support/attention_case.hpp"
#include "weft/generate.hpp"

namespace weft::test {
namespace {

class cuda_attention_memory : public GpuTest {};

constexpr std::int64_t heads = 4, width = 16;

/// The most that was live at once during `work`, beyond what was live before.
std::size_t peak_of(Context& context, const std::function<void()>& work) {
  context.synchronise();
  reset_memory_peak(gpu);
  const std::size_t before = memory_stats(gpu).live_bytes;
  work();
  context.synchronise();
  return memory_stats(gpu).peak_bytes - before;
}

/// Rows are long, so that what grows with the edges shows.
Graph many_edges_a_row() {
  UniformSpec spec;
  spec.nodes = 4096;
  spec.edges = 1 << 20;
  return generate(spec);
}

TEST_F(cuda_attention_memory, of_the_forward_holds_no_value_an_edge) {
  const Graph graph = many_edges_a_row(), there = graph.to(gpu);
  const auto edge_values = static_cast<std::size_t>(graph.num_edges() * heads) * sizeof(float);
  for (const Score score : {Score::gat, Score::gatv2, Score::dot}) {
    const AttentionCase inputs =
        AttentionCase(graph, score, Dtype::f32, heads, width, width, std::nullopt, 901).to(gpu);
    Context context = Context::cuda();
    AttentionResult result = attention(context, there, inputs.views());  // whatever the graph keeps is there
    const std::size_t results = result.out.bytes() + result.row_max.bytes() + result.row_sum.bytes();
    context = Context::cuda();
    const std::size_t peak = peak_of(context, [&] { result = attention(context, there, inputs.views()); });
    RecordProperty(std::string(name(score)), static_cast<int>(peak - results));
    EXPECT_GE(peak, results);
    EXPECT_LT(peak - results, edge_values / 2) << name(score) << ": edge values would be " << edge_values;
  }
}

TEST_F(cuda_attention_memory, of_the_backward_holds_few_values_an_edge_and_head_and_none_an_edge_and_feature) {
  const Graph graph = many_edges_a_row(), there = graph.to(gpu);
  const auto edge_values = static_cast<std::size_t>(graph.num_edges() * heads) * sizeof(float);
  for (const Score score : {Score::gat, Score::gatv2, Score::dot}) {
    const AttentionCase inputs =
        AttentionCase(graph, score, Dtype::f32, heads, width, width, std::nullopt, 911).to(gpu);
    const Tensor grad = random_tensor(Shape(graph.num_rows(), heads, width), Dtype::f32, 912).to(gpu);
    Context context = Context::cuda();
    const AttentionResult result = attention(context, there, inputs.views());
    AttentionGradients g = attention_backward(context, there, inputs.views(), result, grad);
    const auto bytes_of = [](const Tensor& t) { return t ? t.bytes() : 0; };
    const std::size_t results = bytes_of(g.value) + bytes_of(g.src) + bytes_of(g.dst) + bytes_of(g.attn);
    context = Context::cuda();
    const std::size_t peak =
        peak_of(context, [&] { g = attention_backward(context, there, inputs.views(), result, grad); });
    RecordProperty(std::string(name(score)), static_cast<int>(peak - results));
    // At once: the scores' gradients, and parts of cut rows. In a chain of operators: weights, gradients of
    // weights and of scores. One value per edge and feature would be 16 times edge_values.
    const std::size_t allowed = score == Score::gat ? edge_values + edge_values / 2 : 4 * edge_values;
    EXPECT_GE(peak - results, edge_values);
    EXPECT_LT(peak - results, allowed) << name(score) << ": edge values are " << edge_values;
  }
}

}  // namespace
}  // namespace weft::test
