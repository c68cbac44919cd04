#include "plan/cuda/wide_heads.hpp"

#include <algorithm>
#include <bit>

#include "core/device.hpp"
#include "plan/gather_shape.hpp"

namespace weft {
namespace {

constexpr std::int64_t most_features = std::int64_t{1} << 22;  // of a row that kernels take
constexpr double most_copies = 0.125;                          // of the GPU's memory

/// Of heads that lie unevenly in their lanes, the next power of two. 0: it is no better, or there is one head, whose
/// copies cost about what they save.
std::int64_t better_width(std::int64_t heads, std::int64_t width, int element_bytes) {
  const int pack = 16 / element_bytes;
  if (heads == 1) return 0;
  const auto lies_evenly = [&](std::int64_t of) {
    return heads_lie_evenly(heads, of, gather_shape_of_heads(heads, of, element_bytes, pack));
  };
  const auto wider = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(width)));
  return !lies_evenly(width) && lies_evenly(wider) ? wider : 0;
}

}  // namespace

std::int64_t head_width(const Context& context, const OpDesc& desc, const GraphView& graph, const Policy& policy) {
  if (context.device().kind != DeviceKind::cuda || desc.kind != OpKind::attention) return 0;
  const auto bytes = static_cast<int>(size_of(desc.dtype));
  if (!desc.widens || desc.width < 1 || bytes > 4 || policy != Policy{}) return 0;
  // Copies move what a node has some five times, and pay from so many edges per node on: later in a backward, which has
  // more of them, of heads that are whole packs of 16 bytes (4 of 40) and so no worse in their loads.
  const std::int64_t edges_a_node = desc.backward && desc.width * bytes % 16 == 0 ? 6 : 4;
  if (2 * graph.num_edges < edges_a_node * (graph.num_rows + graph.num_cols)) return 0;
  OpDesc wide = desc;
  wide.width = better_width(desc.heads, desc.width, bytes);
  if (wide.heads * wide.width >= most_features) return 0;
  wide.backward = true;  // which takes more
  Arena counting;
  WideHeads::take(counting, wide, graph.num_rows, graph.num_cols);
  const auto memory = static_cast<double>(cuda_device(context.device().index).memory_bytes);
  return static_cast<double>(counting.used()) <= most_copies * memory ? wide.width : 0;
}

WideHeads WideHeads::take(Arena& arena, const OpDesc& desc, std::int64_t rows, std::int64_t columns) {
  const std::size_t bytes = size_of(desc.dtype), of_result = sizeof(float);  // results of halves may be floats
  const auto features = static_cast<std::size_t>(desc.heads * desc.width);
  const auto of = [&](std::int64_t count, std::size_t each) {
    return static_cast<std::size_t>(count) * features * each;
  };
  WideHeads copies;
  copies.value = arena.take<std::byte>(of(columns, bytes), "value with wider heads");
  copies.out = arena.take<std::byte>(std::max(of(rows, of_result), desc.backward ? of(columns, bytes) : 0),
                                     "results with wider heads");
  copies.out_grad = arena.take<std::byte>(desc.backward ? of(rows, bytes) : 0, "gradients with wider heads");
  return copies;
}

}  // namespace weft
