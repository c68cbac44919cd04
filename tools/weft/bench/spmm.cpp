// spmm and spmv as benchmark workloads.
#include "bench/inputs.hpp"
#include "bench/reference.hpp"
#include "bench/workload.hpp"
#include "kernels/signatures.hpp"
#include "weft/ops.hpp"

namespace weft::tool {
namespace {

class SpmmWorkload final : public Workload {
 public:
  SpmmWorkload(Context& context, const Graph& graph, const Setup& setup)
      : context_(context), graph_(graph), setup_(setup) {
    const OpDesc& d = setup.desc;
    if (is_spmv()) setup_.spmm_op = d.weighted ? SpmmOp::u_mul_e : SpmmOp::copy_u;
    const SpmmOp op = setup_.spmm_op;
    if (uses_node(op))
      x_ = Input(context, random_tensor(node_shape(graph.num_cols()), d.dtype, setup.seed, -1, 1, "x"));
    // Around 1, so that dividing by an edge's value is as harmless as multiplying with it.
    if (uses_edge(op))
      edge_ = Input(context, random_tensor(edge_shape(), d.dtype, setup.seed + 1, 0.5, 1.5, "edge values"));
    out_ = unwritten_tensor(context, node_shape(graph.num_rows()), d.dtype, "out");
    options_.op = op;
    options_.reduce = d.reduce;
    if (setup.sampled) {
      options_.sample = setup.sampled->sample;
      if (edge_) whole_edge_ = Input(context, setup.sampled->of_all(edge_.host()));
    }
    make_plan_for(context, graph, setup_);
  }

  void run() override {
    if (setup_.sampled)
      spmm(context_, *plan(), *setup_.sampled->whole, x_.there(), whole_edge_.there(), out_, options_);
    else if (is_spmv())
      spmv(context_, *plan(), graph_, x_.there(), edge_.there(), out_);
    else
      spmm(context_, *plan(), graph_, x_.there(), edge_.there(), out_, options_);
  }

  Reference reference(const Sample& sample) const override {
    const OpDesc& d = setup_.desc;
    Tensor keep;
    SpmmArgs args;
    args.graph = sample.view();
    args.op = setup_.spmm_op;
    args.reduce = d.reduce;
    args.heads = d.heads;
    args.width = d.width;
    if (x_) args.x = operand(x_.host());
    if (edge_) args.edge = operand(sample.by_edge(edge_.host(), keep));
    const std::int64_t row_size = d.heads * d.width;
    Reference expected = by_row_reference(sample, row_size);
    args.out = {expected.values.view().mutable_data(), Dtype::f64, row_size};
    reference_spmm(args, expected.absolute.span<double>().data());
    return expected;
  }

  Tensor& result() override { return out_; }
  std::int64_t features_an_edge() const override { return setup_.desc.heads * setup_.desc.width; }
  double flops() const override {
    const bool combines = uses_node(setup_.spmm_op) && uses_edge(setup_.spmm_op);
    return static_cast<double>(graph_.num_edges()) * static_cast<double>(features_an_edge()) * (combines ? 2 : 1);
  }

  FloorJob floor() const override {
    FloorJob job;
    job.graph = graph_.view();
    const auto row_bytes = features_an_edge() * static_cast<std::int64_t>(size_of(setup_.desc.dtype));
    if (x_) job.gathered.push_back({x_.data(), row_bytes});
    if (!x_ || setup_.edge_vectors) job.streamed.push_back({edge_.data(), edge_.bytes()});
    job.written_bytes = out_.bytes();
    return job;
  }

  std::optional<PeerProblem> for_peers() const override {
    const OpDesc& d = setup_.desc;
    if (setup_.sampled) return std::nullopt;
    const bool product = setup_.spmm_op == SpmmOp::u_mul_e || setup_.spmm_op == SpmmOp::copy_u;
    if (!product || d.reduce != Reduce::sum || (edge_ && d.heads > 1) || setup_.edge_vectors) return std::nullopt;
    PeerProblem problem;
    problem.kind = is_spmv() ? OpKind::spmv : OpKind::spmm;
    problem.dtype = d.dtype;
    problem.graph = graph_.view();
    problem.x = x_.data();
    problem.edge = edge_.data();
    problem.width = features_an_edge();
    problem.on(context_);
    return problem;
  }

 private:
  bool is_spmv() const { return setup_.desc.kind == OpKind::spmv; }
  Shape node_shape(std::int64_t rows) const {
    const OpDesc& d = setup_.desc;
    if (is_spmv()) return Shape(rows);
    return d.heads > 1 ? Shape(rows, d.heads, d.width) : Shape(rows, d.width);
  }
  // One value per edge and head; where vectors are asked for or the edge is all there is, one per feature.
  Shape edge_shape() const {
    const OpDesc& d = setup_.desc;
    const std::int64_t edges = graph_.num_edges();
    if (setup_.spmm_op == SpmmOp::copy_e || setup_.edge_vectors)
      return d.heads > 1 ? Shape(edges, d.heads, d.width) : Shape(edges, d.width);
    return d.heads > 1 ? Shape(edges, d.heads, 1) : Shape(edges);
  }

  Context& context_;
  const Graph& graph_;
  Setup setup_;
  SpmmOptions options_;
  Input x_, edge_;
  Input whole_edge_;  // of a run that samples: the same by the whole graph's ids
  Tensor out_;
};

}  // namespace

std::unique_ptr<Workload> make_spmm_workload(Context& context, const Graph& graph, const Setup& setup) {
  return std::make_unique<SpmmWorkload>(context, graph, setup);
}

}  // namespace weft::tool
