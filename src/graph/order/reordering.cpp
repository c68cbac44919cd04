#include <algorithm>
#include <numeric>

#include "core/check.hpp"
#include "core/names.hpp"
#include "core/stopwatch.hpp"
#include "weft/reorder.hpp"

namespace weft {
namespace {

constexpr NameTable<ReorderMethod, 3> method_names{
    {{ReorderMethod::louvain, "louvain"}, {ReorderMethod::loa, "loa"}, {ReorderMethod::degree, "degree"}}};

}  // namespace

std::string_view name(ReorderMethod method) { return name_in(method_names, method); }
ReorderMethod parse_reorder_method(std::string_view text) { return parse_in(method_names, "method", text); }

Tensor Reordering::inverse() const {
  Tensor result = Tensor::empty(Shape(num_nodes()), Dtype::i32, "new numbers of nodes");
  if (!order) return result;
  const auto old_of = order.span<NodeId>();
  const auto new_of = result.span<NodeId>();
  for (std::size_t i = 0; i < old_of.size(); ++i) new_of[static_cast<std::size_t>(old_of[i])] = static_cast<NodeId>(i);
  return result;
}

Reordering degree_order(const Graph& graph) {
  WEFT_CHECK(graph.is_square(), invalid_argument, "graph is {} x {}: degree_order needs a square one", graph.num_rows(),
             graph.num_cols());
  const Stopwatch watch;
  const Tensor degrees = graph.degrees().to(Device{});
  Reordering result;
  result.method = name(ReorderMethod::degree);
  result.order = Tensor::empty(Shape(graph.num_rows()), Dtype::i32, "the order of nodes");
  const auto order = result.order.span<NodeId>();
  const auto of = degrees.span<std::int64_t>();
  std::iota(order.begin(), order.end(), NodeId{0});
  std::stable_sort(order.begin(), order.end(), [&](NodeId a, NodeId b) {
    return of[static_cast<std::size_t>(a)] > of[static_cast<std::size_t>(b)];
  });
  result.seconds = watch.seconds();
  return result;
}

double window_intensity(const Graph& graph, std::int64_t window) {
  WEFT_CHECK(window >= 1, invalid_argument, "window is {}: expected 1 row or more", window);
  const GraphView view = graph.host_view();
  std::vector<std::int64_t> seen(static_cast<std::size_t>(view.num_cols), -1);  // the window that last had a column
  std::int64_t columns = 0;
  for (std::int64_t row = 0; row < view.num_rows; ++row)
    for (EdgeId k = view.offsets[row]; k < view.offsets[row + 1]; ++k)
      columns += std::exchange(seen[static_cast<std::size_t>(view.cols[k])], row / window) != row / window;
  return columns > 0 ? static_cast<double>(view.num_edges) / static_cast<double>(columns) : 0;
}

}  // namespace weft
