// The gradients of attention as a benchmark workload: the forward runs once, before anything is timed. What is verified
// is the gradient of value, whose rows are sums over the transpose.
#include <algorithm>
#include <cmath>

#include "bench/attention_operands.hpp"
#include "bench/reference.hpp"
#include "core/dispatch.hpp"
#include "core/parallel.hpp"
#include "kernels/signatures.hpp"

namespace weft::tool {
namespace {

class AttentionBackwardWorkload final : public Workload {
 public:
  AttentionBackwardWorkload(Context& context, const Graph& graph, const Setup& setup)
      : context_(context), graph_(graph), reversed_(graph.transpose()), setup_(setup), in_(context, graph, setup) {
    const OpDesc& d = setup.desc;
    out_grad_ = Input(
        context, random_tensor(Shape(graph.num_rows(), d.heads, d.width), d.dtype, setup.seed + 4, -1, 1, "out_grad"));
    const auto gradient_of = [&](const Input& input, const char* what) {
      return input ? unwritten_tensor(context, input.host().shape(), d.dtype, what) : Tensor();
    };
    value_grad_ = gradient_of(in_.value, "the gradient of value");
    src_grad_ = gradient_of(in_.src, "the gradient of src");
    dst_grad_ = gradient_of(in_.dst, "the gradient of dst");
    attn_grad_ = gradient_of(in_.attn, "the gradient of attn");
    forward_ = attention(context, graph, in_.inputs);
    make_plan_for(context, graph, setup);
  }

  void run() override {
    attention_backward(context_, backward_, graph_, in_.inputs, forward_, out_grad_.there(),
                       {value_grad_, src_grad_, dst_grad_, attn_grad_, {}});
  }

  Graph reduced_over(const Graph& graph) const override { return graph.transpose(); }

  Reference reference(const Sample& sample) const override {
    const OpDesc& d = setup_.desc;
    const std::int64_t row_size = d.heads * d.width;
    const Tensor weights = weights_of(sample);
    SpmmArgs args;
    args.graph = sample.view();
    args.heads = d.heads;
    args.width = d.width;
    args.x = operand(out_grad_.host());
    args.edge = operand(weights);
    Reference expected = by_row_reference(sample, row_size);
    args.out = {expected.values.view().mutable_data(), Dtype::f64, row_size};
    reference_spmm(args, expected.absolute.span<double>().data());
    expected.factor = [&sample, more = in_.weight_factor()](std::int64_t i) {
      return sum_factor(sample.degree(i)) + more;
    };
    return expected;
  }

  Tensor& result() override { return value_grad_; }
  Workload* yardstick() override {
    if (!spmm_) spmm_ = spmm_beside(context_, graph_, setup_);
    return spmm_.get();
  }
  std::int64_t features_an_edge() const override { return setup_.desc.heads * (setup_.desc.width + in_.score_width); }
  // The weights again, value's gradient, the products of out_grad and value, the softmax's backward, and what a score's
  // gradient is multiplied with and added up to for src and dst (and attn).
  double flops() const override {
    const auto& d = setup_.desc;
    const double sums = setup_.score == Score::gat ? 2 : setup_.score == Score::dot ? 4 : 9;
    return static_cast<double>(graph_.num_edges()) * static_cast<double>(d.heads) *
           (4 * static_cast<double>(d.width) + in_.weight_flops() + 4 + sums * static_cast<double>(in_.score_width));
  }
  // The statistics of a destination could lie beside its part of the score: gathering them by themselves is no floor.
  FloorJob floor() const override {
    FloorJob job;
    job.graph = reversed_.view();
    const auto element = static_cast<std::int64_t>(size_of(setup_.desc.dtype));
    job.gathered.push_back({out_grad_.data(), out_grad_.host().shape().row_size() * element});
    job.gathered.push_back({in_.dst.data(), in_.dst.host().shape().row_size() * element});
    job.streamed.push_back({in_.value.data(), in_.value.bytes()});
    job.streamed.push_back({in_.src.data(), in_.src.bytes()});
    job.streamed.push_back({forward_.out.view().data, static_cast<std::int64_t>(forward_.out.bytes())});
    job.written_bytes = value_grad_.bytes() + src_grad_.bytes() + dst_grad_.bytes();
    return job;
  }

 private:
  std::optional<Plan> planned(Context& context, const Graph& graph, const Setup& setup) override {
    backward_ = plan_attention_backward(context, graph, in_.inputs, setup.policy);
    return backward_.at_once ? std::optional<Plan>(backward_.gather) : std::nullopt;
  }
  std::size_t workspace_bytes() const override { return backward_.workspace_bytes; }

  /// Of the sample's edges, in float64 from the scores and the statistics that the forward wrote.
  Tensor weights_of(const Sample& sample) const {
    const GraphView view = sample.view();  // rows are sources
    const std::int64_t heads = setup_.desc.heads;
    const Tensor top = forward_.row_max.to(Device{}, context_.stream()).to(Dtype::f64),
                 sum = forward_.row_sum.to(Device{}, context_.stream()).to(Dtype::f64);
    Tensor weights = Tensor::empty(Shape(view.num_edges, heads, 1), Dtype::f64, "the reference's weights");
    double* const to = weights.span<double>().data();
    with_floating(setup_.desc.dtype, "src", [&](auto tag) {
      using T = typename decltype(tag)::type;
      parallel_ranges(default_threads(), view.num_rows, 64, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          for (EdgeId k = view.offsets[i]; k < view.offsets[i + 1]; ++k)
            for (std::int64_t h = 0; h < heads; ++h) {
              const std::int64_t v = view.cols[k] * heads + h;
              const auto at = static_cast<std::size_t>(v);
              to[view.edge_id(k) * heads + h] =
                  std::exp(score<T>(sample.row(i) * heads + h, v, h) - top.span<double>()[at]) / sum.span<double>()[at];
            }
      });
    });
    return weights;
  }

  /// By rows of one head each.
  template <class T>
  double score(std::int64_t source, std::int64_t destination, std::int64_t head) const {
    const std::int64_t width = in_.score_width;
    const T* const u = in_.src.host().span<T>().data() + source * width;
    const T* const v = in_.dst.host().span<T>().data() + destination * width;
    const T* const attn = in_.attn ? in_.attn.host().span<T>().data() + head * width : nullptr;
    const double slope = in_.inputs.slope;
    double sum = 0;
    for (std::int64_t i = 0; i < width; ++i) {
      const double a = convert<double>(u[i]), b = convert<double>(v[i]), z = a + b;
      const double leaky = z > 0 ? z : z * slope;
      sum += setup_.score == Score::dot ? a * b : attn != nullptr ? convert<double>(attn[i]) * leaky : leaky;
    }
    return setup_.score == Score::dot ? sum * in_.inputs.scale : sum;
  }

  Context& context_;
  const Graph& graph_;
  Graph reversed_;
  Setup setup_;
  AttentionOperands in_;
  Input out_grad_;
  AttentionResult forward_;
  AttentionBackwardPlan backward_;
  Tensor value_grad_, src_grad_, dst_grad_, attn_grad_;
  std::unique_ptr<Workload> spmm_;
};

}  // namespace

std::unique_ptr<Workload> make_attention_backward_workload(Context& context, const Graph& graph, const Setup& setup) {
  return std::make_unique<AttentionBackwardWorkload>(context, graph, setup);
}

}  // namespace weft::tool
