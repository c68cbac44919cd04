#include "dense/fuses.hpp"

#include <algorithm>

#include "graph/graph_internals.hpp"
#include "plan/tuning/fusion.hpp"

namespace weft::dense {

bool fuses(const Gemm& gemm, const Graph& graph, Dtype dtype, std::int64_t in, std::int64_t out, const FusedSums& sums,
           std::optional<bool> wish) {
  if (!gemm.makes_rows(dtype, graph.num_rows(), in, out) || !wish.value_or(true)) return false;
  if (GraphInternals::is_redrawn(graph)) return false;  // what is known of its rows may change
  const GraphView view = GraphInternals::view_without_ids(graph);
  const bool gpu = graph.device().kind == DeviceKind::cuda;
  if (gpu && view.longest_row < 0) return false;  // nobody has looked
  if (wish) return !gpu || view.longest_row <= tuning::most_fused_row;
  tuning::FusionCase given{graph.device().kind, view.num_rows, view.num_edges, 0, in, out, dtype,
                           sums.scaled,         sums.stored,   sums.adds_self};
  // Everything else first: most graphs have too many edges for it.
  if (!tuning::fusion_pays(given)) return false;
  given.longest_row = view.longest_row;
  if (!gpu)
    for (std::int64_t row = 0; row < view.num_rows; ++row)
      given.longest_row = std::max(given.longest_row, view.offsets[row + 1] - view.offsets[row]);
  return tuning::fusion_pays(given);
}

}  // namespace weft::dense
