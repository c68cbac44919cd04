// The gradients of attention as a benchmark workload: the forward runs once, before anything is timed. What is verified
// is the gradient of value, whose rows are sums over the transpose.
#include <cmath>
#include <span>
#include <vector>

#include "bench/attention_operands.hpp"
#include "bench/reference.hpp"
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
    expected.factor = in_.row_factor(sample);
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
    Tensor weights = Tensor::empty(Shape(view.num_edges, heads, 1), Dtype::f64, "the reference's weights");
    const std::span<double> to = weights.span<double>();
    // Exponentials of the scores first: statistics of 0 and 1 change nothing.
    Tensor keep;
    std::vector<double> zeros(static_cast<std::size_t>(view.num_rows * heads), 0.0), ones(zeros.size(), 1.0);
    AttentionEdgeArgs args;
    args.forward = in_.reference_args(view, operand(in_.dst.host()), operand(sample.by_row(in_.src.host(), keep)));
    args.forward.row_max = {zeros.data(), Dtype::f64, heads};
    args.forward.row_sum = {ones.data(), Dtype::f64, heads};
    args.alpha = {to.data(), Dtype::f64, heads};
    reference::attention_edges(args);
    const Tensor top = forward_.row_max.to(Device{}, context_.stream()).to(Dtype::f64),
                 sum = forward_.row_sum.to(Device{}, context_.stream()).to(Dtype::f64);
    for (EdgeId k = 0; k < view.num_edges; ++k)
      for (std::int64_t h = 0; h < heads; ++h) {
        const auto v = static_cast<std::size_t>(view.cols[k] * heads + h);
        to[static_cast<std::size_t>(view.edge_id(k) * heads + h)] *=
            std::exp(-top.span<double>()[v]) / sum.span<double>()[v];
      }
    return weights;
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
