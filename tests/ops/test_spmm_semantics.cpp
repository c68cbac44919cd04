#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/oracle.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

SpmmOptions with(SpmmOp op, Reduce reduce) {
  SpmmOptions options;
  options.op = op;
  options.reduce = reduce;
  return options;
}

TEST(spmm, broadcasts_edge_values_and_features_as_numpy_does) {
  const Graph graph = tangled_graph();
  const std::int64_t n = graph.num_cols(), e = graph.num_edges();
  const std::pair<Shape, Shape> shapes[] = {{Shape(n), Shape(e)},
                                            {Shape(n), Shape(e, 5)},
                                            {Shape(n), Shape(e, 3, 5)},
                                            {Shape(n, 5), Shape(e)},
                                            {Shape(n, 5), Shape(e, 1)},
                                            {Shape(n, 5), Shape(e, 5)},
                                            {Shape(n, 1), Shape(e, 5)},
                                            {Shape(n, 5), Shape(e, 3, 1)},
                                            {Shape(n, 5), Shape(e, 3, 5)},
                                            {Shape(n, 3, 5), Shape(e)},
                                            {Shape(n, 3, 5), Shape(e, 5)},
                                            {Shape(n, 3, 5), Shape(e, 3, 1)},
                                            {Shape(n, 3, 1), Shape(e, 5)},
                                            {Shape(n, 3, 5), Shape(e, 1, 5)},
                                            {Shape(n, 1, 5), Shape(e, 3, 1)},
                                            {Shape(n, 3, 1), Shape(e, 3, 5)}};
  Context context = Context::cpu(2);
  for (const auto& [x_shape, e_shape] : shapes) {
    for (const Dtype dtype : floating_dtypes) {
      for (const SpmmOp op : {SpmmOp::u_mul_e, SpmmOp::u_sub_e}) {
        for (const Reduce reduce : {Reduce::sum, Reduce::max}) {
          const Tensor x = random_tensor(x_shape, dtype, 1), edge = random_tensor(e_shape, dtype, 2);
          const SpmmOptions options = with(op, reduce);
          expect_within_bound(spmm(context, graph, x, edge, options), expected_spmm(graph, x, edge, options),
                              fmt::format("x {} edge {} {} {} {}", to_string(x_shape), to_string(e_shape), name(dtype),
                                          name(op), name(reduce)));
        }
      }
    }
  }
}

TEST(spmm, finds_the_same_winners_as_the_reference_where_messages_are_exact) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    SCOPED_TRACE(seed);
    const Graph graph = skewed_graph(40, 9000, seed);  // row 0 is longer than a piece
    for (const Dtype dtype : floating_dtypes) {
      for (const std::int64_t width : {1, 3, 8, 33}) {
        for (const Reduce reduce : {Reduce::max, Reduce::min}) {
          for (const SpmmOp op : {SpmmOp::copy_u, SpmmOp::copy_e, SpmmOp::u_mul_e, SpmmOp::u_add_e}) {
            Tensor x, edge;
            if (uses_node(op)) x = random_integers(Shape(graph.num_cols(), width), dtype, seed + 10);
            if (uses_edge(op)) edge = random_integers(Shape(graph.num_edges(), width), dtype, seed + 20);
            SpmmOptions options = with(op, reduce);
            const SpmmExpected expected = expected_spmm(graph, x, edge, options);
            Tensor arg_u = Tensor::empty(expected.shape, Dtype::i32), arg_e = Tensor::empty(expected.shape, Dtype::i64);
            options.arg_u = arg_u;
            options.arg_e = arg_e;
            Context context = Context::cpu(2);
            const Tensor out = spmm(context, graph, x, edge, options);
            const std::string text = fmt::format("{} {} {} width {}", name(dtype), name(op), name(reduce), width);
            expect_values(out, expected.y, text);
            const auto us = arg_u.span<NodeId>();
            const auto es = arg_e.span<EdgeId>();
            EXPECT_TRUE(std::equal(us.begin(), us.end(), expected.arg_u.begin())) << text;
            EXPECT_TRUE(std::equal(es.begin(), es.end(), expected.arg_e.begin())) << text;
          }
        }
      }
    }
  }
}

TEST(spmm, gives_either_arg_alone) {
  const Graph graph = tangled_graph();
  const Tensor x = random_integers(Shape(graph.num_cols(), 4), Dtype::f32, 3);
  const Tensor edge = random_integers(Shape(graph.num_edges()), Dtype::f32, 4);
  SpmmOptions options = with(SpmmOp::u_mul_e, Reduce::max);
  const SpmmExpected expected = expected_spmm(graph, x, edge, options);
  Context context = Context::cpu(1);
  Tensor arg_u = Tensor::empty(expected.shape, Dtype::i32), arg_e = Tensor::empty(expected.shape, Dtype::i64);
  options.arg_u = arg_u;
  spmm(context, graph, x, edge, options);
  EXPECT_TRUE(std::equal(expected.arg_u.begin(), expected.arg_u.end(), arg_u.span<NodeId>().begin()));
  options.arg_u = {};
  options.arg_e = arg_e;
  spmm(context, graph, x, edge, options);
  EXPECT_TRUE(std::equal(expected.arg_e.begin(), expected.arg_e.end(), arg_e.span<EdgeId>().begin()));
}

TEST(spmm, passes_nan_and_infinity_on) {
  const Graph graph = skewed_graph(30, 6000, 5);
  for (const Dtype dtype : floating_dtypes) {
    for (const double bad : {nan, infinity, -infinity}) {
      for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min}) {
        Tensor x = random_integers(Shape(graph.num_cols(), 5), Dtype::f64, 6);
        for (const std::size_t i : {7u, 61u, 62u, 93u}) x.span<double>()[i] = bad;
        const Tensor stored = x.to(dtype);
        SpmmOptions options = with(SpmmOp::copy_u, reduce);
        const SpmmExpected expected = expected_spmm(graph, stored, {}, options);
        Tensor arg_u = Tensor::empty(expected.shape, Dtype::i32), arg_e = Tensor::empty(expected.shape, Dtype::i64);
        if (reduce == Reduce::max || reduce == Reduce::min) {
          options.arg_u = arg_u;
          options.arg_e = arg_e;
        }
        Context context = Context::cpu(2);
        const Tensor out = spmm(context, graph, stored, {}, options);
        const std::string text = fmt::format("{} {} of {}", name(dtype), name(reduce), bad);
        expect_within_bound(out, expected, text);
        if (options.arg_e) {
          EXPECT_TRUE(std::equal(expected.arg_u.begin(), expected.arg_u.end(), arg_u.span<NodeId>().begin())) << text;
          EXPECT_TRUE(std::equal(expected.arg_e.begin(), expected.arg_e.end(), arg_e.span<EdgeId>().begin())) << text;
        }
      }
    }
  }
}

TEST(spmm, divides_by_zero_as_ieee_does) {
  const Graph graph = Graph::from_csr(3, 1, std::vector<EdgeId>{0, 1, 2, 3}, std::vector<NodeId>{0, 0, 0});
  const Tensor x = tensor_of(Shape(1, 3), {1, -1, 0}), edge = tensor_of(Shape(3), {0.0, -0.0, 2});
  Context context = Context::cpu(1);
  expect_values(spmm(context, graph, x, edge, with(SpmmOp::u_div_e, Reduce::sum)),
                {infinity, -infinity, nan, -infinity, infinity, nan, 0.5, -0.5, 0});
}

TEST(spmm, writes_zero_in_rows_without_edges_for_every_reducer_whatever_stood_there) {
  const Graph graph = tangled_graph();
  const Tensor x = constant(Shape(graph.num_cols(), 9), Dtype::f32, -5);
  for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min}) {
    Context context = Context::cpu(2);
    const Plan plan = make_plan(context, graph, {OpKind::spmm, Dtype::f32, 1, 9, reduce, false});
    context.reserve(plan.workspace_bytes);
    Tensor out = constant(Shape(graph.num_rows(), 9), Dtype::f32, nan);
    spmm(context, plan, graph, x, {}, out, with(SpmmOp::copy_u, reduce));
    for (const std::size_t row : {0u, 4u})
      for (std::size_t f = 0; f < 9; ++f)
        EXPECT_EQ(out.span<float>()[row * 9 + f], 0) << name(reduce) << " row " << row;
  }
}

TEST(spmm, applies_every_mix_of_the_epilogue_before_the_one_rounding) {
  for (const Graph& graph : {tangled_graph(), skewed_graph(50, 5000, 8)}) {
    for (const Dtype dtype : floating_dtypes) {
      for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min}) {
        for (int mix = 0; mix < 32; ++mix) {
          const bool own = (mix & 16) != 0;
          if (own && (is_extremum(reduce) || graph.num_rows() != graph.num_cols())) continue;
          const std::int64_t heads = mix % 3 == 0 ? 2 : 1, width = 11;
          const Dtype scale_dtype = dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
          const Tensor x = random_tensor(Shape(graph.num_cols(), heads, width), dtype, 9);
          const Tensor edge = random_tensor(Shape(graph.num_edges()), dtype, 10);
          const Tensor row_scale = random_tensor(Shape(graph.num_rows()), scale_dtype, 11);
          const Tensor col_scale = random_tensor(Shape(graph.num_cols()), scale_dtype, 12);
          const Tensor bias = random_tensor(Shape(heads * width), floating_dtypes[mix % 4], 13);
          const Tensor self_scale = random_tensor(Shape(graph.num_rows()), scale_dtype, 14);
          SpmmOptions options = with(SpmmOp::u_mul_e, reduce);
          if ((mix & 1) != 0) options.epilogue.row_scale = row_scale;
          if ((mix & 2) != 0) options.epilogue.col_scale = col_scale;
          if ((mix & 4) != 0) options.epilogue.bias = bias;
          options.epilogue.relu = (mix & 8) != 0;
          if (own) options.epilogue.self_scale = self_scale;
          Context context = Context::cpu(2);
          expect_within_bound(spmm(context, graph, x, edge, options), expected_spmm(graph, x, edge, options),
                              fmt::format("{} {} mix {}", name(dtype), name(reduce), mix));
        }
      }
    }
  }
}

TEST(spmm, adds_the_own_rows_of_x_at_every_width_where_rows_are_short_long_and_missing) {
  const Graph graph = skewed_graph(50, 5000, 8), sparse = random_graph(40, 40, 30, 15);
  for (const Graph& over : {graph, sparse}) {
    for (const Dtype dtype : floating_dtypes) {
      for (const std::int64_t width : {1, 2, 3, 8, 16, 33, 64, 100}) {
        const Tensor x = random_tensor(Shape(over.num_cols(), width), dtype, 16);
        const Tensor scale = random_tensor(Shape(over.num_rows()), dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32, 17);
        SpmmOptions options = with(SpmmOp::copy_u, Reduce::sum);
        options.epilogue.self_scale = scale;
        Context context = Context::cpu(2);
        const SpmmExpected expected = expected_spmm(over, x, {}, options);
        expect_within_bound(spmm(context, over, x, {}, options), expected,
                            fmt::format("{} width {}", name(dtype), width));
        if (dtype == Dtype::f64) continue;
        // The same sums kept in float32.
        const Plan plan = make_plan(context, over, {OpKind::spmm, dtype, 1, width, Reduce::sum, false});
        context.reserve(plan.workspace_bytes);
        Tensor wide = constant(Shape(over.num_rows(), width), Dtype::f32, nan);
        spmm(context, plan, over, x, {}, wide, options);
        expect_within_bound(wide, expected, fmt::format("{} in f32, width {}", name(dtype), width));
      }
    }
  }
}

TEST(spmm, scales_sources_in_a_pass_or_along_the_edges_as_the_plan_says) {
  const Graph dense = skewed_graph(50, 5000, 18), sparse = random_graph(40, 60, 100, 19);
  for (const Graph& graph : {dense, sparse}) {
    for (const Dtype dtype : floating_dtypes) {
      const bool wide = dtype == Dtype::f32 || dtype == Dtype::f64;
      for (const SpmmOp op : {SpmmOp::copy_u, SpmmOp::u_mul_e, SpmmOp::u_div_e, SpmmOp::u_add_e}) {
        for (const auto& [heads, width] : {std::pair(1, 1), std::pair(1, 7), std::pair(1, 40), std::pair(3, 5)}) {
          Embedded rows(random_tensor(Shape(graph.num_cols(), heads * width), dtype, 20));
          ConstTensorView x = rows.view();  // with a gap between rows
          if (heads > 1) x.shape = Shape(graph.num_cols(), heads, width);
          const Tensor edge =
              op == SpmmOp::copy_u ? Tensor{} : random_divisors(Shape(graph.num_edges(), heads, 1), dtype, 21);
          const Tensor scale =
              random_tensor(Shape(graph.num_cols()), dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32, 22);
          const ConstTensorView values = edge ? edge.view() : ConstTensorView{};
          const Tensor own = random_tensor(Shape(graph.num_rows()), dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32, 23);
          SpmmOptions options = with(op, Reduce::sum);
          options.epilogue.col_scale = scale;
          if (graph.num_rows() == graph.num_cols()) options.epilogue.self_scale = own;  // of x as it was given
          const SpmmExpected expected = expected_spmm(graph, x, values, options);
          const std::string text =
              fmt::format("{} {} {}x{} over {} edges", name(dtype), name(op), heads, width, graph.num_edges());
          for (const bool known : {false, true}) {
            Context context = Context::cpu(2);
            OpDesc desc{OpKind::spmm, dtype, heads, width, Reduce::sum, op != SpmmOp::copy_u};
            desc.scales_sources = known && op == SpmmOp::copy_u;
            const Plan plan = make_plan(context, graph, desc);
            const bool pays = graph.num_edges() * 8 >= graph.num_cols() * heads * width;
            EXPECT_EQ(plan.cpu().scaled_rows, desc.scales_sources && wide && pays ? graph.num_cols() : 0) << text;
            context.reserve(plan.workspace_bytes);
            Tensor out = constant(expected.shape, dtype, nan);
            spmm(context, plan, graph, x, values, out, options);
            expect_within_bound(out, expected, text);
            // The plan runs calls without a scale, too.
            SpmmOptions plain = with(op, Reduce::sum);
            spmm(context, plan, graph, x, values, out, plain);
            expect_within_bound(out, expected_spmm(graph, x, values, plain), text + ", without a scale");
          }
        }
      }
    }
  }
}

TEST(spmm, keeps_nan_through_relu) {
  const Graph graph = Graph::from_csr(1, 1, std::vector<EdgeId>{0, 1}, std::vector<NodeId>{0});
  const Tensor x = tensor_of(Shape(1, 3), {nan, -1, 2});
  SpmmOptions options = with(SpmmOp::copy_u, Reduce::sum);
  options.epilogue.relu = true;
  Context context = Context::cpu(1);
  expect_values(spmm(context, graph, x, {}, options), {nan, 0, 2});
}

TEST(spmm, results_past_the_range_are_infinite_or_saturate) {
  // Rows of 2 and 70 edges from one source.
  std::vector<NodeId> cols(72, 0);
  const Graph graph = Graph::from_csr(2, 1, std::vector<EdgeId>{0, 2, 72}, cols);
  const double inf = std::numeric_limits<double>::infinity();
  Context context = Context::cpu(1);
  SpmmOptions options = with(SpmmOp::copy_u, Reduce::sum);
  const Tensor f16 = tensor_of(Shape(1, 4), {1000, -1000, nan, 1}, Dtype::f16);
  expect_values(spmm(context, graph, f16, {}, options), {2000, -2000, nan, 2, inf, -inf, nan, 70});
  options.epilogue.saturate = true;
  expect_values(spmm(context, graph, f16, {}, options), {2000, -2000, nan, 2, 65504, -65504, nan, 70});
  // In f32 they fit; what is infinite there becomes the largest float.
  const float most = std::numeric_limits<float>::max();
  const Tensor f32 = tensor_of(Shape(1, 2), {1000, most}, Dtype::f32);
  expect_values(spmm(context, graph, f32, {}, options), {2000, most, 70000, most});
  for (const Dtype dtype : floating_dtypes) {
    const Tensor large = constant(Shape(1, 1), dtype, largest_value(dtype));
    EXPECT_EQ(doubles(large)[0], largest_value(dtype)) << name(dtype);
    options.epilogue.saturate = false;
    expect_values(spmm(context, graph, large, {}, options), {inf, inf});
    options.epilogue.saturate = true;
    expect_values(spmm(context, graph, large, {}, options), {largest_value(dtype), largest_value(dtype)});
  }
}

TEST(spmm, reads_and_writes_slices_of_wider_tensors) {
  const Graph graph = skewed_graph(60, 4000, 14);
  for (const Dtype dtype : floating_dtypes) {
    for (const std::int64_t width : {1, 3, 8, 16, 33, 100}) {
      for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max}) {
        const Tensor x = random_tensor(Shape(graph.num_cols(), width), dtype, 15);
        const Tensor edge = random_tensor(Shape(graph.num_edges(), width), dtype, 16);
        Embedded x_slice(x), edge_slice(edge), out_slice(constant(Shape(graph.num_rows(), width), dtype, 0));
        const SpmmOptions options = with(SpmmOp::u_mul_e, reduce);
        Context context = Context::cpu(2);
        const Plan plan = make_plan(context, graph, {OpKind::spmm, dtype, 1, width, reduce, true});
        context.reserve(plan.workspace_bytes);
        spmm(context, plan, graph, x_slice.view(), edge_slice.view(), out_slice.view(), options);
        const std::string text = fmt::format("{} {} width {}", name(dtype), name(reduce), width);
        expect_within_bound(out_slice.view(), expected_spmm(graph, x, edge, options), text);
        EXPECT_TRUE(out_slice.surroundings_untouched()) << text;
      }
    }
  }
}

TEST(spmm, takes_float32_edge_scalars_and_outputs_with_half_features) {
  const Graph graph = skewed_graph(60, 4000, 20);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    for (const std::int64_t width : {1, 7, 32}) {
      for (const Reduce reduce : {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min}) {
        const Tensor x = random_tensor(Shape(graph.num_cols(), width), dtype, 21);
        const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 22);
        const SpmmOptions options = with(SpmmOp::u_mul_e, reduce);
        const SpmmExpected expected = expected_spmm(graph, x, edge, options);
        const std::string text = fmt::format("{} {} width {}", name(dtype), name(reduce), width);
        Context context = Context::cpu(2);
        expect_within_bound(spmm(context, graph, x, edge, options), expected, text);
        const Plan plan = make_plan(context, graph, {OpKind::spmm, dtype, 1, width, reduce, true});
        context.reserve(plan.workspace_bytes);
        Tensor out = Tensor::empty(expected.shape, Dtype::f32);
        spmm(context, plan, graph, x, edge, out, options);
        expect_within_bound(out, expected, text + " into f32");
      }
    }
  }
}

TEST(spmm, takes_float32_values_of_edges_a_head_with_half_features) {
  const Graph graph = skewed_graph(60, 4000, 23);
  for (const Dtype dtype : {Dtype::f16, Dtype::bf16}) {
    for (const std::int64_t width : {1, 2, 8, 31}) {
      for (const SpmmOp op : {SpmmOp::u_add_e, SpmmOp::u_sub_e, SpmmOp::u_mul_e, SpmmOp::u_div_e}) {
        for (const Reduce reduce : {Reduce::sum, Reduce::max}) {
          const Tensor x = random_tensor(Shape(graph.num_cols(), 3, width), dtype, 24);
          const Tensor edge = random_divisors(Shape(graph.num_edges(), 3, 1), Dtype::f32, 25);
          const SpmmOptions options = with(op, reduce);
          Context context = Context::cpu(2);
          expect_within_bound(spmm(context, graph, x, edge, options), expected_spmm(graph, x, edge, options),
                              fmt::format("{} {} {} width {}", name(dtype), name(op), name(reduce), width));
        }
      }
    }
  }
}

TEST(spmm, leaves_its_inputs_as_they_were) {
  const Graph graph = skewed_graph(60, 4000, 17);
  const Tensor x = random_tensor(Shape(graph.num_cols(), 16), Dtype::f32, 18), x_before = x.clone();
  const Tensor edge = random_tensor(Shape(graph.num_edges()), Dtype::f32, 19), edge_before = edge.clone();
  Context context = Context::cpu(2);
  spmm(context, graph, x, edge);
  EXPECT_TRUE(bitwise_equal(x, x_before));
  EXPECT_TRUE(bitwise_equal(edge, edge_before));
}

TEST(spmm, takes_a_width_of_zero) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(1);
  const Tensor out = spmm(context, graph, Tensor::empty(Shape(graph.num_cols(), 0), Dtype::f32),
                          constant(Shape(graph.num_edges()), Dtype::f32, 1));
  EXPECT_EQ(to_string(out.shape()), "[6, 0]");
}

}  // namespace
}  // namespace weft::test
