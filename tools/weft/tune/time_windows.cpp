#include "tune/time_windows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/inputs.hpp"
#include "bench/timing.hpp"
#include "weft/ops.hpp"
#include "weft/plan.hpp"

namespace weft::tool {
namespace {

/// Features of as many nodes as any graph has, and room for the sums; graphs with fewer take the first rows.
struct Operands {
  Dtype dtype;
  std::int64_t width;
  Tensor x, out;

  Operands(const Context& context, Dtype type, std::int64_t features, std::int64_t nodes)
      : dtype(type),
        width(features),
        x(random_tensor(Shape(nodes, features), type, 1, -1, 1, "features").to(context.device(), context.stream())),
        out(unwritten_tensor(context, Shape(nodes, features), type, "sums")) {}

  Operands(Operands&&) = default;
  ConstTensorView x_of(const Graph& graph) const {
    return {x.view().data, dtype, Shape(graph.num_cols(), width), x.device()};
  }
  TensorView out_of(const Graph& graph) {
    return {out.view().mutable_data(), dtype, Shape(graph.num_rows(), width), out.device()};
  }
};

/// Both ways in turns, as weft bench times policies.
void time_both(Context& context, Timer& timer, const Graph& graph, Operands& operands, int repeat, TimedWindow& timed) {
  const OpDesc desc{OpKind::spmm, operands.dtype, 1, operands.width, Reduce::sum, false};
  const Policy windows =
      parse_policy(fmt::format("core=tensor,window={},threshold=1,layout=none,select=all", timed.window.rows));
  const Plan tensor = make_plan(context, graph, desc, windows), cuda = make_plan(context, graph, desc);
  context.reserve(std::max(tensor.workspace_bytes, cuda.workspace_bytes));
  const ConstTensorView x = operands.x_of(graph);
  const TensorView out = operands.out_of(graph);
  const SpmmOptions options{.op = SpmmOp::copy_u};
  std::vector<Contestant> contestants;
  for (const Plan* plan : {&tensor, &cuda})
    contestants.push_back({[&, plan] { spmm(context, *plan, graph, x, {}, out, options); }, {}});
  TimingOptions timing = timing_for(context.device());
  timing.repeat = repeat;
  time_in_turns(timer, contestants, timing);
  timed.tensor_us = median_of(contestants[0].microseconds);
  timed.cuda_us = median_of(contestants[1].microseconds);
}

}  // namespace

std::vector<TimedWindow> time_windows(Context& context, const TuneRequest& request,
                                      const std::function<void(std::int64_t done, std::int64_t total)>& progress) {
  std::int64_t nodes = 0;
  for (const int rows : request.window_rows) nodes = std::max(nodes, windows_of_a_graph(rows) * rows);
  std::vector<Operands> operands;
  for (const Dtype dtype : request.dtypes)
    for (const std::int64_t width : request.widths) operands.emplace_back(context, dtype, width, nodes);
  const std::unique_ptr<Timer> timer = make_timer(context);
  const std::int64_t total = std::ssize(request.window_rows) * request.kinds;
  std::vector<TimedWindow> timed;
  std::int64_t done = 0;
  for (const int rows : request.window_rows) {
    int kind = 0;
    for (const SyntheticWindow& window : synthetic_windows(rows, request.kinds, request.seed)) {
      progress(done++, total);
      const Graph graph = graph_of_windows(window, windows_of_a_graph(rows)).to(context.device(), context.stream());
      const bool held_out = kind++ % 5 == 4;  // in all types and widths: the test sees no window that was fitted to
      for (Operands& each : operands) {
        TimedWindow& one = timed.emplace_back(TimedWindow{window, each.dtype, each.width, 0, 0, held_out});
        time_both(context, *timer, graph, each, request.repeat, one);
      }
    }
  }
  progress(total, total);
  return timed;
}

}  // namespace weft::tool
