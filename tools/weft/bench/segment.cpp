// segment_reduce over a graph's rows (one vector per edge) as a benchmark workload. It has no planned
// form: what is timed is the whole call, planning and the result's allocation included.
#include "bench/inputs.hpp"
#include "bench/reference.hpp"
#include "bench/workload.hpp"
#include "kernels/signatures.hpp"
#include "weft/ops.hpp"

namespace weft::tool {
namespace {

class SegmentWorkload final : public Workload {
 public:
  SegmentWorkload(Context& context, const Graph& graph, const Setup& setup)
      : context_(context), graph_(graph), setup_(setup) {
    x_ = Input(context, random_tensor(Shape(graph.num_edges(), row_size()), setup.desc.dtype, setup.seed, -1, 1, "x"));
  }

  void run() override { out_ = segment_reduce(context_, graph_.offsets(), x_.there(), setup_.desc.reduce); }

  Reference reference(const Sample& sample) const override {
    Tensor keep;
    SpmmArgs args;  // a segment is a row whose messages are its edges' own vectors
    args.graph = sample.view();
    args.op = SpmmOp::copy_e;
    args.reduce = setup_.desc.reduce;
    args.width = row_size();
    args.edge = operand(sample.by_edge(x_.host(), keep));
    Reference expected = by_row_reference(sample, row_size());
    args.out = {expected.values.view().mutable_data(), Dtype::f64, row_size()};
    reference_spmm(args, expected.absolute.span<double>().data());
    return expected;
  }

  Tensor& result() override { return out_; }
  std::int64_t features_an_edge() const override { return row_size(); }
  double flops() const override { return static_cast<double>(graph_.num_edges()) * static_cast<double>(row_size()); }
  FloorJob floor() const override {
    FloorJob job;
    job.graph = graph_.view();
    job.streamed.push_back({x_.data(), x_.bytes()});
    job.written_bytes = static_cast<std::size_t>(graph_.num_rows() * row_size()) * size_of(setup_.desc.dtype);
    return job;
  }

 private:
  std::int64_t row_size() const { return setup_.desc.heads * setup_.desc.width; }

  Context& context_;
  const Graph& graph_;
  Setup setup_;
  Input x_;
  Tensor out_;
};

}  // namespace

std::unique_ptr<Workload> make_segment_workload(Context& context, const Graph& graph, const Setup& setup) {
  return std::make_unique<SegmentWorkload>(context, graph, setup);
}

}  // namespace weft::tool
