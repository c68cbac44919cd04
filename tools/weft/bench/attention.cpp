// Fused attention (GAT, GATv2, dot product) as a benchmark workload.
#include "bench/attention_operands.hpp"
#include "bench/reference.hpp"
#include "kernels/signatures.hpp"

namespace weft::tool {
namespace {

class AttentionWorkload final : public Workload {
 public:
  AttentionWorkload(Context& context, const Graph& graph, const Setup& setup)
      : context_(context), graph_(graph), setup_(setup), in_(context, graph, setup) {
    const OpDesc& d = setup.desc;
    const Dtype statistics = d.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    out_ = unwritten_tensor(context, Shape(graph.num_rows(), d.heads, d.width), d.dtype, "out");
    row_max_ = unwritten_tensor(context, Shape(graph.num_rows(), d.heads, 1), statistics, "row_max");
    row_sum_ = unwritten_tensor(context, Shape(graph.num_rows(), d.heads, 1), statistics, "row_sum");
    if (setup.sampled) in_.inputs.sample = setup.sampled->sample;
    make_plan_for(context, graph, setup);
  }

  void run() override {
    attention(context_, *plan(), setup_.sampled ? *setup_.sampled->whole : graph_, in_.inputs, out_, row_max_,
              row_sum_);
  }

  Reference reference(const Sample& sample) const override {
    const OpDesc& d = setup_.desc;
    Tensor keep;
    AttentionArgs args =
        in_.reference_args(sample.view(), operand(in_.src.host()), operand(sample.by_row(in_.dst.host(), keep)));
    args.value = operand(in_.value.host());
    const std::int64_t row_size = d.heads * d.width, rows = sample.num_rows();
    Reference expected = by_row_reference(sample, row_size);
    Tensor row_max = Tensor::zeros(Shape(rows, d.heads), Dtype::f64, "the reference's row_max");
    Tensor row_sum = Tensor::zeros(Shape(rows, d.heads), Dtype::f64, "the reference's row_sum");
    args.out = {expected.values.view().mutable_data(), Dtype::f64, row_size};
    args.row_max = {row_max.view().mutable_data(), Dtype::f64, d.heads};
    args.row_sum = {row_sum.view().mutable_data(), Dtype::f64, d.heads};
    reference::attention_forward(args, expected.absolute.span<double>().data());
    expected.factor = in_.row_factor(sample);
    return expected;
  }

  Tensor& result() override { return out_; }
  Workload* yardstick() override {
    if (!spmm_) spmm_ = spmm_beside(context_, graph_, setup_);
    return spmm_.get();
  }
  std::int64_t features_an_edge() const override { return setup_.desc.heads * (setup_.desc.width + in_.score_width); }
  // The weighted sum, and its weights.
  double flops() const override {
    const auto& d = setup_.desc;
    return static_cast<double>(graph_.num_edges()) * static_cast<double>(d.heads) *
           (2 * static_cast<double>(d.width) + in_.weight_flops());
  }
  FloorJob floor() const override {
    FloorJob job;
    job.graph = graph_.view();
    const auto element = static_cast<std::int64_t>(size_of(setup_.desc.dtype));
    job.gathered.push_back({in_.value.data(), in_.value.host().shape().row_size() * element});
    job.gathered.push_back({in_.src.data(), in_.src.host().shape().row_size() * element});
    job.streamed.push_back({in_.dst.data(), in_.dst.bytes()});
    job.written_bytes = out_.bytes() + row_max_.bytes() + row_sum_.bytes();
    return job;
  }

 private:
  Context& context_;
  const Graph& graph_;
  Setup setup_;
  AttentionOperands in_;
  Tensor out_, row_max_, row_sum_;
  std::unique_ptr<Workload> spmm_;
};

}  // namespace

std::unique_ptr<Workload> make_attention_workload(Context& context, const Graph& graph, const Setup& setup) {
  return std::make_unique<AttentionWorkload>(context, graph, setup);
}

}  // namespace weft::tool
