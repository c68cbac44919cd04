// Edge softmax as a benchmark workload.
#include "bench/inputs.hpp"
#include "bench/reference.hpp"
#include "bench/workload.hpp"
#include "kernels/signatures.hpp"
#include "weft/ops.hpp"

namespace weft::tool {
namespace {

// On top of the sum's factor: scores within [-4, 4] leave exp's argument off by up to 8 eps, and exp
// and the division add their own few.
constexpr double exp_factor = 16;

class SoftmaxWorkload final : public Workload {
 public:
  SoftmaxWorkload(Context& context, const Graph& graph, const Setup& setup)
      : context_(context), graph_(graph), setup_(setup) {
    const OpDesc& d = setup.desc;
    const Shape shape = d.heads > 1 ? Shape(graph.num_edges(), d.heads, 1) : Shape(graph.num_edges());
    scores_ = Input(context, random_tensor(shape, d.dtype, setup.seed, -4, 4, "scores"));
    out_ = unwritten_tensor(context, shape, d.dtype, "out");
    make_plan_for(context, graph, setup);
  }

  void run() override { edge_softmax(context_, *plan(), graph_, scores_.there(), out_); }

  Reference reference(const Sample& sample) const override {
    const OpDesc& d = setup_.desc;
    Tensor keep;
    SoftmaxArgs args;
    args.graph = sample.view();
    args.heads = d.heads;
    args.scores = operand(sample.by_edge(scores_.host(), keep));
    Reference expected = by_edge_reference(sample, d.heads, 1);
    expected.absolute = {};  // weights are positive
    args.out = {expected.values.view().mutable_data(), Dtype::f64, d.heads};
    reference::softmax_forward(args);
    const GraphView view = sample.view();
    std::vector<std::int64_t> degree(static_cast<std::size_t>(view.num_edges));
    for (std::int64_t v = 0; v < view.num_rows; ++v)
      for (EdgeId k = view.offsets[v]; k < view.offsets[v + 1]; ++k)
        degree[static_cast<std::size_t>(view.edge_id(k))] = view.offsets[v + 1] - view.offsets[v];
    expected.terms = [degree = std::move(degree)](std::int64_t i) { return degree[static_cast<std::size_t>(i)]; };
    expected.factor = [terms = expected.terms](std::int64_t i) { return sum_factor(terms(i)) + exp_factor; };
    return expected;
  }

  Tensor& result() override { return out_; }
  std::int64_t features_an_edge() const override { return setup_.desc.heads; }
  // A maximum, an exponential counted as one, a sum and a division a score.
  double flops() const override {
    return 4 * static_cast<double>(graph_.num_edges()) * static_cast<double>(setup_.desc.heads);
  }
  FloorJob floor() const override {
    FloorJob job;
    job.graph = graph_.view();
    job.streamed.push_back({scores_.data(), scores_.bytes()});
    job.written_bytes = out_.bytes();
    return job;
  }

 private:
  Context& context_;
  const Graph& graph_;
  Setup setup_;
  Input scores_;
  Tensor out_;
};

}  // namespace

std::unique_ptr<Workload> make_softmax_workload(Context& context, const Graph& graph, const Setup& setup) {
  return std::make_unique<SoftmaxWorkload>(context, graph, setup);
}

}  // namespace weft::tool
