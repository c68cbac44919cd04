// Fused attention (GAT, GATv2, dot product) as a benchmark workload.
#include <cmath>

#include "bench/inputs.hpp"
#include "bench/reference.hpp"
#include "bench/workload.hpp"
#include "kernels/signatures.hpp"
#include "weft/ops.hpp"

namespace weft::tool {
namespace {

constexpr double exp_factor = 16;  // as in softmax.cpp

class AttentionWorkload final : public Workload {
 public:
  AttentionWorkload(Context& context, const Graph& graph, const Setup& setup)
      : context_(context), graph_(graph), setup_(setup) {
    const OpDesc& d = setup.desc;
    score_width_ = setup.score == Score::gat ? 1 : d.width;
    // Scores stay near [-1, 1] sqrt(D), whatever the width.
    const double root = std::sqrt(static_cast<double>(score_width_));
    value_ =
        Input(context, random_tensor(Shape(graph.num_cols(), d.heads, d.width), d.dtype, setup.seed, -1, 1, "value"));
    src_ = Input(context,
                 random_tensor(Shape(graph.num_cols(), d.heads, score_width_), d.dtype, setup.seed + 1, -1, 1, "src"));
    dst_ = Input(context,
                 random_tensor(Shape(graph.num_rows(), d.heads, score_width_), d.dtype, setup.seed + 2, -1, 1, "dst"));
    if (setup.score == Score::gatv2)
      attn_ = Input(context, random_tensor(Shape(1, d.heads, score_width_), d.dtype, setup.seed + 3, -1 / root,
                                           1 / root, "attn"));
    const Dtype statistics = d.dtype == Dtype::f64 ? Dtype::f64 : Dtype::f32;
    out_ = unwritten_tensor(context, Shape(graph.num_rows(), d.heads, d.width), d.dtype, "out");
    row_max_ = unwritten_tensor(context, Shape(graph.num_rows(), d.heads, 1), statistics, "row_max");
    row_sum_ = unwritten_tensor(context, Shape(graph.num_rows(), d.heads, 1), statistics, "row_sum");
    inputs_.score = setup.score;
    inputs_.value = value_.there();
    inputs_.src = src_.there();
    inputs_.dst = dst_.there();
    if (attn_) inputs_.attn = attn_.there();
    if (setup.score == Score::dot) inputs_.scale = static_cast<float>(1 / root);
    make_plan_for(context, graph, setup);
  }

  void run() override { attention(context_, *plan(), graph_, inputs_, out_, row_max_, row_sum_); }

  Reference reference(const Sample& sample) const override {
    const OpDesc& d = setup_.desc;
    Tensor keep;
    AttentionArgs args;
    args.graph = sample.view();
    args.score = setup_.score;
    args.heads = d.heads;
    args.width = d.width;
    args.score_width = score_width_;
    args.value = operand(value_.host());
    args.src = operand(src_.host());
    args.dst = operand(sample.by_row(dst_.host(), keep));
    if (attn_) args.attn = operand(attn_.host());
    args.attn.row_stride = 0;
    args.slope = inputs_.slope;
    args.scale = inputs_.scale;
    const std::int64_t row_size = d.heads * d.width, rows = sample.num_rows();
    Reference expected = by_row_reference(sample, row_size);
    Tensor row_max = Tensor::zeros(Shape(rows, d.heads), Dtype::f64, "the reference's row_max");
    Tensor row_sum = Tensor::zeros(Shape(rows, d.heads), Dtype::f64, "the reference's row_sum");
    args.out = {expected.values.view().mutable_data(), Dtype::f64, row_size};
    args.row_max = {row_max.view().mutable_data(), Dtype::f64, d.heads};
    args.row_sum = {row_sum.view().mutable_data(), Dtype::f64, d.heads};
    reference::attention_forward(args, expected.absolute.span<double>().data());
    // A score's own error, c * eps * sum of |terms|, moves its weight by as much; the terms sum to at
    // most 2 sqrt(D) for the inputs above (2 for gat).
    const double score_factor = sum_factor(score_width_) * 2 * std::sqrt(static_cast<double>(score_width_));
    expected.factor = [&sample, score_factor](std::int64_t i) {
      return sum_factor(sample.degree(i)) + exp_factor + score_factor;
    };
    return expected;
  }

  Tensor& result() override { return out_; }
  Workload* yardstick() override {
    if (spmm_) return spmm_.get();
    Setup sum;
    sum.desc = {OpKind::spmm, setup_.desc.dtype, 1, setup_.desc.heads * setup_.desc.width, Reduce::sum, true};
    sum.seed = setup_.seed;
    spmm_ = make_spmm_workload(context_, graph_, sum);
    return spmm_.get();
  }
  std::int64_t features_an_edge() const override { return setup_.desc.heads * (setup_.desc.width + score_width_); }
  // The weighted sum, the scores (an addition, a product and leaky_relu counted as one, or a product and
  // an addition) and the softmax's four.
  double flops() const override {
    const auto& d = setup_.desc;
    const double score = (setup_.score == Score::dot ? 2.0 : 3.0) * static_cast<double>(score_width_);
    return static_cast<double>(graph_.num_edges()) * static_cast<double>(d.heads) *
           (2 * static_cast<double>(d.width) + score + 4);
  }
  FloorJob floor() const override {
    FloorJob job;
    job.graph = graph_.view();
    const auto element = static_cast<std::int64_t>(size_of(setup_.desc.dtype));
    job.gathered.push_back({value_.data(), value_.host().shape().row_size() * element});
    job.gathered.push_back({src_.data(), src_.host().shape().row_size() * element});
    job.streamed.push_back({dst_.data(), dst_.bytes()});
    job.written_bytes = out_.bytes() + row_max_.bytes() + row_sum_.bytes();
    return job;
  }

 private:
  Context& context_;
  const Graph& graph_;
  Setup setup_;
  std::int64_t score_width_ = 1;
  AttentionInputs inputs_;
  Input value_, src_, dst_, attn_;
  Tensor out_, row_max_, row_sum_;
  std::unique_ptr<Workload> spmm_;
};

}  // namespace

std::unique_ptr<Workload> make_attention_workload(Context& context, const Graph& graph, const Setup& setup) {
  return std::make_unique<AttentionWorkload>(context, graph, setup);
}

}  // namespace weft::tool
