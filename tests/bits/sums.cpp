// SpMM with every message, reducer, epilogue and policy, and its gradients.
#include <fmt/format.h>

#include "bits/bits.hpp"
#include "bits/graphs.hpp"
#include "weft/ops.hpp"

namespace weft::test {
namespace {

constexpr std::int64_t widths[] = {1, 2, 3, 4, 6, 8, 16, 20, 32, 33, 47, 64, 100, 128, 256, 516, 602};

enum class EdgeShape { scalar, vector, per_head };
constexpr EdgeShape edge_shapes[] = {EdgeShape::scalar, EdgeShape::vector, EdgeShape::per_head};

struct SumCase {
  SpmmOp op;
  Reduce reduce;
  EdgeShape edge_shape;
  std::int64_t width;
  Dtype dtype;
};

void add_sum(Bits& bits, const BatteryGraph& battery, const SumCase& c, std::uint64_t seed, Way& way) {
  const Graph& graph = battery.graph;
  const std::int64_t heads = c.edge_shape == EdgeShape::per_head ? 2 : 1;
  const std::int64_t edge_width = c.edge_shape == EdgeShape::vector ? c.width : 1;
  const Device device = bits.device();
  Tensor x, edge;
  if (uses_node(c.op)) x = random_on(device, Shape(graph.num_cols(), heads, c.width), c.dtype, seed);
  if (uses_edge(c.op))
    edge = random_divisors(Shape(graph.num_edges(), heads, edge_width), c.dtype, seed + 1).to(device);
  SpmmOptions options;
  options.op = c.op;
  options.reduce = c.reduce;
  const std::int64_t out_width = uses_node(c.op) ? c.width : edge_width;
  const Shape shape(graph.num_rows(), heads, out_width);
  const bool extremum = c.reduce == Reduce::max || c.reduce == Reduce::min;
  // A third of the calls have an epilogue, half of the extrema winners.
  Tensor row_scale, col_scale, bias, arg_u, arg_e;
  const Dtype scale_type = c.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  if (seed % 3 == 0) {
    row_scale = random_on(device, Shape(graph.num_rows()), scale_type, seed + 2);
    options.epilogue.row_scale = row_scale;
    if (seed % 2 == 0) {
      col_scale = random_on(device, Shape(graph.num_cols()), scale_type, seed + 3);
      options.epilogue.col_scale = col_scale;
    }
    bias = random_on(device, Shape(heads * out_width), c.dtype, seed + 4);
    options.epilogue.bias = bias;
    options.epilogue.relu = seed % 5 == 0;
    options.epilogue.saturate = seed % 7 == 0;
  }
  if (extremum && seed % 2 == 0) {
    arg_u = Tensor::zeros(shape, Dtype::i32, "arg_u", device);
    arg_e = Tensor::zeros(shape, Dtype::i64, "arg_e", device);
    options.arg_u = arg_u;
    options.arg_e = arg_e;
  }
  const Plan plan = planned(way, graph, {OpKind::spmm, c.dtype, heads, out_width, c.reduce, uses_edge(c.op)});
  Tensor out = Tensor::zeros(shape, c.dtype, "out", device);
  spmm(way.context, plan, graph, x, edge, out, options);
  bits.add(fmt::format("spmm {} {} {}", name(c.op), name(c.reduce), name(c.dtype)),
           fmt::format("{} width {} edges {} seed {}", battery.name, c.width, static_cast<int>(c.edge_shape), seed),
           to_string(plan), out, arg_u, arg_e);
}

/// Gradients of a call without an epilogue.
void add_gradients(Bits& bits, const BatteryGraph& battery, const SumCase& c, std::uint64_t seed) {
  const Graph& graph = battery.graph;
  const std::int64_t heads = c.edge_shape == EdgeShape::per_head ? 2 : 1;
  const std::int64_t edge_width = c.edge_shape == EdgeShape::vector ? c.width : 1;
  const Device device = bits.device();
  const Tensor x = random_on(device, Shape(graph.num_cols(), heads, c.width), c.dtype, seed);
  const Tensor edge = random_divisors(Shape(graph.num_edges(), heads, edge_width), c.dtype, seed + 1).to(device);
  SpmmOptions options;
  options.op = c.op;
  options.reduce = c.reduce;
  const ConstTensorView given_x = uses_node(c.op) ? ConstTensorView(x) : ConstTensorView{};
  const ConstTensorView given_edge = uses_edge(c.op) ? ConstTensorView(edge) : ConstTensorView{};
  const Shape shape(graph.num_rows(), heads, uses_node(c.op) ? c.width : edge_width);
  Tensor arg_u, arg_e;
  if (c.reduce == Reduce::max || c.reduce == Reduce::min) {
    arg_u = Tensor::zeros(shape, Dtype::i32, "arg_u", device);
    arg_e = Tensor::zeros(shape, Dtype::i64, "arg_e", device);
    options.arg_u = arg_u;
    options.arg_e = arg_e;
  }
  const Tensor out = spmm(bits.context(), graph, given_x, given_edge, options);
  const Tensor grad = random_on(device, shape, c.dtype, seed + 5);
  const SpmmGradients gradients =
      spmm_backward(bits.context(), graph, given_x, given_edge, grad, options, {uses_node(c.op), uses_edge(c.op)});
  bits.add(fmt::format("spmm_backward {} {} {}", name(c.op), name(c.reduce), name(c.dtype)),
           fmt::format("{} width {} edges {} seed {}", battery.name, c.width, static_cast<int>(c.edge_shape), seed), "",
           out, gradients.x, gradients.edge);
}

/// The kernels that only policies reach.
void add_ablations(Bits& bits, const BatteryGraph& battery) {
  if (bits.device().kind != DeviceKind::cuda) return;
  const Graph& graph = battery.graph;
  std::uint64_t seed = 900;
  for (const Dtype dtype : {Dtype::f32, Dtype::f16, Dtype::bf16})
    for (const std::int64_t width : {4, 8, 16, 32, 64, 128, 256, 512})
      for (const char* policy :
           {"stage=32", "stage=64", "stage=128", "stage=32,assignment=round_robin", "stage=128,assignment=round_robin",
            "accumulate=half2", "loads=2", "loads=4", "waves=off", "vector=1", "vector=2", "vector=4"}) {
        for (const bool weighted : {true, false}) {
          const Tensor x = random_on(bits.device(), Shape(graph.num_cols(), width), dtype, ++seed);
          const Tensor edge = random_on(bits.device(), Shape(graph.num_edges()), dtype, ++seed);
          SpmmOptions options;
          if (!weighted) options.op = SpmmOp::copy_u;
          Tensor out = Tensor::zeros(Shape(graph.num_rows(), width), dtype, "out", bits.device());
          std::string how;
          try {
            const Plan plan = make_plan(bits.context(), graph, {OpKind::spmm, dtype, 1, width, Reduce::sum, weighted},
                                        parse_policy(policy));
            bits.context().reserve(plan.workspace_bytes);
            how = to_string(plan);
            spmm(bits.context(), plan, graph, x, weighted ? ConstTensorView(edge) : ConstTensorView{}, out, options);
          } catch (const Error&) {
            how = "refused";  // not every type has every policy
          }
          bits.add(fmt::format("spmm policies {}", name(dtype)),
                   fmt::format("{} width {} {} {}", battery.name, width, policy, weighted ? "weighted" : "plain"), how,
                   out);
        }
      }
}

}  // namespace

void add_sums(Bits& bits) {
  std::vector<Way> ways = ways_to_run(bits.device());
  Sweep sweep(bits.device().kind == DeviceKind::cuda ? 60'000 : 2'000), of_gradients(20'000);
  for (const BatteryGraph& battery : graphs_of_bits(bits.device())) {
    const std::int64_t rows_and_edges = battery.graph.num_edges() + battery.graph.num_rows();
    for (const Dtype dtype : floating_dtypes)
      for (const SpmmOp op : spmm_ops)
        for (const Reduce reduce : reducers)
          for (const std::int64_t width : widths)
            for (const EdgeShape edge_shape : edge_shapes) {
              const bool with_values = uses_edge(op);
              if (!with_values && edge_shape == EdgeShape::vector) continue;
              const SumCase c{op, reduce, edge_shape, width, dtype};
              if (sweep.next(rows_and_edges * width))
                add_sum(bits, battery, c, sweep.seed() >> 8, way_for(ways, sweep.seed()));
              if (of_gradients.next(rows_and_edges * width * 8))
                add_gradients(bits, battery, c, of_gradients.seed() >> 8);
            }
    if (battery.name == "power_law" || battery.name == "powerlaw_20000_400000") add_ablations(bits, battery);
  }
}

}  // namespace weft::test
