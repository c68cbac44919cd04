#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plan/partition.hpp"
#include "plan/plan_view.hpp"
#include "support/bad_views.hpp"
#include "support/errors.hpp"
#include "support/gradients.hpp"
#include "support/hand_outs.hpp"
#include "support/oracle.hpp"
#include "support/segments.hpp"
#include "support/small_graphs.hpp"

namespace weft::test {
namespace {

constexpr Reduce reducers[] = {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min};

TEST(segment_reduce, agrees_with_the_reference_for_every_reducer_dtype_and_shape) {
  Context context = Context::cpu(2);
  for (const std::vector<EdgeId>& offsets : segmentations) {
    const Graph graph = as_graph(offsets);
    for (const Dtype dtype : floating_dtypes) {
      for (const Reduce reduce : reducers) {
        for (const Shape& shape : {Shape(offsets.back()), Shape(offsets.back(), 1), Shape(offsets.back(), 7),
                                   Shape(offsets.back(), 33), Shape(offsets.back(), 3, 4)}) {
          const Tensor x = random_tensor(shape, dtype, 101);
          SpmmOptions options;
          options.op = SpmmOp::copy_u;
          options.reduce = reduce;
          const Tensor out = segment_reduce(context, offsets, x, reduce);
          EXPECT_EQ(out.dtype(), dtype);
          expect_within_bound(
              out, expected_spmm(graph, x, {}, options),
              fmt::format("{} segments of {} {} {}", offsets.size() - 1, to_string(shape), name(dtype), name(reduce)));
        }
      }
    }
  }
}

TEST(segment_reduce, works_out_by_hand) {
  Context context = Context::cpu(1);
  const std::vector<EdgeId> offsets{0, 2, 2, 5};
  const Tensor x = tensor_of(Shape(5, 2), {1, -1, 3, -5, 2, 2, 4, 0, 9, 1});
  expect_values(segment_reduce(context, offsets, x, Reduce::sum), {4, -6, 0, 0, 15, 3});
  expect_values(segment_reduce(context, offsets, x, Reduce::mean), {2, -3, 0, 0, 5, 1});
  expect_values(segment_reduce(context, offsets, x, Reduce::max), {3, -1, 0, 0, 9, 2});
  expect_values(segment_reduce(context, offsets, x, Reduce::min), {1, -5, 0, 0, 2, 0});
}

TEST(segment_reduce, is_bitwise_the_same_for_any_number_of_threads) {
  const std::vector<EdgeId> offsets{0, 5, 5005, 5010, 20000};
  for (const Dtype dtype : floating_dtypes) {
    const Tensor x = random_tensor(Shape(20000, 13), dtype, 102);
    for (const Reduce reduce : reducers) {
      Context one = Context::cpu(1);
      const Tensor first = segment_reduce(one, offsets, x, reduce);
      for (const int threads : {2, 3, 5}) {
        Context context = Context::cpu(threads);
        EXPECT_TRUE(bitwise_equal(first, segment_reduce(context, offsets, x, reduce)))
            << name(dtype) << " " << name(reduce) << " " << threads << " threads";
      }
    }
  }
}

TEST(segment_reduce, takes_offsets_in_a_tensor_as_it_takes_a_span) {
  Context context = Context::cpu(2);
  const std::vector<EdgeId> offsets{0, 5, 5005, 5005, 5010};
  const ConstTensorView tensor(std::span<const EdgeId>(offsets), Shape(5));
  const Tensor x = random_tensor(Shape(5010, 3), Dtype::f32, 185),
               out_grad = random_tensor(Shape(4, 3), Dtype::f32, 186);
  for (const Reduce reduce : reducers) {
    EXPECT_TRUE(bitwise_equal(segment_reduce(context, tensor, x, reduce), segment_reduce(context, offsets, x, reduce)));
    EXPECT_TRUE(bitwise_equal(segment_reduce_backward(context, tensor, x, out_grad, reduce),
                              segment_reduce_backward(context, offsets, x, out_grad, reduce)));
  }
}

TEST(segment_reduce, writes_into_memory_of_the_callers_with_rows_apart) {
  Context context = Context::cpu(2);
  const std::vector<EdgeId> offsets{0, 5, 5005, 5005, 5010};
  const ConstTensorView tensor(std::span<const EdgeId>(offsets), Shape(5));
  for (const Dtype dtype : {Dtype::f32, Dtype::f16}) {
    const Tensor x = random_tensor(Shape(5010, 3), dtype, 191), out_grad = random_tensor(Shape(4, 3), dtype, 192);
    Tensor out = constant(Shape(4, 8), dtype, 77), grad = constant(Shape(5010, 8), dtype, 77);
    for (const Reduce reduce : reducers) {
      segment_reduce(context, tensor, x, reduce, columns(out.view(), 2, 3));
      segment_reduce_backward(context, tensor, x, out_grad, reduce, columns(grad.view(), 2, 3));
      const std::vector<double> sums = doubles(out), gradients = doubles(grad);
      const std::vector<double> want = doubles(segment_reduce(context, tensor, x, reduce)),
                                want_grad = doubles(segment_reduce_backward(context, tensor, x, out_grad, reduce));
      for (std::size_t row = 0; row < 5010; ++row)
        for (std::size_t i = 0; i < 8; ++i) {
          const bool inside = i >= 2 && i < 5;
          ASSERT_EQ(gradients[row * 8 + i], inside ? want_grad[row * 3 + i - 2] : 77) << name(reduce);
          if (row < 4) {
            ASSERT_EQ(sums[row * 8 + i], inside ? want[row * 3 + i - 2] : 77) << name(reduce);
          }
        }
    }
  }
}

TEST(segment_reduce, names_the_memory_that_results_do_not_fit_in) {
  Context context = Context::cpu(1);
  const std::vector<EdgeId> offsets{0, 2, 2, 5};
  const ConstTensorView good(std::span<const EdgeId>(offsets), Shape(4));
  Tensor x = random_tensor(Shape(5, 2), Dtype::f32, 193);
  const Tensor out_grad = random_tensor(Shape(3, 2), Dtype::f32, 194);
  Tensor out = constant(Shape(3, 2), Dtype::f32, 0), grad = constant(Shape(5, 2), Dtype::f32, 0);
  EXPECT_NO_THROW(segment_reduce(context, good, x, Reduce::sum, out));
  EXPECT_NO_THROW(segment_reduce_backward(context, good, x, out_grad, Reduce::sum, grad));
  for (const TensorView& bad : {TensorView(), without_memory(out.view()), as_shape(out.view(), Shape(2, 2)),
                                as_dtype(out.view(), Dtype::f64), on_cuda(out.view())})
    expect_refused([&] { segment_reduce(context, good, x, Reduce::sum, bad); }, "into");
  for (const TensorView& bad : {TensorView(), as_shape(grad.view(), Shape(4, 2)), x.view()})
    expect_refused([&] { segment_reduce_backward(context, good, x, out_grad, Reduce::sum, bad); }, "into");
}

TEST(segment_reduce, names_the_offsets_that_are_none) {
  Context context = Context::cpu(1);
  const std::vector<EdgeId> offsets{0, 2, 2, 5};
  const std::vector<NodeId> narrow{0, 2, 2, 5};
  const ConstTensorView good(std::span<const EdgeId>(offsets), Shape(4));
  const Tensor x = random_tensor(Shape(5, 2), Dtype::f32, 187), grad = random_tensor(Shape(3, 2), Dtype::f32, 188);
  ConstTensorView padded = good;
  padded.ld = 2;
  const ConstTensorView bad[] = {{},
                                 {std::span<const NodeId>(narrow), Shape(4)},
                                 {std::span<const EdgeId>(offsets), Shape(2, 2)},
                                 {std::span<const EdgeId>(offsets), Shape(0)},
                                 padded,
                                 without_memory(good),
                                 on_cuda(good)};
  for (const ConstTensorView& view : bad) {
    expect_refused([&] { segment_reduce(context, view, x, Reduce::sum); }, "offsets");
    expect_refused([&] { segment_reduce_backward(context, view, x, grad, Reduce::sum); }, "offsets");
  }
}

TEST(segment_reduce_backward, agrees_with_differences) {
  Context context = Context::cpu(2);
  const std::vector<EdgeId> offsets{0, 3, 3, 4, 11, 11};
  for (const Reduce reduce : reducers) {
    for (const Shape& shape : {Shape(11), Shape(11, 3), Shape(11, 2, 3)}) {
      Tensor x = random_tensor(shape, Dtype::f64, 103);
      const Tensor out_grad = random_tensor(segment_reduce(context, offsets, x, reduce).shape(), Dtype::f64, 104);
      const Tensor gradient = segment_reduce_backward(context, offsets, x, out_grad, reduce);
      const auto loss = [&] { return weighted_sum(segment_reduce(context, offsets, x, reduce), out_grad); };
      expect_gradient(x, gradient, loss, fmt::format("{} {}", name(reduce), to_string(shape)));
    }
  }
}

TEST(segment_reduce_backward, sends_the_gradient_of_a_tie_to_the_first) {
  Context context = Context::cpu(1);
  const std::vector<EdgeId> offsets{0, 3};
  const Tensor x = constant(Shape(3), Dtype::f32, 4), out_grad = constant(Shape(1), Dtype::f32, 7);
  expect_values(segment_reduce_backward(context, offsets, x, out_grad, Reduce::max), {7, 0, 0});
  expect_values(segment_reduce_backward(context, offsets, x, out_grad, Reduce::min), {7, 0, 0});
}

/// Entry by entry: a share of its segment's gradient, or all of it where the entry is the segment's first extremum.
std::vector<double> expected_backward(const std::vector<EdgeId>& offsets, const Tensor& x, const Tensor& out_grad,
                                      Reduce reduce) {
  const auto row = static_cast<std::size_t>(x.shape().row_size());
  const std::vector<double> in = doubles(x), dy = doubles(out_grad);
  std::vector<double> dx(in.size(), 0.0);
  for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
    const auto first = static_cast<std::size_t>(offsets[s]), last = static_cast<std::size_t>(offsets[s + 1]);
    for (std::size_t i = 0; i < row; ++i) {
      std::size_t winner = first;
      for (std::size_t k = first; k < last; ++k) {
        const double value = in[k * row + i], best = in[winner * row + i];
        if (reduce == Reduce::max ? value > best : value < best) winner = k;
        if (reduce == Reduce::sum) dx[k * row + i] = dy[s * row + i];
        if (reduce == Reduce::mean)
          dx[k * row + i] = rounded_to(x.dtype(), dy[s * row + i] / static_cast<double>(last - first));
      }
      if (first < last && (reduce == Reduce::max || reduce == Reduce::min)) dx[winner * row + i] = dy[s * row + i];
    }
  }
  return dx;
}

TEST(segment_reduce_backward, equals_plain_loops_for_any_number_of_threads) {
  for (const std::vector<EdgeId>& offsets : segmentations)
    for (const Dtype dtype : floating_dtypes)
      for (const Shape& shape : {Shape(offsets.back()), Shape(offsets.back(), 7), Shape(offsets.back(), 3, 4)}) {
        const auto segments = static_cast<std::int64_t>(offsets.size()) - 1;
        const Shape by_segment(segments, shape.heads, shape.width);
        const Tensor x = random_integers(shape, dtype, 181);  // full of ties
        const Tensor out_grad = random_integers(by_segment, dtype, 182, 1, 9);
        for (const Reduce reduce : reducers)
          for (const int threads : {1, 2, 3, 5}) {
            Context context = Context::cpu(threads);
            const Tensor dx = segment_reduce_backward(context, offsets, x, out_grad, reduce);
            EXPECT_EQ(to_string(dx.shape()), to_string(shape));
            expect_values(dx, expected_backward(offsets, x, out_grad, reduce),
                          fmt::format("{} segments of {} {} {}, {} threads", segments, to_string(shape), name(dtype),
                                      name(reduce), threads));
          }
      }
}

/// The plan cuts the segment evenly, and the call hands out the plan's tasks: not one a segment, of which there are
/// three. Max and min run the forward first, which hands them out as well.
TEST(segment_reduce_backward, a_segment_of_everything_is_shared_by_all_threads) {
  constexpr std::int64_t entries = 100'000, width = 16;
  const Graph star = hub_graph(entries);
  const Tensor x = random_tensor(Shape(entries, width), Dtype::f32, 183);
  const Tensor out_grad = random_tensor(Shape(3, width), Dtype::f32, 184);
  for (const Reduce reduce : reducers)
    for (const int threads : {2, 4, 8}) {
      SCOPED_TRACE(fmt::format("{}, {} threads", name(reduce), threads));
      Context context = Context::cpu(threads);
      const OpDesc desc{OpKind::segment, Dtype::f32, 1, width, reduce, true};
      const Plan plan = chosen(explain_view(context, star.view(), 0, desc));
      ASSERT_GE(plan.tasks, threads);
      ASSERT_GT(plan.tasks, star.num_rows());
      for (std::int64_t task = 0; task < plan.tasks; ++task)
        EXPECT_LE(edges_of(plan, star.view(), task), entries / threads + 2 * piece_edges)
            << "task " << task << " of " << plan.tasks;
      HandOuts seen;
      segment_reduce(context, star.offsets(), x, reduce);
      const std::int64_t forward = seen.of(threads, plan.tasks);
      EXPECT_GE(forward, 1);
      segment_reduce_backward(context, star.offsets(), x, out_grad, reduce);
      const bool extremum = reduce == Reduce::max || reduce == Reduce::min;
      EXPECT_EQ(seen.of(threads, plan.tasks) - forward, extremum ? forward + 1 : 1);
    }
}

TEST(spmv, sums_edge_times_x_or_x_alone) {
  const Graph graph = tangled_graph();
  Context context = Context::cpu(2);
  for (const Dtype dtype : floating_dtypes) {
    const Tensor x = random_tensor(Shape(graph.num_cols()), dtype, 105);
    const Tensor edge = random_tensor(Shape(graph.num_edges()), dtype, 106);
    SpmmOptions options;
    const Tensor weighted = spmv(context, graph, x, edge);
    EXPECT_EQ(to_string(weighted.shape()), "[6]");
    expect_within_bound(weighted, expected_spmm(graph, x, edge, options), "with edge values");
    options.op = SpmmOp::copy_u;
    expect_within_bound(spmv(context, graph, x), expected_spmm(graph, x, {}, options), "without");
  }
}

TEST(spmv, agrees_with_the_reference_on_skewed_graphs_planned_and_not) {
  for (const std::uint64_t seed : {107, 108, 109}) {
    SCOPED_TRACE(seed);
    const Graph graph = skewed_graph(500, 20000, seed);
    for (const Dtype dtype : floating_dtypes) {
      const Tensor x = random_tensor(Shape(500), dtype, seed), edge = random_tensor(Shape(20000), dtype, seed + 1);
      const Expected expected = expected_spmm(graph, x, edge, {});
      for (const char* policy : {"", "tasks=1", "tasks=17", "schedule=rows,tasks=5"}) {
        Context context = Context::cpu(2);
        const Plan plan =
            make_plan(context, graph, {OpKind::spmv, dtype, 1, 1, Reduce::sum, true}, parse_policy(policy));
        context.reserve(plan.workspace_bytes);
        Tensor out = constant(Shape(500), dtype, std::nan(""));
        spmv(context, plan, graph, x, edge, out);
        expect_within_bound(out, expected, fmt::format("{} {}", name(dtype), policy));
        EXPECT_TRUE(bitwise_equal(out, spmv(context, graph, x, edge))) << name(dtype) << " " << policy;
      }
    }
  }
}

}  // namespace
}  // namespace weft::test
