// sddmm (source against destination) as a benchmark workload.
#include "bench/inputs.hpp"
#include "bench/reference.hpp"
#include "bench/workload.hpp"
#include "kernels/signatures.hpp"
#include "weft/ops.hpp"

namespace weft::tool {
namespace {

class SddmmWorkload final : public Workload {
 public:
  SddmmWorkload(Context& context, const Graph& graph, const Setup& setup)
      : context_(context), graph_(graph), setup_(setup) {
    const OpDesc& d = setup.desc;
    lhs_ = Input(context, random_tensor(shape(graph.num_cols(), d.width), d.dtype, setup.seed, -1, 1, "lhs"));
    // Away from 0 on the right, where div divides by it.
    rhs_ = Input(context, random_tensor(shape(graph.num_rows(), d.width), d.dtype, setup.seed + 1, 0.5, 1.5, "rhs"));
    out_ = unwritten_tensor(context, result_shape(), d.dtype, "out");
    options_ = {setup.sddmm_op, Target::u, Target::v};
    make_plan_for(context, graph, setup);
  }

  void run() override { sddmm(context_, *plan(), graph_, lhs_.there(), rhs_.there(), out_, options_); }

  Reference reference(const Sample& sample) const override {
    const OpDesc& d = setup_.desc;
    Tensor keep;
    SddmmArgs args;
    args.graph = sample.view();
    args.op = setup_.sddmm_op;
    args.heads = d.heads;
    args.width = d.width;
    args.lhs = operand(lhs_.host());
    args.rhs = operand(sample.by_row(rhs_.host(), keep));
    const std::int64_t row_size = out_.shape().row_size();
    Reference expected = by_edge_reference(sample, row_size, setup_.sddmm_op == SddmmOp::dot ? d.width : 1);
    args.out = {expected.values.view().mutable_data(), Dtype::f64, row_size};
    reference_sddmm(args, expected.absolute.span<double>().data());
    return expected;
  }

  Tensor& result() override { return out_; }
  std::int64_t features_an_edge() const override { return setup_.desc.heads * setup_.desc.width; }
  double flops() const override {
    const double per_feature = setup_.sddmm_op == SddmmOp::dot ? 2 : 1;
    return static_cast<double>(graph_.num_edges()) * static_cast<double>(features_an_edge()) * per_feature;
  }

  FloorJob floor() const override {
    FloorJob job;
    job.graph = graph_.view();
    job.gathered.push_back({lhs_.data(), features_an_edge() * static_cast<std::int64_t>(size_of(setup_.desc.dtype))});
    job.streamed.push_back({rhs_.data(), rhs_.bytes()});
    job.written_bytes = out_.bytes();
    return job;
  }

  std::optional<PeerProblem> for_peers() const override {
    if (setup_.sddmm_op != SddmmOp::dot || setup_.desc.heads > 1) return std::nullopt;
    PeerProblem problem;
    problem.kind = OpKind::sddmm;
    problem.dtype = setup_.desc.dtype;
    problem.graph = graph_.view();
    problem.x = lhs_.data();
    problem.y = rhs_.data();
    problem.width = setup_.desc.width;
    problem.on(context_);
    return problem;
  }

 private:
  Shape shape(std::int64_t rows, std::int64_t width) const {
    const std::int64_t heads = setup_.desc.heads;
    return heads > 1 ? Shape(rows, heads, width) : Shape(rows, width);
  }
  Shape result_shape() const {
    const OpDesc& d = setup_.desc;
    if (setup_.sddmm_op != SddmmOp::dot) return shape(graph_.num_edges(), d.width);
    return d.heads > 1 ? Shape(graph_.num_edges(), d.heads, 1) : Shape(graph_.num_edges());
  }

  Context& context_;
  const Graph& graph_;
  Setup setup_;
  SddmmOptions options_;
  Input lhs_, rhs_;
  Tensor out_;
};

}  // namespace

std::unique_ptr<Workload> make_sddmm_workload(Context& context, const Graph& graph, const Setup& setup) {
  return std::make_unique<SddmmWorkload>(context, graph, setup);
}

}  // namespace weft::tool
