// spmm_linear as a benchmark workload: sums and the product behind them in one kernel, beside the two one after the
// other.
#include <fmt/format.h>

#include <cmath>

#include "bench/inputs.hpp"
#include "bench/reference.hpp"
#include "bench/workload.hpp"
#include "core/parallel.hpp"
#include "kernels/signatures.hpp"
#include "weft/dense.hpp"

namespace weft::tool {
namespace {

class SpmmLinearWorkload final : public Workload {
 public:
  SpmmLinearWorkload(Context& context, const Graph& graph, const Setup& setup, bool fuse)
      : context_(context), graph_(graph), setup_(setup), layer_(made(fuse)) {
    const OpDesc& d = setup.desc;
    const std::int64_t in = d.width, out = setup.linear;
    x_ = Input(context, random_tensor(Shape(graph.num_cols(), in), d.dtype, setup.seed, -1, 1, "x"));
    if (d.weighted)
      edge_ = Input(context, random_tensor(Shape(graph.num_edges()), d.dtype, setup.seed + 1, 0.5, 1.5, "edge values"));
    weight_ = Input(context, random_tensor(Shape(in, out), d.dtype, setup.seed + 2, -1, 1, "weights"));
    if (setup.backward) {
      out_grad_ =
          Input(context, random_tensor(Shape(graph.num_rows(), out), d.dtype, setup.seed + 3, -1, 1, "out_grad"));
      weight_grad_ = unwritten_tensor(context, Shape(in, out), d.dtype == Dtype::f64 ? d.dtype : Dtype::f32, "grad");
    }
    out_ = unwritten_tensor(context, setup.backward ? Shape(graph.num_cols(), in) : Shape(graph.num_rows(), out),
                            d.dtype, "out");
  }

  void run() override {
    if (setup_.backward)
      layer_.backward(x_.there(), edge_.there(), weight_.there(), out_grad_.there(), {out_, weight_grad_});
    else
      layer_(x_.there(), edge_.there(), weight_.there(), out_);
  }
  Graph reduced_over(const Graph& graph) const override { return setup_.backward ? graph.transpose() : graph; }

  /// Of x's gradient where it goes back: the sums of out_grad over the transpose, times the weights transposed.
  Reference reference(const Sample& sample) const override {
    const OpDesc& d = setup_.desc;
    const bool back = setup_.backward;
    const std::int64_t k = back ? setup_.linear : d.width, n = back ? d.width : setup_.linear;
    Tensor keep;
    Reference sums = by_row_reference(sample, k);
    SpmmArgs args;
    args.graph = sample.view();
    args.op = d.weighted ? SpmmOp::u_mul_e : SpmmOp::copy_u;
    args.reduce = d.reduce;
    args.width = k;
    args.x = operand(back ? out_grad_.host() : x_.host());
    if (edge_) args.edge = operand(sample.by_edge(edge_.host(), keep));
    args.out = {sums.values.view().mutable_data(), Dtype::f64, k};
    reference_spmm(args, sums.absolute.span<double>().data());
    const Tensor wide = weight_.host().to(Dtype::f64);
    const std::span<const double> weight = wide.span<double>();
    const auto at = [&](std::int64_t i, std::int64_t j) {
      return weight[static_cast<std::size_t>(back ? j * k + i : i * n + j)];
    };
    Reference expected = by_row_reference(sample, n);
    parallel_ranges(default_threads(), sample.num_rows(), 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        for (std::int64_t j = 0; j < n; ++j) {
          double value = 0, absolute = 0;
          for (std::int64_t i = 0; i < k; ++i) {
            const auto from = static_cast<std::size_t>(row * k + i);
            value += sums.values.span<double>()[from] * at(i, j);
            absolute += sums.absolute.span<double>()[from] * std::fabs(at(i, j));
          }
          expected.values.span<double>()[static_cast<std::size_t>(row * n + j)] = value;
          expected.absolute.span<double>()[static_cast<std::size_t>(row * n + j)] = absolute;
        }
    });
    // The rows are rounded to the storage type on their way into the product.
    expected.terms = [&sample, k](std::int64_t i) { return k * std::max<std::int64_t>(sample.degree(i), 1); };
    expected.factor = [terms = expected.terms, dtype = d.dtype](std::int64_t i) {
      return sum_factor(terms(i)) + storage_factor(dtype, 1);
    };
    return expected;
  }

  Tensor& result() override { return out_; }
  Workload* yardstick() override {
    if (!two_) two_ = std::make_unique<SpmmLinearWorkload>(context_, graph_, setup_, false);
    return two_.get();
  }
  /// Of the reference, whose product counts for more than its sums.
  std::int64_t features_an_edge() const override {
    return setup_.desc.width * std::max<std::int64_t>(setup_.linear / 8, 1);
  }
  double flops() const override {
    const auto in = static_cast<double>(setup_.desc.width), out = static_cast<double>(setup_.linear);
    const auto rows = static_cast<double>(graph_.num_rows()), edges = static_cast<double>(graph_.num_edges());
    const double sums = edges * (setup_.backward ? out : in) * (setup_.desc.weighted ? 2 : 1);
    return sums + 2 * rows * in * out * (setup_.backward ? 2 : 1);
  }
  FloorJob floor() const override {
    FloorJob job;
    const auto element = static_cast<std::int64_t>(size_of(setup_.desc.dtype));
    if (setup_.backward) {
      job.graph = reversed_.view();
      job.gathered.push_back({out_grad_.data(), setup_.linear * element});
      job.streamed.push_back({x_.data(), x_.bytes()});
    } else {
      job.graph = graph_.view();
      job.gathered.push_back({x_.data(), setup_.desc.width * element});
    }
    job.written_bytes = out_.bytes();
    return job;
  }
  std::string plan_text() const override {
    const bool fused = setup_.backward ? layer_.fused_backward() : layer_.fused();
    return fmt::format("{}; by itself it {}", fused ? "one kernel" : "two kernels",
                       fuses_by_itself_ ? "fuses" : "does not");
  }

 private:
  /// And whether it would fuse without being told.
  SpmmLinear made(bool fuse) {
    const OpDesc& d = setup_.desc;
    SpmmLinearDesc desc{d.dtype, d.width, setup_.linear, d.reduce, d.weighted, setup_.backward, {}};
    const SpmmLinear by_itself(context_, graph_, desc);
    fuses_by_itself_ = setup_.backward ? by_itself.fused_backward() : by_itself.fused();
    if (setup_.backward) reversed_ = graph_.transpose();
    desc.fuse = fuse;
    return SpmmLinear(context_, graph_, desc);
  }

  Context& context_;
  const Graph& graph_;
  Setup setup_;
  Graph reversed_;  // where it goes back
  bool fuses_by_itself_ = false;
  SpmmLinear layer_;
  Input x_, edge_, weight_, out_grad_;
  Tensor out_, weight_grad_;
  std::unique_ptr<SpmmLinearWorkload> two_;
};

}  // namespace

std::unique_ptr<Workload> make_spmm_linear_workload(Context& context, const Graph& graph, const Setup& setup) {
  return std::make_unique<SpmmLinearWorkload>(context, graph, setup, true);
}

}  // namespace weft::tool
