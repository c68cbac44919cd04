// The passes of sampling on a CPU, and the choice between it and a GPU.
#include "nn/sample/passes.hpp"

#include "graph/scan.hpp"
#include "nn/cuda/sampling.hpp"
#include "nn/dense/cpu_loops.hpp"
#include "nn/sample/bodies.hpp"

namespace weft::nn {
namespace {

bool on_gpu(const Context& context) { return context.device().kind == DeviceKind::cuda; }

template <class Args>
void choose(const Context& context, const Args& args) {
  if (on_gpu(context)) return cuda::run(args, context.device(), context.stream());
  run_on(CpuLoops{context.threads()}, args);
}

}  // namespace

void run(const Context& context, const MarkArgs& args) { choose(context, args); }
void run(const Context& context, const NumberArgs& args) { choose(context, args); }
void run(const Context& context, const TakeRowsArgs& args) { choose(context, args); }
void run(const Context& context, const DrawRowsArgs& args) { choose(context, args); }
void run(const Context& context, const RelabelArgs& args) { choose(context, args); }
void run(const Context& context, const CountArgs& args) { choose(context, args); }
void run(const Context& context, const SumWeightsArgs& args) { choose(context, args); }
void run(const Context& context, const WeighArgs& args) { choose(context, args); }
void run(const Context& context, const LossWeightsArgs& args) { choose(context, args); }
void run(const Context& context, const ShuffleArgs& args) { choose(context, args); }
void run(const Context& context, const GatherArgs<NodeId>& args) { choose(context, args); }
void run(const Context& context, const GatherArgs<EdgeId>& args) { choose(context, args); }

std::int64_t list_marked(const Context& context, const NodeId* local, std::int64_t count, NodeId* nodes) {
  if (on_gpu(context)) return cuda::list_marked(local, count, nodes, context.device(), context.stream());
  std::int64_t listed = 0;
  for (std::int64_t node = 0; node < count; ++node)
    if (local[node] == marked) nodes[listed++] = static_cast<NodeId>(node);
  return listed;
}

EdgeId lengths_to_offsets(const Context& context, EdgeId* offsets, std::int64_t count) {
  if (on_gpu(context)) return cuda::lengths_to_offsets(offsets, count, context.device(), context.stream());
  return counts_to_offsets({offsets, static_cast<std::size_t>(count) + 1});
}

}  // namespace weft::nn
