// Gradients on a GPU against the CPU's in float64, within the bound that sums are held to.
#include "battery/sweep.hpp"
#include "cuda/gpu.hpp"
#include "support/errors.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

class cuda_gradients : public GpuTest {};

/// Roundings a term of a gradient sees beside the sum's own: its factors, the scales, the mean, two divisions.
constexpr double roundings_a_term = 10;

Tensor magnitudes(const Tensor& tensor) {
  if (!tensor) return {};
  std::vector<double> values = doubles(tensor);
  for (double& value : values) value = std::fabs(value);
  return Tensor::from(std::span<const double>(values), tensor.shape(), Dtype::f64);
}

/// A float64 gradient and the one that the magnitudes of all inputs give: with every term positive, that is the sum of
/// |term|. `terms` bounds how many there are.
Expected expected_gradient(const Tensor& gradient, const Tensor& of_magnitudes, std::int64_t terms) {
  Expected expected;
  expected.shape = gradient.shape();
  expected.y = doubles(gradient);
  expected.absolute = doubles(of_magnitudes);
  for (double& value : expected.absolute) value = std::fabs(value);
  expected.terms.assign(static_cast<std::size_t>(gradient.shape().rows), terms);
  expected.more = roundings_a_term;
  return expected;
}

std::int64_t most_terms(const Graph& graph, std::int64_t features) {
  const auto degrees = degrees_of(graph), reversed = degrees_of(graph.transpose());
  std::int64_t most = 1;
  for (const auto& side : {degrees, reversed})
    for (const std::int64_t degree : side) most = std::max(most, degree);
  return most * std::max<std::int64_t>(features, 1);
}

/// The inputs of one spmm, rounded to the type the GPU computes in.
struct SpmmInputs {
  Tensor x, edge, out_grad, row_scale, col_scale, self_scale, arg_e;
  SpmmOptions options;

  template <class Change>
  SpmmInputs changed(Change&& change) const {
    SpmmInputs copy;
    copy.x = change(x);
    copy.edge = change(edge);
    copy.out_grad = change(out_grad);
    copy.row_scale = change(row_scale);
    copy.col_scale = change(col_scale);
    copy.self_scale = change(self_scale);
    copy.arg_e = arg_e ? arg_e.clone() : Tensor{};
    copy.options = options;
    copy.point();
    return copy;
  }
  SpmmInputs on_gpu() const {
    SpmmInputs copy = changed([](const Tensor& tensor) { return tensor.to(gpu); });
    copy.arg_e = copy.arg_e.to(gpu);
    copy.point();
    return copy;
  }
  void point() {
    options.epilogue.row_scale = row_scale;
    options.epilogue.col_scale = col_scale;
    options.epilogue.self_scale = self_scale;
    options.arg_e = arg_e;
  }
  SpmmGradients backward(Context& context, const Graph& graph) const {
    return spmm_backward(context, graph, x, edge, out_grad, options);
  }
};

SpmmInputs spmm_inputs(Context& cpu, const Graph& graph, Shape x_shape, Shape e_shape, SpmmOp op, Reduce reduce,
                       bool scaled, Dtype dtype, std::uint64_t seed) {
  SpmmInputs in;
  in.options.op = op;
  in.options.reduce = reduce;
  if (uses_node(op)) in.x = random_tensor(x_shape, dtype, seed);
  if (uses_edge(op)) in.edge = random_divisors(e_shape, dtype, seed + 1);
  if (scaled) in.row_scale = random_tensor(Shape(graph.num_rows()), dtype, seed + 2);
  if (scaled) in.col_scale = random_tensor(Shape(graph.num_cols()), dtype, seed + 3);
  // x has all features of the output where the edges' values have no more than one a head.
  const bool all_of_x = uses_node(op) && (!uses_edge(op) || (e_shape.width == 1 && e_shape.heads <= x_shape.heads));
  if (scaled && all_of_x && !is_extremum(reduce) && graph.num_rows() == graph.num_cols())
    in.self_scale = random_tensor(Shape(graph.num_rows()), dtype, seed + 4);
  in.point();
  const Tensor out = spmm(cpu, graph, in.x, in.edge, in.options);
  if (reduce == Reduce::max || reduce == Reduce::min) {
    in.arg_e = Tensor::empty(out.shape(), Dtype::i64);
    in.point();
    spmm(cpu, graph, in.x, in.edge, in.options);
  }
  in.out_grad = random_tensor(out.shape(), dtype, seed + 5);
  return in;
}

void check_spmm(Context& context, Context& cpu, const Graph& graph, const Graph& there, const SpmmInputs& in,
                const std::string& text) {
  const auto wide = [](const Tensor& tensor) { return tensor ? tensor.to(Dtype::f64) : Tensor{}; };
  const SpmmGradients expected = in.changed(wide).backward(cpu, graph);
  const SpmmGradients absolute = in.changed(magnitudes).backward(cpu, graph);
  const SpmmGradients actual = in.on_gpu().backward(context, there);
  const std::int64_t terms = most_terms(graph, in.out_grad.shape().row_size());
  EXPECT_EQ(bool(actual.x), bool(expected.x)) << text;
  EXPECT_EQ(bool(actual.edge), bool(expected.edge)) << text;
  if (expected.x) expect_within_bound(actual.x.to(Device{}), expected_gradient(expected.x, absolute.x, terms), text);
  if (expected.edge)
    expect_within_bound(actual.edge.to(Device{}), expected_gradient(expected.edge, absolute.edge, terms), text);
}

using Shapes = std::vector<std::pair<Shape, Shape>>;

/// Every op, reducer and dtype, with scales and without.
void check_spmm_over(const Graph& graph, const Shapes& shapes, const std::string& graph_name) {
  Context context = Context::cuda(), cpu = Context::cpu(2);
  const Graph there = graph.to(gpu);
  std::uint64_t seed = 300;
  for (const SpmmOp op : spmm_ops)
    for (const Reduce reduce : reducers)
      for (const auto& [x_shape, e_shape] : shapes)
        for (const bool scaled : {false, true})
          for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
            const SpmmInputs in = spmm_inputs(cpu, graph, x_shape, e_shape, op, reduce, scaled, dtype, seed += 6);
            check_spmm(
                context, cpu, graph, there, in,
                fmt::format("{} {} {} x {} edge {} {} {} seed {}", graph_name, name(op), name(reduce),
                            to_string(x_shape), to_string(e_shape), scaled ? "scaled" : "plain", name(dtype), seed));
            if (::testing::Test::HasFailure()) return;
          }
}

TEST_F(cuda_gradients, of_spmm_agree_for_every_op_reducer_and_edge_shape) {
  const Graph graph = tangled_graph();
  const std::int64_t n = graph.num_cols(), e = graph.num_edges();
  check_spmm_over(graph,
                  {{Shape(n), Shape(e)},
                   {Shape(n, 3), Shape(e)},
                   {Shape(n, 3), Shape(e, 1)},
                   {Shape(n, 3), Shape(e, 3)},
                   {Shape(n, 1), Shape(e, 3)},
                   {Shape(n, 2, 3), Shape(e, 2, 1)},
                   {Shape(n, 2, 3), Shape(e)},
                   {Shape(n, 2, 3), Shape(e, 2, 3)},
                   {Shape(n, 2, 3), Shape(e, 3)},
                   {Shape(n, 3), Shape(e, 2, 1)},
                   {Shape(n, 2, 1), Shape(e, 2, 3)},
                   {Shape(n, 1, 3), Shape(e, 2, 1)}},
                  "tangled");
}

/// The CPU that the GPU is compared with takes minutes for all graphs: parts of them run side by side.
constexpr int parts = 4;
class cuda_gradients_on_graphs : public cuda_gradients, public ::testing::WithParamInterface<int> {};
INSTANTIATE_TEST_SUITE_P(part, cuda_gradients_on_graphs, ::testing::Range(0, parts));

TEST_P(cuda_gradients_on_graphs, of_spmm_agree) {
  const std::vector<BatteryGraph> graphs = battery_graphs();
  for (std::size_t g = GetParam(); g < graphs.size(); g += parts) {
    const BatteryGraph& battery = graphs[g];
    const std::int64_t n = battery.graph.num_cols(), e = battery.graph.num_edges();
    check_spmm_over(battery.graph,
                    {{Shape(n, 8), Shape(e)}, {Shape(n, 2, 3), Shape(e, 2, 1)}, {Shape(n, 33), Shape(e, 33)}},
                    battery.name);
    if (HasFailure()) return;
  }
}

// Tasks of the gather over the transpose hold 32 edges on a small graph: one source with all edges is cut many times.
TEST_F(cuda_gradients, of_a_maximum_agree_where_one_source_has_every_edge_and_wider_rows_than_a_block) {
  Context context = Context::cuda(), cpu = Context::cpu(2);
  for (const Graph& graph : {battery::bipartite_one_column(5000), battery::bipartite_one_row(5000)}) {
    const Graph there = graph.to(gpu);
    for (const std::int64_t width : {1, 31, 300}) {
      const SpmmInputs in = spmm_inputs(cpu, graph, Shape(graph.num_cols(), width), Shape(graph.num_edges()),
                                        SpmmOp::u_mul_e, Reduce::max, true, Dtype::f32, 77);
      check_spmm(context, cpu, graph, there, in, fmt::format("{} rows, width {}", graph.num_rows(), width));
    }
  }
}

TEST_F(cuda_gradients, have_the_same_bits_every_time) {
  Context context = Context::cuda(), cpu = Context::cpu(2);
  const Graph graph = battery::hub_graph(), there = graph.to(gpu);
  for (const SpmmOp op : {SpmmOp::u_mul_e, SpmmOp::u_div_e})
    for (const Reduce reduce : reducers) {
      const SpmmInputs in = spmm_inputs(cpu, graph, Shape(graph.num_cols(), 16), Shape(graph.num_edges()), op, reduce,
                                        true, Dtype::f32, 78)
                                .on_gpu();
      const SpmmGradients first = in.backward(context, there);
      for (int run = 0; run < 20; ++run) {
        const SpmmGradients again = in.backward(context, there);
        ASSERT_TRUE(bitwise_equal(again.x.to(Device{}), first.x.to(Device{}))) << name(op) << " " << name(reduce);
        ASSERT_TRUE(bitwise_equal(again.edge.to(Device{}), first.edge.to(Device{}))) << name(op) << " " << name(reduce);
      }
    }
}

TEST_F(cuda_gradients, of_spmm_are_zero_where_the_other_side_has_no_features) {
  Context context = Context::cuda();
  const Graph graph = tangled_graph(), there = graph.to(gpu);
  const std::int64_t n = graph.num_cols(), e = graph.num_edges();
  for (const Reduce reduce : reducers)
    for (const auto& [x_shape, e_shape] : Shapes{{Shape(n, 0), Shape(e)}, {Shape(n, 1), Shape(e, 0)}}) {
      SCOPED_TRACE(fmt::format("{} x {} edge {}", name(reduce), to_string(x_shape), to_string(e_shape)));
      const Tensor x = random_tensor(x_shape, Dtype::f32, 46).to(gpu);
      const Tensor edge = random_divisors(e_shape, Dtype::f32, 47).to(gpu);
      const Tensor grad = Tensor::empty(Shape(graph.num_rows(), 0), Dtype::f32, "gradient", gpu);
      Tensor arg_e = Tensor::empty(grad.shape(), Dtype::i64, "winners", gpu);
      SpmmOptions options;
      options.reduce = reduce;
      if (reduce == Reduce::max || reduce == Reduce::min) options.arg_e = arg_e;
      const SpmmGradients gradients = spmm_backward(context, there, x, edge, grad, options);
      for (const double value : doubles(gradients.x.to(Device{}))) ASSERT_EQ(value, 0);
      for (const double value : doubles(gradients.edge.to(Device{}))) ASSERT_EQ(value, 0);
    }
}

TEST_F(cuda_gradients, refuse_a_graph_that_stayed_on_the_host) {
  Context context = Context::cuda();
  const Graph graph = tangled_graph();
  const Tensor x = Tensor::zeros(Shape(graph.num_cols(), 2), Dtype::f32, "x", gpu);
  const Tensor grad = Tensor::zeros(Shape(graph.num_rows(), 2), Dtype::f32, "gradient", gpu);
  SpmmOptions options;
  options.op = SpmmOp::copy_u;
  options.reduce = Reduce::mean;
  expect_refused([&] { spmm_backward(context, graph, x, {}, grad, options); }, "graph");
}

std::int64_t rows_at(const Graph& graph, Target target) {
  return target == Target::u ? graph.num_cols() : target == Target::v ? graph.num_rows() : graph.num_edges();
}

void check_sddmm(Context& context, Context& cpu, const Graph& graph, const Graph& there, const Tensor& lhs,
                 const Tensor& rhs, const SddmmOptions& options, std::uint64_t seed, const std::string& text) {
  const Dtype dtype = lhs ? lhs.dtype() : rhs.dtype();
  const Tensor out_grad = random_tensor(sddmm(cpu, graph, lhs, rhs, options).shape(), dtype, seed);
  const auto wide = [](const Tensor& tensor) { return tensor ? tensor.to(Dtype::f64) : Tensor{}; };
  const SddmmGradients expected = sddmm_backward(cpu, graph, wide(lhs), wide(rhs), wide(out_grad), options);
  const SddmmGradients absolute =
      sddmm_backward(cpu, graph, magnitudes(lhs), magnitudes(rhs), magnitudes(out_grad), options);
  const SddmmGradients actual = sddmm_backward(context, there, lhs.to(gpu), rhs.to(gpu), out_grad.to(gpu), options);
  const std::int64_t terms =
      most_terms(graph, std::max(lhs ? lhs.shape().row_size() : 1, rhs ? rhs.shape().row_size() : 1));
  if (expected.lhs)
    expect_within_bound(actual.lhs.to(Device{}), expected_gradient(expected.lhs, absolute.lhs, terms), text);
  if (expected.rhs)
    expect_within_bound(actual.rhs.to(Device{}), expected_gradient(expected.rhs, absolute.rhs, terms), text);
}

void check_sddmm_over(const Graph& graph, const Shapes& features, const std::string& graph_name) {
  Context context = Context::cuda(), cpu = Context::cpu(2);
  const Graph there = graph.to(gpu);
  std::uint64_t seed = 500;
  for (const SddmmOp op : sddmm_ops)
    for (const Target left : targets)
      for (const Target right : targets)
        for (auto [l, r] : features)
          for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
            l.rows = rows_at(graph, left);
            r.rows = rows_at(graph, right);
            const Tensor lhs = op == SddmmOp::copy_rhs ? Tensor{} : random_tensor(l, dtype, ++seed);
            const Tensor rhs = op == SddmmOp::copy_lhs ? Tensor{} : random_divisors(r, dtype, ++seed);
            check_sddmm(context, cpu, graph, there, lhs, rhs, {op, left, right}, ++seed,
                        fmt::format("{} {} {}{} lhs {} rhs {} {} seed {}", graph_name, name(op), name(left),
                                    name(right), to_string(l), to_string(r), name(dtype), seed));
            if (::testing::Test::HasFailure()) return;
          }
}

TEST_F(cuda_gradients, of_sddmm_agree_for_every_op_target_pair_and_shape) {
  check_sddmm_over(tangled_graph(),
                   {{Shape(0), Shape(0)},
                    {Shape(0, 3), Shape(0, 3)},
                    {Shape(0, 3), Shape(0, 1)},
                    {Shape(0), Shape(0, 3)},
                    {Shape(0, 2, 3), Shape(0, 2, 3)},
                    {Shape(0, 2, 3), Shape(0, 2, 1)},
                    {Shape(0, 2, 1), Shape(0, 3)}},
                   "tangled");
}

TEST_F(cuda_gradients, of_sddmm_agree_on_every_battery_graph) {
  for (const BatteryGraph& battery : battery_graphs()) {
    check_sddmm_over(battery.graph, {{Shape(0, 8), Shape(0, 8)}, {Shape(0, 2, 3), Shape(0, 2, 1)}}, battery.name);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::test
