#include "nn/sample/passes.hpp"

#include "core/loops/cpu.hpp"
#include "graph/scan.hpp"
#include "nn/cuda/sampling.hpp"
#include "nn/sample/bodies.hpp"

namespace weft::loops {
using Backend = Cpu;
}
#include "nn/sample/pass_list-inl.hpp"

namespace weft::nn {

std::int64_t list_marked(const Context& context, const NodeId* local, std::int64_t count, NodeId* nodes) {
  if (context.device().kind == DeviceKind::cuda)
    return cuda::list_marked(local, count, nodes, context.device(), context.stream());
  std::int64_t listed = 0;
  for (std::int64_t node = 0; node < count; ++node)
    if (local[node] == marked) nodes[listed++] = static_cast<NodeId>(node);
  return listed;
}

EdgeId lengths_to_offsets(const Context& context, EdgeId* offsets, std::int64_t count) {
  if (context.device().kind == DeviceKind::cuda)
    return cuda::lengths_to_offsets(offsets, count, context.device(), context.stream());
  return counts_to_offsets({offsets, static_cast<std::size_t>(count) + 1});
}

}  // namespace weft::nn
