// Segments on a GPU: sums against the float64 reference, gradients equal to the CPU's.
#include <fmt/format.h>

#include "cuda/gpu.hpp"
#include "support/errors.hpp"
#include "support/oracle.hpp"
#include "support/segments.hpp"

namespace weft::test {
namespace {

class cuda_segment : public GpuTest {};

constexpr Reduce reducers[] = {Reduce::sum, Reduce::mean, Reduce::max, Reduce::min};

Tensor offsets_on_gpu(const std::vector<EdgeId>& offsets) {
  Tensor host = Tensor::empty(Shape(static_cast<std::int64_t>(offsets.size())), Dtype::i64);
  std::ranges::copy(offsets, host.span<EdgeId>().begin());
  return host.to(gpu);
}

TEST_F(cuda_segment, agrees_with_the_reference_for_every_reducer_and_shape) {
  Context context = Context::cuda();
  for (const std::vector<EdgeId>& offsets : segmentations) {
    const Graph graph = as_graph(offsets);
    const Tensor there = offsets_on_gpu(offsets);
    for (const Dtype dtype : floating_dtypes) {
      for (const Reduce reduce : reducers) {
        for (const Shape& shape : {Shape(offsets.back()), Shape(offsets.back(), 7), Shape(offsets.back(), 33),
                                   Shape(offsets.back(), 64), Shape(offsets.back(), 3, 4)}) {
          const std::string text =
              fmt::format("{} segments of {} {} {}", offsets.size() - 1, to_string(shape), name(dtype), name(reduce));
          SCOPED_TRACE(text);
          const Tensor x = random_tensor(shape, dtype, 101), x_there = x.to(gpu);
          SpmmOptions options;
          options.op = SpmmOp::copy_u;
          options.reduce = reduce;
          const Tensor out = segment_reduce(context, there, x_there, reduce).to(Device{});
          expect_within_bound(out, expected_spmm(graph, x, {}, options), text);
          EXPECT_TRUE(bitwise_equal(segment_reduce(context, offsets, x_there, reduce).to(Device{}), out))
              << "offsets on the host";
          EXPECT_TRUE(
              bitwise_equal(segment_reduce(context, there, x_there, reduce, Validate::trusted).to(Device{}), out))
              << "trusted offsets";
        }
      }
    }
  }
}

TEST_F(cuda_segment, has_the_cpus_gradients_ties_included) {
  Context context = Context::cuda(), cpu = Context::cpu(2);
  for (const std::vector<EdgeId>& offsets : segmentations) {
    const Tensor there = offsets_on_gpu(offsets);
    const auto segments = static_cast<std::int64_t>(offsets.size()) - 1;
    for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
      for (const Shape& shape : {Shape(offsets.back()), Shape(offsets.back(), 7), Shape(offsets.back(), 3, 4)}) {
        const Tensor x = random_integers(shape, dtype, 181);  // full of ties
        const Tensor out_grad = random_tensor(Shape(segments, shape.heads, shape.width), dtype, 182, 1, 9);
        for (const Reduce reduce : reducers) {
          const Tensor dx = segment_reduce_backward(context, there, x.to(gpu), out_grad.to(gpu), reduce).to(Device{});
          EXPECT_TRUE(bitwise_equal(dx, segment_reduce_backward(cpu, offsets, x, out_grad, reduce)))
              << segments << " segments of " << to_string(shape) << " " << name(dtype) << " " << name(reduce);
        }
      }
    }
  }
}

TEST_F(cuda_segment, refuses_offsets_in_the_hosts_words) {
  Context context = Context::cuda();
  const Tensor x = Tensor::zeros(Shape(5, 2), Dtype::f32, "x", gpu);
  for (const std::vector<EdgeId>& offsets :
       std::vector<std::vector<EdgeId>>{{1, 2, 5}, {-1, 5}, {0, 3, 2, 5}, {0, 4, 4, 3, 5}, {0, 2, 4}, {0, 2, 6}, {0}}) {
    const std::string host = refusal_of([&] { segment_reduce(context, offsets, x, Reduce::sum); });
    EXPECT_NE(host, "no refusal");
    EXPECT_EQ(refusal_of([&] { segment_reduce(context, offsets_on_gpu(offsets), x, Reduce::sum); }), host);
  }
  expect_refused([&] { segment_reduce(context, x.view(), x, Reduce::sum); }, "offsets");
  const Tensor on_host = Tensor::zeros(Shape(2), Dtype::i64);
  expect_refused([&] { segment_reduce(context, on_host.view(), x, Reduce::sum); }, "offsets");
  expect_refused([&] { segment_reduce(context, offsets_on_gpu({0}), x, Reduce::sum, Validate::trusted); }, "x");
}

}  // namespace
}  // namespace weft::test
