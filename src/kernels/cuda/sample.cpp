#include "kernels/cuda/sample.hpp"

#include "graph/sample/kept_rows.hpp"
#include "plan/cuda/scratch.hpp"
#include "plan/cuda/tasks.hpp"

namespace weft::cuda {
namespace {

/// Draws the sample of `args`, with the ids of its edges where they are read.
template <class Acc, class Args>
SampleScratch<Acc> draw(Args& args, bool with_ids, const Plan& plan, Arena& arena, CUstream_st* stream) {
  const auto scratch = SampleScratch<Acc>::take(arena, plan.desc, args.graph);
  EdgeId* const ids = with_ids ? scratch.ids.data() : nullptr;
  // In the order that the gather walks.
  GraphView space = args.graph;
  const EdgeId* starts = space.offsets;
  if (walks_clusters(plan)) {
    space.rows = plan.backing.device_tasks->edges()->rows();
    starts = plan.backing.device_tasks->edges()->starts();
  }
  take_kept(plan.device, stream, args.sample, space, starts, scratch.cols.data(), ids);
  args.graph.cols = scratch.cols.data();
  args.graph.edge_ids = ids;
  return scratch;
}

template <class Acc>
void draw_for_sums(SpmmArgs& args, const Plan& plan, Arena& arena, CUstream_st* stream) {
  const GraphView space = args.graph;
  const auto scratch = draw<Acc>(args, uses_edge(args.op) || args.arg_e != nullptr, plan, arena, stream);
  if (args.unbiased_sums) {
    unbiased_scales(plan.device, stream, args.sample, space, std::is_same_v<Acc, double>, args.row_scale.data,
                    scratch.scales.data());
    args.row_scale.data = scratch.scales.data();
    args.row_scale.dtype = dtype_of<Acc>;
    args.row_scale.row_stride = 1;
  }
  args.sample = {};
  args.unbiased_sums = false;
}

}  // namespace

SpmmArgs with_sample_drawn(SpmmArgs args, const Plan& plan, Arena& arena, CUstream_st* stream) {
  if (!args.sample.given()) return args;
  plan.desc.dtype == Dtype::f64 ? draw_for_sums<double>(args, plan, arena, stream)
                                : draw_for_sums<float>(args, plan, arena, stream);
  return args;
}

AttentionArgs with_sample_drawn(AttentionArgs args, const Plan& plan, Arena& arena, CUstream_st* stream) {
  if (!args.sample.given()) return args;
  draw<float>(args, args.edge.given() || args.bias.given() || args.dropout.given(), plan, arena, stream);
  args.sample = {};
  return args;
}

}  // namespace weft::cuda
