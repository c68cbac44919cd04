// Attention of every score and its gradients.
#include <fmt/format.h>

#include <optional>

#include "bits/bits.hpp"
#include "bits/graphs.hpp"
#include "support/attention_case.hpp"

namespace weft::test {
namespace {

constexpr std::int64_t features_of_all_heads[] = {1, 2, 3, 4, 8, 12, 16, 24, 32, 33, 64, 96, 128, 256, 512, 516};

void add_one(Bits& bits, const BatteryGraph& battery, Score score, Dtype dtype, std::int64_t heads, std::int64_t width,
             std::uint64_t seed, Way& way) {
  const Graph& graph = battery.graph;
  const Graph on_host = graph.to(Device{});
  const std::optional<Dtype> bias = seed % 4 == 0 ? std::optional(dtype) : std::nullopt;
  AttentionCase here(on_host, score, dtype, heads, width, width, bias, seed);
  if (here.attn) here.attn = random_tensor(here.attn.shape(), dtype, seed + 6, -0.1, 0.1);
  if (seed % 3 == 0) here.dropout = 0.4f;
  here.seed = seed;
  const AttentionCase inputs = here.to(bits.device());
  const Plan plan = planned(way, graph, {OpKind::attention, dtype, heads, width, Reduce::sum, true});
  const Dtype statistics = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  AttentionResult result;
  result.out = Tensor::zeros(Shape(graph.num_rows(), heads, width), dtype, "out", bits.device());
  result.row_max = Tensor::zeros(Shape(graph.num_rows(), heads, 1), statistics, "row_max", bits.device());
  result.row_sum = Tensor::zeros(Shape(graph.num_rows(), heads, 1), statistics, "row_sum", bits.device());
  attention(way.context, plan, graph, inputs.views(), result.out, result.row_max, result.row_sum);
  const std::string what = fmt::format("{} {} heads of {} seed {}", battery.name, heads, width, seed);
  bits.add(fmt::format("attention {} {}", name(score), name(dtype)), what, to_string(plan), result.out, result.row_max,
           result.row_sum);
  bits.add(fmt::format("attention_weights {} {}", name(score), name(dtype)), what, "",
           attention_weights(bits.context(), graph, inputs.views(), result));
  const Tensor grad = random_on(bits.device(), result.out.shape(), dtype, seed + 7);
  const AttentionBackwardPlan backward = plan_attention_backward(bits.context(), graph, inputs.views());
  const AttentionGradients gradients = attention_backward(bits.context(), graph, inputs.views(), result, grad);
  bits.add(fmt::format("attention_backward {} {}", name(score), name(dtype)), what,
           backward.at_once ? to_string(backward.gather) : "composed", gradients.value, gradients.src, gradients.dst,
           gradients.attn, gradients.bias);
}

}  // namespace

void add_attention(Bits& bits) {
  std::vector<Way> ways = ways_to_run(bits.device());
  Sweep sweep(bits.device().kind == DeviceKind::cuda ? 60'000 : 2'000);
  for (const BatteryGraph& battery : graphs_of_bits(bits.device()))
    for (const Dtype dtype : floating_dtypes)
      for (const Score score : score_kinds)
        for (const std::int64_t heads : {1, 2, 3, 4, 8})
          for (const std::int64_t features : features_of_all_heads) {
            if (features % heads != 0) continue;
            if (!sweep.next((battery.graph.num_edges() + battery.graph.num_rows()) * features)) continue;
            add_one(bits, battery, score, dtype, heads, features / heads, sweep.seed() >> 8,
                    way_for(ways, sweep.seed()));
          }
}

}  // namespace weft::test
